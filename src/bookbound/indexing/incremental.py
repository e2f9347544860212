"""Compares a book with its published index and reuses the chunks and vectors that did not change."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import IncompleteSourceError
from bookbound.domain.manifest import Manifest, PageFingerprint
from bookbound.domain.ports import Embedder, Index

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

    Batch = list[tuple[Chunk, Vectors | None]]


MAX_NAMED_FILES = 3
MAX_MISSING_SHARE = 1 / 3
"""The share of a published book that may be missing before somebody is asked."""


@dataclass(frozen=True, slots=True)
class BookDiff:
    """Files by what became of them; `renamed` gives for each new name the one that its page had."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.renamed)


def diff_pages(before: Iterable[PageFingerprint], now: Iterable[PageFingerprint]) -> BookDiff:
    """What became of each page; a page whose name is new and whose source is that of a lost one was renamed."""
    old, new = ({sheet.file: sheet for sheet in sheets} for sheets in (before, now))
    gone: dict[str, list[str]] = {}
    for file, sheet in old.items():
        if file not in new:
            gone.setdefault(sheet.words, []).append(file)
    renamed: dict[str, str] = {}
    for file, sheet in new.items():
        if file not in old and (names := gone.get(sheet.words)):
            renamed[file] = names.pop(0)
    stayed, kept = [file for file in new if file in old], frozenset(renamed.values())
    return BookDiff(
        added=tuple(file for file in new if file not in old and file not in renamed),
        changed=tuple(file for file in stayed if new[file].fingerprint != old[file].fingerprint),
        removed=tuple(file for file in old if file not in new and file not in kept),
        renamed=renamed,
        unchanged=tuple(file for file in stayed if new[file].fingerprint == old[file].fingerprint),
    )


def check_missing_pages(changes: BookDiff, published: Manifest) -> None:
    """Refuse to publish a book that lost a good part of its pages, unless somebody says that this is meant."""
    lost, of = len(changes.removed), len(published.sheets)
    if lost <= of * MAX_MISSING_SHARE:
        return
    names = ", ".join(changes.removed[:MAX_NAMED_FILES]) + (", ..." if lost > MAX_NAMED_FILES else "")
    raise IncompleteSourceError(
        f"{lost} of the {of} pages of “{published.title}”, which is published here, are missing in this source "
        f"({names}). If that is meant, add --force. To keep another book beside it, give it a name: --book NAME"
    )


EMBED_BATCH_SIZE, MAX_BATCH_SIZE = 64, 1024
"""How many chunks are embedded together, and how many at most are handed on together."""
PREFETCH_BATCHES = 1
"""How many batches are under way while one is used: whoever embeds does not wait for whoever stores."""


class ReusableIndex:
    """What can be taken over from `old`, if there is one; `embedded` counts what could not."""

    def __init__(self, old: Index | None, changes: BookDiff) -> None:
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
                if len(under_way) > PREFETCH_BATCHES:
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
                if len(waiting) >= MAX_BATCH_SIZE or new >= EMBED_BATCH_SIZE:
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
