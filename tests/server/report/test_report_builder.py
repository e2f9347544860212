"""Tests for which books reports are built, and that requests for other things do not wait for them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from tests.server.query_log.factories import make_entry, make_repository

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookIndexError, BookNotFoundError
from bookbound.evaluation import MetricsDict
from bookbound.models.onnx import OnnxEmbedder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.report import IndexedBooks
from bookbound.server.report.report_builder import BookLoader, ReportBuilder


def test_waiting_reports_leave_the_shared_threads_to_other_requests(tmp_path: Path) -> None:
    begun, may_end = Event(), Event()

    async def load_books() -> IndexedBooks:
        begun.set()
        may_end.wait(60)
        return {}

    async def go() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        builder = ReportBuilder(partial(QueryLogDatabase, None, tmp_path), load_books, OnnxEmbedder)
        reports = [asyncio.create_task(builder.build_in_thread(BookRef("all"), timedelta(days=1))) for _ in range(3)]
        try:
            assert await asyncio.wait_for(asyncio.to_thread(begun.wait, 30), 30)
        finally:
            may_end.set()
        assert [each["questions"]["asked"] for each in await asyncio.gather(*reports)] == [0, 0, 0]

    asyncio.run(go())


async def load_no_books() -> IndexedBooks:
    return {}


async def fail_to_load_books() -> IndexedBooks:
    raise BookIndexError("The disk is gone.")


def build(folder: Path, load_books: BookLoader, warnings: list[str]) -> MetricsDict:
    open_log = partial(QueryLogDatabase, None, folder)
    builder = ReportBuilder(open_log, load_books, OnnxEmbedder, warnings.append)
    return asyncio.run(builder.build(BookRef("ants"), timedelta(days=1)))


def test_a_book_that_only_the_log_knows_is_reported_and_one_that_nobody_knows_is_not(tmp_path: Path) -> None:
    with pytest.raises(BookNotFoundError, match="Neither the index nor the query log"):
        build(tmp_path, load_no_books, [])
    with pytest.raises(BookIndexError, match="The disk is gone"):
        build(tmp_path, fail_to_load_books, [])
    with closing(make_repository(None, tmp_path)) as repository:
        repository.write([make_entry("How long do ants live?", book_ref=BookRef("ants"))])
    warnings: list[str] = []
    assert build(tmp_path, load_no_books, warnings)["questions"]["asked"] == 1
    assert warnings == []
    assert build(tmp_path, fail_to_load_books, warnings)["questions"]["asked"] == 1
    assert "The disk is gone." in warnings[0]
