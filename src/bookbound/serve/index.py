"""The index itself, for who holds an admin key: what is kept of it, and the way back to the generation before."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from bookbound.errors import BookboundError
from bookbound.faces.shapes import ErrorModel
from bookbound.manifest import Manifest
from bookbound.ports import Store
from bookbound.serve.access import WAYS, admin
from bookbound.volume import READING, Volume

PATHS = ("/v1/index", "/v1/index/rollback")
TROUBLES: dict[int | str, dict[str, Any]] = {status: {"model": ErrorModel} for status in (401, 403, 500, 503, 504)}
Stores = Callable[[Volume | None], Awaitable[Store]]
"""Where the index of a volume lives; where none is named, that of the book that is asked then."""
Holder = Annotated[str, Depends(admin)]
log = logging.getLogger("bookbound.serve")


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


def routes(store: Stores) -> APIRouter:
    router = APIRouter(tags=["index"], responses=TROUBLES)

    @router.get("/v1/index", openapi_extra={"security": WAYS})
    async def index(holder: Holder) -> IndexModel:
        """What is kept of the index."""
        log.warning("key %s looked at the index", holder)
        kept = await (await store(READING.get())).generations()
        return IndexModel(generations=[_generation(each, current=each is kept[0]) for each in kept])

    @router.post("/v1/index/rollback", openapi_extra={"security": WAYS})
    async def roll_back(holder: Holder) -> GenerationModel:
        """Withdraw the current generation; the one before it, which is given back, becomes current."""
        log.warning("key %s asks for the index to be rolled back", holder)
        try:
            now = await (await store(READING.get())).roll_back()
        except BookboundError as trouble:
            log.error("the index was not rolled back for key %s: %s", holder, trouble)
            raise
        log.warning("key %s rolled the index back to generation %s", holder, now.generation)
        return _generation(now, current=True)

    return router


def _generation(manifest: Manifest, current: bool) -> GenerationModel:
    return GenerationModel(
        id=manifest.generation,
        created=manifest.created,
        pages=manifest.pages,
        chunks=manifest.chunks,
        current=current,
    )
