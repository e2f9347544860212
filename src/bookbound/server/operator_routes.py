"""Defines the endpoints for operators: health, readiness and metrics."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from bookbound.contracts.http_contract import AnswerBackend, HealthCheck
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.errors import BookboundError

if TYPE_CHECKING:
    from bookbound.server.telemetry.prometheus import PrometheusMetrics


CHECK_TIMEOUT_SECONDS = 2.0


class Liveness(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ComponentHealth(BaseModel):
    """One part and the type of its error, if it failed."""

    status: Literal["ok", "failed"]
    milliseconds: float
    problem: str | None = None


class Readiness(BaseModel):
    """Whether questions can be answered now; `models` names the embedder and the writer."""

    status: Literal["ready", "unavailable", "stopping"]
    generation: str | None
    models: dict[str, str]
    parts: dict[str, ComponentHealth]


STOPPING_READINESS = Readiness(status="stopping", generation=None, models={}, parts={})


def health_routes(backend: AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.head("/health", include_in_schema=False)
    @router.get("/health")
    async def alive() -> Liveness:
        """The process runs."""
        return Liveness()

    @router.head("/health/ready", include_in_schema=False)
    @router.get("/health/ready", responses={503: {"model": Readiness}})
    @router.get("/api/v1/health", responses={503: {"model": Readiness}})
    async def ready(request: Request, response: Response) -> Readiness:
        """The embedder and the index work, or did so seconds ago."""
        readiness = STOPPING_READINESS if request.scope["state"].get("stopping") else await _check_readiness(backend)
        response.status_code = 200 if readiness.status == "ready" else 503
        return readiness

    return router


async def _check_readiness(backend: AnswerBackend) -> Readiness:
    try:
        generation = (await backend.manifest(RequestContext())).generation
        checks, models = backend.health_checks(), backend.models
    except BookboundError as error:
        parts = {"index": _failed_component(error, 0.0)}
        return Readiness(status="unavailable", generation=None, models={}, parts=parts)
    results = await asyncio.gather(*(_check_component(check) for check in checks.values()))
    parts = dict(zip(checks, results, strict=True))
    is_ready = all(part.status == "ok" for part in parts.values())
    return Readiness(status="ready" if is_ready else "unavailable", generation=generation, models=models, parts=parts)


async def _check_component(check: HealthCheck) -> ComponentHealth:
    start = perf_counter()
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await check()
    except Exception as error:
        return _failed_component(error, perf_counter() - start)
    return ComponentHealth(status="ok", milliseconds=round((perf_counter() - start) * 1000, 2))


def _failed_component(error: Exception, seconds: float) -> ComponentHealth:
    return ComponentHealth(status="failed", milliseconds=round(seconds * 1000, 2), problem=type(error).__name__)


def metrics_routes(metrics: PrometheusMetrics) -> APIRouter:
    from bookbound.server.telemetry.prometheus import CONTENT_TYPE

    router = APIRouter(tags=["metrics"])

    @router.get("/metrics", include_in_schema=False)
    async def show_metrics() -> Response:
        """The metrics of all processes."""
        metrics.refresh()
        return Response(await asyncio.to_thread(metrics.page), headers={"Content-Type": CONTENT_TYPE})

    return router
