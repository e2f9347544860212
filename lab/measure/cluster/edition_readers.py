"""A writer that publishes editions of a book until it is killed, and readers that check what they get."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic

from bookbound.domain.errors import BookboundError, IndexNotFoundError
from bookbound.domain.ports import Index
from bookbound.indexing.store import qdrant_generations
from tests.indexing.store.editions import CHUNKS, PAGE, make_chunks, make_store, make_vectors, publish

WRITER_SILENCE = timedelta(seconds=4)
"""A killed writer counts as dead sooner than in production, so that the next one need not wait."""


async def publish_until_killed(urls: str, edition: int) -> None:
    """Publishes one edition after the other, and prints what the store says about each."""
    qdrant_generations.WRITER_TIMEOUT = WRITER_SILENCE
    store = make_store(urls)
    while True:
        print("try", edition, flush=True)
        try:
            await publish(store, edition)
            print("published", edition, flush=True)
        except BookboundError as error:
            is_unknown = "may or may not" in str(error)
            print("unknown" if is_unknown else "failed", edition, type(error).__name__, flush=True)
            await asyncio.sleep(0.5)
        edition += 1


@dataclass
class ReaderCounts:
    """What readers asked and got."""

    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    mixtures: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    served: set[int] = field(default_factory=set)
    longest_gap: float = 0.0
    """The longest time in seconds that one reader got no answer."""


class EditionReader:
    """Asks again and again, as a server does, and checks that each answer comes from one current edition."""

    def __init__(self, urls: str, counts: ReaderCounts, confirmed: list[int]) -> None:
        self._store, self._counts, self._confirmed = make_store(urls), counts, confirmed
        self._index: Index | None = None

    async def run(self, stopped: asyncio.Event) -> None:
        last = monotonic()
        while not stopped.is_set():
            newest = self._confirmed[-1]
            try:
                await self._ask(newest)
                self._counts.outcomes["answered"] += 1
                self._counts.longest_gap = max(self._counts.longest_gap, monotonic() - last)
                last = monotonic()
            except BookboundError as error:
                self._counts.outcomes["unavailable"] += 1
                self._counts.errors[type(error).__name__] += 1
            await asyncio.sleep(0.1)
        if self._index:
            await self._index.close()

    async def _ask(self, newest: int) -> None:
        try:
            index = await self._open()
            found = await index.search("sentence of edition", make_vectors(1)[0], 5)
            texts = [passage.chunk.text for passage in found]
            texts += [chunk.text for chunk in await index.chunks(PAGE)]
        except IndexNotFoundError:  # removed meanwhile: open the published one
            if not self._index:
                raise
            self._index = None
            return await self._ask(newest)
        edition = int(index.manifest.title)
        self._counts.served.add(edition)
        right = {chunk.text for chunk in make_chunks(edition)}
        if len(texts) != 5 + CHUNKS or not set(texts) <= right:
            self._counts.mixtures.append(f"edition {edition}: {len(texts)} texts, {set(texts) - right}")
        if edition < newest:
            self._counts.stale.append(f"edition {edition} after {newest} was confirmed")
        return None

    async def _open(self) -> Index:
        published = await self._store.published_generation()
        if not self._index or self._index.manifest.generation != published:
            old, self._index = self._index, await self._store.open()
            if old:
                await old.close()
        return self._index


if __name__ == "__main__":
    asyncio.run(publish_until_killed(sys.argv[1], int(sys.argv[2])))
