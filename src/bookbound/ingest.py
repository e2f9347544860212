"""A book becomes an index; what has not changed since it was last published is taken over."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bookbound.book import Chunk, Manuscript, Notice, Page
from bookbound.changes import Changes, check_whole, compare
from bookbound.errors import IndexTrouble
from bookbound.manifest import Chapter, Manifest, Sheet
from bookbound.ports import Draft, Embedder, Index, Store
from bookbound.read import READER
from bookbound.reuse import Taken
from bookbound.split import SPLITTER, split
from bookbound.words import terms

if TYPE_CHECKING:
    from bookbound.ports import Vectors

Progress = Callable[[str, int, int], None]
TOGETHER = 512
"""How many chunks are stored together."""


@dataclass(frozen=True, slots=True)
class Source:
    """A book to be indexed: how to read it, and a mark that stays the same while nothing of it changes.

    Where nobody knows without reading, there is no mark.
    """

    read: Callable[[], Manuscript]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A published index, what was odd about the book's files, what changed, and how many chunks were embedded for it.

    `published` is false where there was nothing to publish, or nothing was to be.
    """

    manifest: Manifest
    notices: tuple[Notice, ...] = ()
    changes: Changes = field(default_factory=Changes)
    embedded: int = 0
    published: bool = True

    @property
    def lost(self) -> bool:
        """Whether words of the book are missing in the index."""
        return any(notice.lost for notice in self.notices)


async def ingest(
    source: Source, embedder: Embedder, store: Store, progress: Progress, *, force: bool = False, dry_run: bool = False
) -> Indexed:
    """Read, split and embed a book, and publish the whole as one new generation, unless the published one is the same.

    A book that lost a good part of its pages is published only by `force`; a dry run publishes nothing.
    """
    before = await published(store)
    mark = _digest(source.mark, *_made_by(embedder)) if source.mark else ""
    if before and mark and mark == before.source and not force:
        return Indexed(before, changes=compare(before.sheets, before.sheets), published=False)
    progress("read", 0, 0)
    manuscript = source.read()
    progress("read", len(manuscript.pages), len(manuscript.pages))
    sheets = [_sheet(page, embedder) for page in manuscript.pages]
    changes = compare(before.sheets if before else (), sheets)
    if before and not force:
        check_whole(changes, before)
    if dry_run or (before and not force and _same(before, manuscript, sheets)):
        manifest = before or _described(manuscript, sheets, [], embedder)
        return Indexed(manifest, manuscript.notices, changes, published=False)
    async with _reusable(store, before, embedder) as old:
        taken = Taken(old, changes if old else compare((), sheets))
        chunks = await _chunks(manuscript.pages, taken, embedder, progress)
        manifest = replace(_described(manuscript, sheets, chunks, embedder), source=mark)
        async with store.draft(manifest) as draft:
            async with aclosing(taken.vectors(chunks, embedder)) as batches:
                await _fill(draft, batches, lambda done: progress("embed", done, manifest.chunks))
            return Indexed(await draft.publish(), manuscript.notices, changes, taken.embedded)


async def published(store: Store) -> Manifest | None:
    """What the published generation says of itself; one that cannot be read is as good as none."""
    try:
        kept = await store.generations()
    except IndexTrouble:
        return None
    return kept[0] if kept else None


@asynccontextmanager
async def _reusable(store: Store, before: Manifest | None, embedder: Embedder) -> AsyncIterator[Index | None]:
    """The published generation, open, where its vectors are those that the embedder would give."""
    old: Index | None = None
    if before and before.embedder == embedder.name and before.dimension == embedder.dimension:
        try:
            old = await store.open()
        except IndexTrouble:
            old = None
    try:
        yield old if old and before and old.manifest.generation == before.generation else None
    finally:
        if old:
            await old.close()


async def _chunks(
    pages: Sequence[Page], taken: Taken, embedder: Embedder, progress: Progress
) -> list[tuple[str, list[Chunk]]]:
    """The chunks of each file, in reading order."""
    chunks: list[tuple[str, list[Chunk]]] = []
    for done, page in enumerate(pages, 1):
        kept = await taken.chunks(page.file)
        chunks.append((page.file, split(page, embedder.tokens, embedder.budget) if kept is None else kept))
        progress("split", done, len(pages))
    return chunks


async def _fill(
    draft: Draft, batches: AsyncIterator[tuple[list[Chunk], Vectors]], progress: Callable[[int], None]
) -> None:
    """Put all batches into a draft, many at a time: with all it is given it waits for the disk."""
    import numpy as np

    done, chunks, rows = 0, list[Chunk](), list["Vectors"]()
    async for batch, vectors in batches:
        progress(done := done + len(batch))
        chunks += batch
        rows.append(vectors)
        if len(chunks) >= TOGETHER:
            await draft.add(chunks, np.concatenate(rows))
            chunks, rows = [], []
    if chunks:
        await draft.add(chunks, np.concatenate(rows))


def _described(
    manuscript: Manuscript, sheets: Sequence[Sheet], chunks: Sequence[tuple[str, list[Chunk]]], embedder: Embedder
) -> Manifest:
    """What the index of these chunks will say of itself."""
    every = [chunk for _, held in chunks for chunk in held]
    words = sum(len(terms(chunk.embedded)) for chunk in every)
    pages = Counter(page.chapter for page in manuscript.pages)
    pieces = Counter(chunk.place.chapter for chunk in every)
    counts = Counter({file: len(held) for file, held in chunks})
    return Manifest(
        title=manuscript.title,
        kind=manuscript.kind,
        embedder=embedder.name,
        dimension=embedder.dimension,
        splitter=SPLITTER,
        average_words=max(1.0, words / max(1, len(every))),
        pages=len(manuscript.pages),
        chunks=len(every),
        chapters=tuple(Chapter(title, pages[title], pieces[title]) for title in pages),
        sheets=tuple(sheet._replace(chunks=counts[sheet.file]) for sheet in sheets),
    )


def _same(before: Manifest, manuscript: Manuscript, sheets: Sequence[Sheet]) -> bool:
    """Whether the published book is this one, page by page and in this order."""
    published = [sheet._replace(chunks=0) for sheet in before.sheets]
    return (before.title, before.kind, published) == (manuscript.title, manuscript.kind, list(sheets))


def _sheet(page: Page, embedder: Embedder) -> Sheet:
    words = _digest(page.source)
    whole = repr((page.file, page.url, page.title, page.chapter, page.text, page.runs, page.blocks, page.leaves))
    return Sheet(page.file, _digest(*_made_by(embedder), words, whole), words)


def _made_by(embedder: Embedder) -> tuple[str, ...]:
    """The rules by which a page becomes chunks and vectors."""
    return READER, SPLITTER, embedder.name, str(embedder.budget), str(embedder.dimension)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
