"""Compares a book with its published index and reuses the chunks and vectors that did not change."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Page
from bookbound.domain.errors import IncompleteSourceError
from bookbound.domain.manifest import Manifest, PageFingerprint
from bookbound.domain.ports import Embedder, Index, Vectors

Batch = list[tuple[Chunk, "Vectors | None"]]
EMBED_BATCH_SIZE, MAX_BATCH_SIZE = 128, 1024
"""A batch is full when it has this many chunks to embed, or this many chunks in all."""
PREFETCH_BATCHES = 1  # embedded while an earlier one is stored; more would only wait in memory
MAX_NAMED_FILES = 3
MAX_MISSING_SHARE = 1 / 3
"""If a larger share of the published pages or words is missing, the user must confirm."""


@dataclass(frozen=True, slots=True)
class BookDiff:
    """What happened to each file; `renamed` maps new names to old ones."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.renamed)


def hash_parts(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint_page(page: Page, version: str) -> PageFingerprint:
    """Fingerprints a page and the version of everything that turns it into chunks and vectors."""
    source = hash_parts(page.source)
    content = (page.file, page.url, page.title, page.chapter, page.text, page.spans, page.blocks)
    content_hash = hash_parts(version, source, repr(content), repr((page.page_breaks, page.markup)))
    return PageFingerprint(page.file, content_hash, source)


def diff_pages(before: Iterable[PageFingerprint], now: Iterable[PageFingerprint]) -> BookDiff:
    """Compares two versions of a book; a new file with the source of a missing one counts as renamed."""
    old, new = ({page.file: page for page in pages} for pages in (before, now))
    missing: dict[str, list[str]] = {}
    for file, page in old.items():
        if file not in new:
            missing.setdefault(page.source_fingerprint, []).append(file)
    renamed: dict[str, str] = {}
    for file, page in new.items():
        if file not in old and (names := missing.get(page.source_fingerprint)):
            renamed[file] = names.pop(0)
    common, old_names = [file for file in new if file in old], frozenset(renamed.values())
    return BookDiff(
        added=tuple(file for file in new if file not in old and file not in renamed),
        changed=tuple(file for file in common if new[file].fingerprint != old[file].fingerprint),
        removed=tuple(file for file in old if file not in new and file not in old_names),
        renamed=renamed,
        unchanged=tuple(file for file in common if new[file].fingerprint == old[file].fingerprint),
    )


def check_missing_pages(changes: BookDiff, published: Manifest) -> None:
    """Refuses to publish a book that has lost many of its pages."""
    missing, total = len(changes.removed), len(published.page_fingerprints)
    if missing <= total * MAX_MISSING_SHARE:
        return
    names = ", ".join(changes.removed[:MAX_NAMED_FILES]) + (", ..." if missing > MAX_NAMED_FILES else "")
    raise IncompleteSourceError(
        f"This source lacks {missing} of the {total} pages of “{published.title}”, which is published here "
        f"({names}). To remove them, add --force. To publish another book next to it, name it: --book NAME. "
        "Or put it into an index of its own: --index FOLDER"
    )


def check_missing_words(manifest: Manifest, published: Manifest | None) -> None:
    """Refuses to publish a book whose pages lost many of their words: a site may ask every visitor to sign in."""
    kept, total = manifest.words, published.words if published else 0
    if published is None or total - kept <= total * MAX_MISSING_SHARE:
        return
    raise IncompleteSourceError(
        f"The pages of this source have {kept} words in {manifest.chunks} chunks, and those of “{published.title}”, "
        f"which is published here, {total} in {published.chunks}. Check that they have text and need no sign-in. "
        "To publish them as they are, add --force. To publish another book next to it, name it: --book NAME"
    )


class ReusableIndex:
    """Reuses chunks and vectors of the published index, if there is one; `embedded_chunks` counts the new vectors."""

    def __init__(self, index: Index | None, changes: BookDiff, embedder: Embedder) -> None:
        is_usable = index and (index.manifest.embedder, index.manifest.dimension) == (embedder.name, embedder.dimension)
        self._index = index if is_usable else None
        self._embedder = embedder
        self._renamed = changes.renamed
        self._unchanged, self._added = frozenset(changes.unchanged), frozenset(changes.added)
        self.embedded_chunks = 0

    async def chunks(self, file: str) -> list[Chunk] | None:
        """Returns the chunks of an unchanged page."""
        return await self._index.chunks(file) if self._index and file in self._unchanged else None

    async def vectors(self, pages: Sequence[list[Chunk]]) -> AsyncGenerator[tuple[list[Chunk], Vectors]]:
        """Yields all chunks in order with their vectors, and embeds the next batch while the caller uses one."""
        tasks: deque[asyncio.Task[tuple[list[Chunk], Vectors]]] = deque()
        try:
            async for batch in self._batches(pages):
                tasks.append(asyncio.create_task(self._embed(batch)))
                await asyncio.sleep(0)  # starts the task now
                if len(tasks) > PREFETCH_BATCHES:
                    yield await tasks.popleft()
            while tasks:
                yield await tasks.popleft()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _batches(self, pages: Sequence[list[Chunk]]) -> AsyncIterator[Batch]:
        batch: Batch = []
        new = 0
        for chunks in filter(None, pages):
            known = await self._known_vectors(chunks[0].place.file)
            for chunk in chunks:
                vector = known.get(chunk.embedding_text)
                new += vector is None
                batch.append((chunk, vector))
                if len(batch) >= MAX_BATCH_SIZE or new >= EMBED_BATCH_SIZE:
                    yield batch
                    batch, new = [], 0
        if batch:
            yield batch

    async def _known_vectors(self, file: str) -> dict[str, Vectors]:
        if self._index is None or file in self._added:
            return {}
        old = await self._index.chunks_with_vectors(self._renamed.get(file, file))
        return {chunk.embedding_text: vector for chunk, vector in old}

    async def _embed(self, batch: Batch) -> tuple[list[Chunk], Vectors]:
        import numpy as np

        texts = [chunk.embedding_text for chunk, vector in batch if vector is None]
        self.embedded_chunks += len(texts)
        new = iter(await self._embedder.embed(texts)) if texts else iter(())
        rows = [next(new) if vector is None else vector for _, vector in batch]
        return [chunk for chunk, _ in batch], np.asarray(rows, dtype=np.float32)
