"""Is it alive, and is it ready? What finds passages is really asked; a language model, which costs, is not."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from bookbound.errors import BookboundError
from bookbound.faces.face import Check, Desk

PATIENCE = 2.0


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Part(BaseModel):
    """One part and how it fared; of an error only its kind is told."""

    status: Literal["ok", "failed"]
    milliseconds: float
    problem: str | None = None


class Readiness(BaseModel):
    """Whether questions can be answered now; `models` names what embeds and what writes."""

    status: Literal["ready", "unavailable", "stopping"]
    generation: str | None
    models: dict[str, str]
    parts: dict[str, Part]


STOPPING = Readiness(status="stopping", generation=None, models={}, parts={})


def routes(desk: Desk) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.head("/health", include_in_schema=False)
    @router.get("/health")
    async def alive() -> Alive:
        """The process is there."""
        return Alive()

    @router.head("/health/ready", include_in_schema=False)
    @router.get("/health/ready", responses={503: {"model": Readiness}})
    @router.get("/api/v1/health", responses={503: {"model": Readiness}})
    async def ready(request: Request, response: Response) -> Readiness:
        """The embedder and the index were asked just now, or seconds ago."""
        readiness = STOPPING if request.scope["state"].get("stopping") else await _asked(desk)
        response.status_code = 200 if readiness.status == "ready" else 503
        return readiness

    return router


async def _asked(desk: Desk) -> Readiness:
    try:
        checks, generation, models = desk.checks(), desk.manifest.generation, desk.models
    except BookboundError as trouble:
        return Readiness(status="unavailable", generation=None, models={}, parts={"index": _failed(trouble, 0.0)})
    found = await asyncio.gather(*(_part(check) for check in checks.values()))
    parts = dict(zip(checks, found, strict=True))
    well = all(part.status == "ok" for part in parts.values())
    return Readiness(status="ready" if well else "unavailable", generation=generation, models=models, parts=parts)


async def _part(check: Check) -> Part:
    start = perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            await check()
    except Exception as trouble:
        return _failed(trouble, perf_counter() - start)
    return Part(status="ok", milliseconds=round((perf_counter() - start) * 1000, 2))


def _failed(trouble: Exception, seconds: float) -> Part:
    return Part(status="failed", milliseconds=round(seconds * 1000, 2), problem=type(trouble).__name__)
