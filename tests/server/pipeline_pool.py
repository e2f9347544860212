"""Serves one open pipeline as a pool of books does."""

from __future__ import annotations

from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookNotFoundError
from bookbound.server.book_pool import BOOK_NOT_FOUND, BookPool


async def open_pipeline_pool(pipeline: Pipeline) -> BookPool:
    """A pool of one open book that never changes."""

    async def open_engine() -> Engine:
        return pipeline.engine

    async def open_book(ref: BookRef, engine: Engine) -> OpenBook:
        if ref != BookRef():
            raise BookNotFoundError(BOOK_NOT_FOUND)
        return pipeline.book

    async def find_version(ref: BookRef) -> str:
        return ""

    pool = BookPool(open_engine, open_book, find_version, BookRef())
    await pool.ensure_open()
    return pool
