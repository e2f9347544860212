"""Defines the endpoints for operators: health, readiness, metrics, and the index with its rollback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from bookbound.contracts.http_contract import AnswerBackend, ErrorModel, HealthCheck
from bookbound.domain.book_ref import CURRENT_BOOK_REF, BookRef
from bookbound.domain.errors import BookboundError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import IndexStore
from bookbound.server.middleware.client_identity import SECURITY_REQUIREMENTS, require_admin

if TYPE_CHECKING:
    from bookbound.server.telemetry.prometheus import PrometheusMetrics


CHECK_TIMEOUT_SECONDS = 2.0


class Liveness(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ComponentHealth(BaseModel):
    """One part and how it fared; of an error only its kind is told."""

    status: Literal["ok", "failed"]
    milliseconds: float
    problem: str | None = None


class Readiness(BaseModel):
    """Whether questions can be answered now; `models` names what embeds and what writes."""

    status: Literal["ready", "unavailable", "stopping"]
    generation: str | None
    models: dict[str, str]
    parts: dict[str, ComponentHealth]


STOPPING_READINESS = Readiness(status="stopping", generation=None, models={}, parts={})


def health_routes(desk: AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.head("/health", include_in_schema=False)
    @router.get("/health")
    async def alive() -> Liveness:
        """The process is there."""
        return Liveness()

    @router.head("/health/ready", include_in_schema=False)
    @router.get("/health/ready", responses={503: {"model": Readiness}})
    @router.get("/api/v1/health", responses={503: {"model": Readiness}})
    async def ready(request: Request, response: Response) -> Readiness:
        """The embedder and the index were asked just now, or seconds ago."""
        readiness = STOPPING_READINESS if request.scope["state"].get("stopping") else await _check_readiness(desk)
        response.status_code = 200 if readiness.status == "ready" else 503
        return readiness

    return router


async def _check_readiness(desk: AnswerBackend) -> Readiness:
    try:
        checks, generation, models = desk.checks(), desk.manifest.generation, desk.models
    except BookboundError as trouble:
        return Readiness(
            status="unavailable", generation=None, models={}, parts={"index": _failed_component(trouble, 0.0)}
        )
    found = await asyncio.gather(*(_check_component(check) for check in checks.values()))
    parts = dict(zip(checks, found, strict=True))
    well = all(part.status == "ok" for part in parts.values())
    return Readiness(status="ready" if well else "unavailable", generation=generation, models=models, parts=parts)


async def _check_component(check: HealthCheck) -> ComponentHealth:
    start = perf_counter()
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await check()
    except Exception as trouble:
        return _failed_component(trouble, perf_counter() - start)
    return ComponentHealth(status="ok", milliseconds=round((perf_counter() - start) * 1000, 2))


def _failed_component(trouble: Exception, seconds: float) -> ComponentHealth:
    return ComponentHealth(status="failed", milliseconds=round(seconds * 1000, 2), problem=type(trouble).__name__)


INDEX_PATHS = ("/v1/index", "/v1/index/rollback")
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 500, 503, 504)
}
StoreLookup = Callable[[BookRef | None], Awaitable[IndexStore]]
"""Where the index of a volume lives; where none is named, that of the book that is asked then."""
AdminKeyId = Annotated[str, Depends(require_admin)]
log = logging.getLogger("bookbound.server")


class GenerationModel(BaseModel):
    """A generation of the index; readers are answered from the current one."""

    id: str
    created: str
    pages: int
    chunks: int
    current: bool


class IndexModel(BaseModel):
    """The generations that are kept, newest first."""

    generations: list[GenerationModel]


def index_routes(store: StoreLookup) -> APIRouter:
    router = APIRouter(tags=["index"], responses=ERROR_RESPONSES)

    @router.get("/v1/index", openapi_extra={"security": SECURITY_REQUIREMENTS})
    async def index(holder: AdminKeyId) -> IndexModel:
        """What is kept of the index."""
        log.warning("key %s looked at the index", holder)
        kept = await (await store(CURRENT_BOOK_REF.get())).generations()
        return IndexModel(generations=[_to_generation_model(each, current=each is kept[0]) for each in kept])

    @router.post("/v1/index/rollback", openapi_extra={"security": SECURITY_REQUIREMENTS})
    async def roll_back(holder: AdminKeyId) -> GenerationModel:
        """Withdraw the current generation; the one before it, which is given back, becomes current."""
        log.warning("key %s asks for the index to be rolled back", holder)
        try:
            now = await (await store(CURRENT_BOOK_REF.get())).roll_back()
        except BookboundError as trouble:
            log.error("the index was not rolled back for key %s: %s", holder, trouble)
            raise
        log.warning("key %s rolled the index back to generation %s", holder, now.generation)
        return _to_generation_model(now, current=True)

    return router


def _to_generation_model(manifest: Manifest, current: bool) -> GenerationModel:
    return GenerationModel(
        id=manifest.generation,
        created=manifest.created,
        pages=manifest.pages,
        chunks=manifest.chunks,
        current=current,
    )


def metrics_routes(metrics: PrometheusMetrics) -> APIRouter:
    from bookbound.server.telemetry.prometheus import CONTENT_TYPE

    router = APIRouter(tags=["metrics"])

    @router.get("/metrics", include_in_schema=False)
    async def figures() -> Response:
        """How the desk stands now, and what was counted so far."""
        metrics.stand()
        return Response(await asyncio.to_thread(metrics.page), headers={"Content-Type": CONTENT_TYPE})

    return router
