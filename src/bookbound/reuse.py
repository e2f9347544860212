"""Chunks and vectors of the published generation, taken over where the new one has them as well."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING

from bookbound.book import Chunk
from bookbound.changes import Changes
from bookbound.ports import Embedder, Index

if TYPE_CHECKING:
    from bookbound.ports import Vectors

    Batch = list[tuple[Chunk, Vectors | None]]

BATCH, MOST = 64, 1024
"""How many chunks are embedded together, and how many at most are handed on together."""
AHEAD = 1
"""How many batches are under way while one is used: whoever embeds does not wait for whoever stores."""


class Taken:
    """What can be taken over from `old`, if there is one; `embedded` counts what could not."""

    def __init__(self, old: Index | None, changes: Changes) -> None:
        self._old = old
        self._changes = changes
        self._unchanged, self._added = frozenset(changes.unchanged), frozenset(changes.added)
        self.embedded = 0

    async def chunks(self, file: str) -> list[Chunk] | None:
        """The chunks of a page that has not changed."""
        return await self._old.chunks(file) if self._old and file in self._unchanged else None

    async def vectors(
        self, chunks: Sequence[tuple[str, list[Chunk]]], embedder: Embedder
    ) -> AsyncGenerator[tuple[list[Chunk], Vectors]]:
        """All chunks in their order, with vectors: those that the same words had, or new ones.

        While whoever asked uses some, the next are embedded.
        """
        under_way: deque[asyncio.Task[tuple[list[Chunk], Vectors]]] = deque()
        try:
            async for batch in self._batches(chunks):
                under_way.append(asyncio.create_task(self._embedded(batch, embedder)))
                await asyncio.sleep(0)  # it begins now, and not when somebody waits for it
                if len(under_way) > AHEAD:
                    yield await under_way.popleft()
            while under_way:
                yield await under_way.popleft()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _batches(self, chunks: Sequence[tuple[str, list[Chunk]]]) -> AsyncIterator[Batch]:
        waiting: Batch = []
        new = 0
        for file, held in chunks:
            known = await self._known(file)
            for chunk in held:
                vector = known.get(chunk.embedded)
                new += vector is None
                waiting.append((chunk, vector))
                if len(waiting) >= MOST or new >= BATCH:
                    yield waiting
                    waiting, new = [], 0
        if waiting:
            yield waiting

    async def _known(self, file: str) -> dict[str, Vectors]:
        if self._old is None or file in self._added:
            return {}
        before = self._changes.renamed.get(file, file)
        return {chunk.embedded: vector for chunk, vector in await self._old.held(before)}

    async def _embedded(self, waiting: Batch, embedder: Embedder) -> tuple[list[Chunk], Vectors]:
        import numpy as np

        new = [chunk.embedded for chunk, vector in waiting if vector is None]
        self.embedded += len(new)
        fresh = iter(await embedder.embed(new)) if new else iter(())
        rows = [next(fresh) if vector is None else vector for _, vector in waiting]
        return [chunk for chunk, _ in waiting], np.asarray(rows, dtype=np.float32)
