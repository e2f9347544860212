"""Reports are built one after the other, and requests for other things do not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event

from bookbound.domain.book_ref import BookRef
from bookbound.models.onnx import OnnxEmbedder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.report import IndexedBooks
from bookbound.server.report.report_builder import ReportBuilder


def test_waiting_reports_leave_the_shared_threads_to_other_requests(tmp_path: Path) -> None:
    begun, may_end = Event(), Event()

    async def load_books(book: BookRef, books: Mapping[BookRef, object]) -> IndexedBooks:
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
