"""`GET /metrics`: the figures of the service, for Prometheus."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

if TYPE_CHECKING:
    from bookbound.watch.prometheus import Metrics


def routes(metrics: Metrics) -> APIRouter:
    from bookbound.watch.prometheus import CONTENT_TYPE

    router = APIRouter(tags=["metrics"])

    @router.get("/metrics", include_in_schema=False)
    async def figures() -> Response:
        """How the desk stands now, and what was counted so far."""
        metrics.stand()
        return Response(await asyncio.to_thread(metrics.page), headers={"Content-Type": CONTENT_TYPE})

    return router
