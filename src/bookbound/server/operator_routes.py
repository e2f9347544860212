"""Defines the endpoints for operators: health and metrics, and with an admin key the index and the author's report."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, StringConstraints

from bookbound.contracts import http_contract
from bookbound.contracts.http_contract import Context, Problem, ProblemError, ProblemKind
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.v1 import ErrorModel
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookboundError, IndexLockedError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import IndexStore
from bookbound.domain.trace import QueryStatus
from bookbound.evaluation import MetricsDict
from bookbound.server.api_keys import ReloadingKeyRing
from bookbound.server.middleware.access import SECURITY_REQUIREMENTS, require_admin
from bookbound.server.page.book_page import REPORT_PATH, find_root, render_page_template, respond_with_page
from bookbound.server.reindexing import Reindexing, ReindexStatus

if TYPE_CHECKING:
    from bookbound.server.telemetry.prometheus import PrometheusMetrics

CHECK_TIMEOUT_SECONDS = 2.0
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 404, 500, 503, 504)
}
CHANGE_RESPONSES: dict[int | str, dict[str, Any]] = {status: {"model": ErrorModel} for status in (409, 413, 415, 422)}
ADMIN_ONLY: dict[str, Any] = {"security": SECURITY_REQUIREMENTS}
StoreLookup = Callable[[BookRef | None], Awaitable[IndexStore]]
"""Finds the store of a book, or of the default book."""
AdminKeyId = Annotated[str, Depends(require_admin)]
MAX_DAYS, DEFAULT_DAYS, PERIODS = 3650, 30, (7, 30, 90)
NO_LOG = "This server does not log questions, so there is nothing to report. To log them, set `query_log` to on."
Days = Annotated[int, Query(ge=1, le=MAX_DAYS, description="How many days to look back.")]
REPORT_RESPONSES = ERROR_RESPONSES | {status: {"model": ErrorModel} for status in (409, 422)}
BuildReport = Callable[[BookRef, timedelta], Awaitable[MetricsDict]]
log = logging.getLogger("bookbound.server")


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


def health_routes(backend: http_contract.AnswerBackend) -> APIRouter:
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


async def _check_readiness(backend: http_contract.AnswerBackend) -> Readiness:
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


async def _check_component(check: http_contract.HealthCheck) -> ComponentHealth:
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


class GenerationModel(BaseModel):
    """A generation of the index; answers come from the current one."""

    id: str
    created: str
    pages: int
    chunks: int
    current: bool


class IndexModel(BaseModel):
    """The stored generations, newest first."""

    generations: list[GenerationModel]


class RollbackModel(BaseModel):
    """The generation to return to; without one, that before the current one."""

    model_config = ConfigDict(extra="forbid")

    to: Annotated[str, StringConstraints(strict=True, max_length=100)] = ""


class ReindexModel(ReindexStatus):
    """The last re-indexing of this book, and where its source is; null if the server does not know."""

    source: str | None


def index_routes(find_store: StoreLookup, reindexing: Reindexing | None = None) -> APIRouter:
    """The endpoints; without `reindexing` an index can be listed and rolled back."""
    router = APIRouter(tags=["index"], responses=ERROR_RESPONSES)

    @router.get("/v1/index", openapi_extra=ADMIN_ONLY)
    async def index(key_id: AdminKeyId, context: Context) -> IndexModel:
        """List the generations of the index."""
        log.warning("key %s listed the generations", key_id)
        stored = await (await find_store(context.book)).generations()
        return IndexModel(generations=[_to_generation_model(each, current=each is stored[0]) for each in stored])

    @router.post("/v1/index/rollback", responses=CHANGE_RESPONSES, openapi_extra=ADMIN_ONLY)
    async def roll_back(key_id: AdminKeyId, context: Context, body: RollbackModel | None = None) -> GenerationModel:
        """Withdraw the current generation; the previous one, or the one with the id `to`, becomes current."""
        log.warning("key %s requests a rollback of the index", key_id)
        if reindexing and await reindexing.find_source(context.book):
            reindexing.check_idle()
        try:
            manifest = await (await find_store(context.book)).roll_back(body.to if body else "")
        except BookboundError as error:
            log.error("the rollback that key %s requested failed: %s", key_id, error)
            if isinstance(error, IndexLockedError):
                raise ProblemError(Problem(ProblemKind.CONFLICT, 409, str(error))) from error
            raise
        log.warning("key %s rolled the index back to generation %s", key_id, manifest.generation)
        return _to_generation_model(manifest, current=True)

    if reindexing:
        _add_reindex_routes(router, reindexing)
    return router


def _add_reindex_routes(router: APIRouter, reindexing: Reindexing) -> None:
    async def describe(status: ReindexStatus, book: BookRef | None) -> ReindexModel:
        source = await reindexing.find_source(book)
        if source is None:
            status = ReindexStatus()  # only the book with a known source is indexed from here
        return ReindexModel(**status.model_dump(), source=source)

    @router.get("/v1/index/reindex", openapi_extra=ADMIN_ONLY)
    async def show_reindex(key_id: AdminKeyId, context: Context) -> ReindexModel:
        """Show how far re-indexing is, or how it ended."""
        return await describe(reindexing.status(), context.book)

    @router.post("/v1/index/reindex", status_code=202, responses=CHANGE_RESPONSES, openapi_extra=ADMIN_ONLY)
    async def reindex(key_id: AdminKeyId, context: Context) -> ReindexModel:
        """Start to index the book again from its source; readers keep the current generation until it is finished."""
        log.warning("key %s requests a new index", key_id)
        return await describe(await reindexing.begin(context.book), context.book)


def _to_generation_model(manifest: Manifest, current: bool) -> GenerationModel:
    return GenerationModel(
        id=manifest.generation, created=manifest.created, pages=manifest.pages, chunks=manifest.chunks, current=current
    )


def report_routes(build_report: BuildReport | None, keys: ReloadingKeyRing, default: BookRef) -> APIRouter:
    """The page and its data about a book, by default `default`; without `build_report` no question is logged."""
    router = APIRouter(tags=["report"])

    @router.api_route(REPORT_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        """The page without any data, so that it may be shown to everyone."""
        content = render_page_template(
            "report.html.j2",
            find_root(request.scope),
            has_admin_key=keys.has_admin_key,
            has_log=build_report is not None,
            periods=PERIODS,
            default_days=DEFAULT_DAYS,
            phrases=_list_phrases() if build_report else {},
        )
        return respond_with_page(request, content)

    @router.get("/v1/report", responses=REPORT_RESPONSES, openapi_extra=ADMIN_ONLY)
    async def report(key_id: AdminKeyId, context: Context, days: Days = DEFAULT_DAYS) -> dict[str, Any]:
        """Report what readers asked and could not find, as `bookbound report --format json` does."""
        log.warning("key %s read the report", key_id)
        if build_report is None:
            raise ProblemError(Problem(ProblemKind.CONFLICT, 409, NO_LOG))
        return await build_report(context.book or default, timedelta(days=days))

    return router


def _list_phrases() -> dict[str, str]:
    """The words for each reason why a question has no answer."""
    from bookbound.server.report import presentation  # imports the database library, which only the log needs

    return {str(name): phrase for name, phrase in presentation.REFUSAL_PHRASES.items()} | {
        str(QueryStatus.UNSURE): presentation.UNSURE_PHRASE
    }
