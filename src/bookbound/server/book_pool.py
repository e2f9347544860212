"""Keeps books open with one engine, and switches to each new generation without interrupting questions."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookboundError, BookNotFoundError, IndexNotFoundError, InvalidInputError
from bookbound.domain.manifest import Manifest

POLL_SECONDS = 1.0
"""How long readers may get the old generation after a new one is published."""
MAX_OPEN_BOOKS = 32
"""The number of books that stay open; beyond it, the idle book that was asked longest ago is closed."""
EngineOpener = Callable[[], Awaitable[Engine]]
BookOpener = Callable[[BookRef, Engine], Awaitable[OpenBook]]
VersionLookup = Callable[[BookRef], Awaitable[str]]
"""Returns a text that changes with each published generation of a book, or an empty text if there is none."""
MAX_LISTED_BOOKS = 10
"""The number of books that an error message names."""
NO_BOOK_OPEN = "No book is open yet. Try again in a moment."
BOOK_NOT_FOUND = "There is no book or edition of this name here."
LIST_BOOKS_ADVICE = "To see all of them: GET /v1/books"
log = logging.getLogger("bookbound.server")


@dataclass(slots=True, eq=False)
class PooledBook:
    """An open book with the number of its users; a retired one is closed when it has none."""

    book: OpenBook
    version: str
    users: int = 0


class BookPool:
    """Opens each book at its first question, with one engine for all, and follows its new generations.

    One generation answers a question from beginning to end, even if another is published meanwhile.
    """

    def __init__(
        self,
        open_engine: EngineOpener,
        open_book: BookOpener,
        find_version: VersionLookup,
        default: BookRef,
        max_books: int = MAX_OPEN_BOOKS,
    ) -> None:
        self._open_engine, self._open_book, self._find_version = open_engine, open_book, find_version
        self.default, self._max_books = default, max_books
        self._engine: Engine | None = None
        self._books: OrderedDict[BookRef, PooledBook] = OrderedDict()
        self._retired: list[PooledBook] = []
        self._opening = asyncio.Lock()
        self._logged_errors: dict[BookRef, str] = {}

    @contextmanager
    def use(self, ref: BookRef | None = None) -> Iterator[Pipeline]:
        """Keep a book open and unchanged during this block."""
        pooled = self._get(ref)
        pooled.users += 1
        try:
            yield self.pipeline(ref)
        finally:
            pooled.users -= 1

    def pipeline(self, ref: BookRef | None = None) -> Pipeline:
        book = self._get(ref).book
        assert self._engine
        return Pipeline(self._engine, book)

    def resolve(self, ref: BookRef | None = None) -> BookRef:
        """The book that a question goes to; if it is open, with its edition."""
        ref = ref or self.default
        pooled = self._books.get(ref)
        return ref._replace(edition=pooled.book.edition) if pooled else ref

    @property
    def open_books(self) -> dict[BookRef, Manifest]:
        return {self.resolve(ref): pooled.book.index.manifest for ref, pooled in self._books.items()}

    async def ensure_open(self, ref: BookRef | None = None) -> None:
        ref = ref or self.default
        if ref not in self._books:
            async with self._opening:
                if ref not in self._books:
                    await self._open(ref, await self._find_version(ref))
        self._books.move_to_end(ref)

    async def open_requested(self, ref: BookRef) -> None:
        """Open the book that a request names; readers do not learn why a book is missing."""
        try:
            await self.ensure_open(ref)
        except (BookNotFoundError, IndexNotFoundError, InvalidInputError) as error:
            names = getattr(error, "books", ())
            listed = f" Choose one of: {', '.join(names[:MAX_LISTED_BOOKS])}." if names else ""
            raise BookNotFoundError(f"{BOOK_NOT_FOUND}{listed} {LIST_BOOKS_ADVICE}", names) from None
        except BookboundError as error:
            log.error("a book that a request names cannot be opened: %s", error)
            raise

    async def follow(self) -> None:
        """Switch to each new generation until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            for ref in list(self._books) or [self.default]:
                await self._update(ref)
            for pooled in [pooled for pooled in self._retired if not pooled.users]:
                self._retired.remove(pooled)
                await pooled.book.close()

    async def close(self) -> None:
        for pooled in (*self._books.values(), *self._retired):
            await pooled.book.close()
        self._books.clear()
        self._retired.clear()
        if self._engine:
            await self._engine.close()

    def _get(self, ref: BookRef | None) -> PooledBook:
        ref = ref or self.default
        if pooled := self._books.get(ref):
            return pooled
        raise BookNotFoundError(BOOK_NOT_FOUND) if ref != self.default else IndexNotFoundError(NO_BOOK_OPEN)

    async def _open(self, ref: BookRef, version: str) -> None:
        self._engine = self._engine or await self._open_engine()
        pooled = PooledBook(await self._open_book(ref, self._engine), version)
        if previous := self._books.get(ref):
            self._retired.append(previous)
        self._books[ref] = pooled
        idle = [each for each, pooled in self._books.items() if not pooled.users and each not in (ref, self.default)]
        for oldest in idle[: max(0, len(self._books) - self._max_books)]:
            self._retired.append(self._books.pop(oldest))

    async def _update(self, ref: BookRef) -> None:
        """Open the published generation of a book if it is not open; log a repeated error once."""
        try:
            version = await self._find_version(ref)
            async with self._opening:
                pooled = self._books.get(ref)
                if not version or (pooled and version == pooled.version):
                    return
                await self._open(ref, version)
            self._logged_errors.pop(ref, None)
            log.info("generation %s is open", self._books[ref].book.index.manifest.generation)
        except Exception as error:  # the next poll may succeed
            if self._logged_errors.get(ref) != (name := type(error).__name__):
                self._logged_errors[ref] = name
                reason = error if isinstance(error, BookboundError) else name
                log.error("The published index could not be opened, so the open one stays in use: %s", reason)
