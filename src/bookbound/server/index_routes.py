"""Defines the endpoints with which an admin key lists, re-indexes and rolls back the index."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, StringConstraints

from bookbound.contracts.http_contract import Context, Problem, ProblemError, ProblemKind
from bookbound.contracts.v1 import ErrorModel
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookboundError, IndexLockedError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import IndexStore
from bookbound.server.middleware.client_identity import SECURITY_REQUIREMENTS, require_admin
from bookbound.server.reindexing import Reindexing, ReindexStatus

ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 404, 500, 503, 504)
}
CHANGE_RESPONSES: dict[int | str, dict[str, Any]] = {status: {"model": ErrorModel} for status in (409, 413, 415, 422)}
ADMIN_ONLY: dict[str, Any] = {"security": SECURITY_REQUIREMENTS}
StoreLookup = Callable[[BookRef | None], Awaitable[IndexStore]]
"""Finds the store of a book, or of the default book."""
AdminKeyId = Annotated[str, Depends(require_admin)]
log = logging.getLogger("bookbound.server")


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
