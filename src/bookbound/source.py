"""A book to be indexed, wherever it comes from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

from bookbound.book import Manuscript


@dataclass(frozen=True, slots=True)
class Source:
    """How to read a book, and a mark that stays the same while nothing of it changes.

    The mark is made of the source and of the files beside it that were read the last time. Where nobody knows without
    reading, there is none.
    """

    read: Callable[[], Manuscript]
    mark: Callable[[Sequence[str]], str] = lambda _: ""

    async def book(self) -> Manuscript:
        """The book, read in a thread of its own: whoever breaks off has not to wait for the end of a crawl."""
        reading: Future[Manuscript] = Future()
        reading.set_running_or_notify_cancel()

        def read() -> None:
            try:
                reading.set_result(self.read())
            except BaseException as trouble:
                reading.set_exception(trouble)

        Thread(target=read, name="read", daemon=True).start()
        return await asyncio.wrap_future(reading)
