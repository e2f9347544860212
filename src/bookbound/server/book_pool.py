"""Keeps books open, shares the models among them, and switches to each new generation without interrupting questions."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Self

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookboundError, BookNotFoundError, IndexNotFoundError
from bookbound.domain.manifest import Manifest


class PooledPipeline:
    """A pipeline and how many are using it; once it is given up, it is closed with the last of them."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._users = 0
        self._given_up = False

    @property
    def idle(self) -> bool:
        return not self._users

    @contextmanager
    def lent(self) -> Iterator[Pipeline]:
        """The pipeline, which stays open for as long as this lasts."""
        self._users += 1
        try:
            yield self.pipeline
        finally:
            self._users -= 1

    async def give_up(self) -> bool:
        """Close it, unless somebody uses it still; whether it is closed."""
        if self.idle and not self._given_up:
            await self.close()
        return self._given_up

    async def close(self) -> None:
        self._given_up = True
        await self.pipeline.close()


POLL_SECONDS = 1.0
MAX_OPEN_BOOKS = 32
"""How many books are kept open; those that nobody asks make room, the one that was asked least lately first."""
PipelineOpener = Callable[[BookRef, Pipeline | None], Awaitable[Pipeline]]
"""Opens a volume, with the parts of a pipeline that is open already."""
VersionLookup = Callable[[BookRef], Awaitable[str]]
"""A text that changes with what is published of a volume; nothing where there is none."""
NO_BOOK_OPEN = "No book is open yet. Try again in a moment."
BOOK_NOT_FOUND = "There is no book or edition of this name here."
log = logging.getLogger("bookbound.server")


class BookPool:
    """Opens a book when it is first asked, shares all parts but the index among books, and follows each.

    A question is answered from one generation from beginning to end, whatever is published meanwhile.
    """

    def __init__(
        self, open_: PipelineOpener, published: VersionLookup, first: BookRef, most: int = MAX_OPEN_BOOKS
    ) -> None:
        self._open, self._published, self.first, self._most = open_, published, first, most
        self._leases: OrderedDict[BookRef, PooledPipeline] = OrderedDict()
        self._given_up: list[PooledPipeline] = []
        self._opening = asyncio.Lock()
        self._parts: Pipeline | None = None
        self._held = AsyncExitStack()
        self._at: dict[BookRef, str] = {}
        self._told: dict[BookRef, str] = {}

    @classmethod
    def of(cls, pipeline: Pipeline) -> Self:
        """One book that is open already and stays as it is."""

        async def open_(volume: BookRef, parts: Pipeline | None) -> Pipeline:
            raise BookNotFoundError(BOOK_NOT_FOUND)

        async def published(volume: BookRef) -> str:
            return ""

        shelf = cls(open_, published, BookRef())
        shelf._leases[shelf.first] = PooledPipeline(pipeline)
        return shelf

    @contextmanager
    def lend(self, volume: BookRef | None = None) -> Iterator[Pipeline]:
        """An open volume, which stays as it is for as long as this lasts."""
        with self._lease(volume or self.first).lent() as pipeline:
            yield pipeline

    def pipeline(self, volume: BookRef | None = None) -> Pipeline:
        """The pipeline of an open volume, for a moment."""
        return self._lease(volume or self.first).pipeline

    def meant(self, volume: BookRef | None = None) -> BookRef:
        """The volume that a question goes to, by its own edition where it is open."""
        volume = volume or self.first
        lease = self._leases.get(volume)
        return volume._replace(edition=lease.pipeline.edition) if lease else volume

    @property
    def open_books(self) -> dict[BookRef, Manifest]:
        """What each open book says of itself."""
        return {self.meant(volume): lease.pipeline.index.manifest for volume, lease in self._leases.items()}

    async def ready(self, volume: BookRef | None = None) -> None:
        """See that a volume is open."""
        volume = volume or self.first
        if volume not in self._leases:
            async with self._opening:
                if volume not in self._leases:
                    published = await self._published(volume)
                    self._put(volume, await self._opened(volume), published)
        self._leases.move_to_end(volume)

    async def follow(self) -> None:
        """Move to what is published, for as long as nobody ends this."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            for volume in list(self._leases) or [self.first]:
                await self._move(volume)
            self._given_up = [lease for lease in self._given_up if not await lease.give_up()]

    async def close(self) -> None:
        """Let go of all books and of the parts that they share."""
        for lease in (*self._leases.values(), *self._given_up):
            await lease.close()
        self._leases.clear()
        self._given_up.clear()
        await self._held.aclose()

    def _lease(self, volume: BookRef) -> PooledPipeline:
        if lease := self._leases.get(volume):
            return lease
        if volume != self.first:
            raise BookNotFoundError(BOOK_NOT_FOUND)
        raise IndexNotFoundError(NO_BOOK_OPEN)

    async def _opened(self, volume: BookRef) -> Pipeline:
        pipeline = await self._open(volume, self._parts)
        if self._parts is None:
            self._held = pipeline.held
            self._parts = pipeline = replace(pipeline, held=AsyncExitStack())
        return pipeline

    def _put(self, volume: BookRef, pipeline: Pipeline, published: str) -> None:
        before = self._leases.get(volume)
        self._leases[volume], self._at[volume] = PooledPipeline(pipeline), published
        if before:
            self._given_up.append(before)
        spare = [each for each, lease in self._leases.items() if lease.idle and each not in (volume, self.first)]
        for oldest in spare[: max(0, len(self._leases) - self._most)]:
            self._given_up.append(self._leases.pop(oldest))
            del self._at[oldest]

    async def _move(self, volume: BookRef) -> None:
        """Open what is published of a volume, if that is not what is open; what goes wrong is told once."""
        try:
            published = await self._published(volume)
            if published in ("", self._at.get(volume)):
                return
            async with self._opening:
                if published == self._at.get(volume):
                    return
                self._put(volume, pipeline := await self._opened(volume), published)
            self._told.pop(volume, None)
            log.info("generation %s is open", pipeline.index.manifest.generation)
        except Exception as trouble:  # whatever it is, the next look may find it mended
            if self._told.get(volume) != (name := type(trouble).__name__):
                self._told[volume] = name
                why = trouble if isinstance(trouble, BookboundError) else name
                log.error("what is published could not be opened, so readers stay with what is open: %s", why)
