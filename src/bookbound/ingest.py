"""A book becomes an index; what has not changed since it was last published is taken over."""

from __future__ import annotations

import asyncio
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
from bookbound.source import Source
from bookbound.split import SPLITTER, split
from bookbound.words import terms

if TYPE_CHECKING:
    from bookbound.ports import Vectors

Progress = Callable[[str, int, int], None]
TOGETHER = 512
"""How many chunks are stored together."""


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
    async with _opened(store) as old:
        before = old.manifest if old else await published(store)
        known = before.beside if before else ()
        mark = _mark(source, known, embedder)
        if old and mark and mark == old.manifest.source and not force:
            unchanged = compare(old.manifest.sheets, old.manifest.sheets)
            return Indexed(old.manifest, changes=unchanged, published=False)
        progress("read", 0, 0)
        manuscript = await source.book()
        progress("read", len(manuscript.pages), len(manuscript.pages))
        sheets = [_sheet(page, embedder) for page in manuscript.pages]
        changes = compare(before.sheets if before else (), sheets)
        if before and not force:
            check_whole(changes, before)
        if dry_run or (old and not force and _same(old.manifest, manuscript, sheets)):
            manifest = before or _described(manuscript, sheets, [], embedder)
            return Indexed(manifest, manuscript.notices, changes, published=False)
        fitting = old if old and _fits(old.manifest, embedder) else None
        taken = Taken(fitting, changes if fitting else compare((), sheets))
        chunks = await _chunks(manuscript.pages, taken, embedder, progress)
        manifest = _described(manuscript, sheets, chunks, embedder)
        if _settled(manuscript) and mark == _mark(source, known, embedder):  # nobody changed it while it was read
            manifest = replace(manifest, source=_mark(source, manuscript.beside, embedder))
        async with store.draft(manifest) as draft:
            if not force and (latest := await published(store)):  # another may have published while this was read
                check_whole(compare(latest.sheets, sheets), latest)
            async with aclosing(taken.vectors(chunks, embedder)) as batches:
                await _fill(draft, batches, lambda done: progress("embed", done, manifest.chunks))
            return Indexed(await draft.publish(), manuscript.notices, changes, taken.embedded)


def _mark(source: Source, beside: Sequence[str], embedder: Embedder) -> str:
    """The mark of a source with some files beside it, and of the rules by which it is read; nothing where none."""
    found = source.mark(beside)
    return _digest(found, *_made_by(embedder)) if found else ""


def _settled(manuscript: Manuscript) -> bool:
    """Whether a book stays as it is while its source does, and lost nothing: else it is read again each time.

    So its author is told each time of what is lost.
    """
    return not manuscript.changing and not any(notice.lost for notice in manuscript.notices)


async def published(store: Store) -> Manifest | None:
    """What the published generation says of itself; one that cannot be read is as good as none."""
    try:
        kept = await store.generations()
    except IndexTrouble:
        return None
    return kept[0] if kept else None


@asynccontextmanager
async def _opened(store: Store) -> AsyncIterator[Index | None]:
    """The published generation, open; one that is damaged is as good as none, and is made anew."""
    try:
        old: Index | None = await store.open()
    except IndexTrouble:
        old = None
    try:
        yield old
    finally:
        if old:
            await old.close()


def _fits(published: Manifest, embedder: Embedder) -> bool:
    """Whether the vectors of a book are those that the embedder would give."""
    return (published.embedder, published.dimension) == (embedder.name, embedder.dimension)


async def _chunks(
    pages: Sequence[Page], taken: Taken, embedder: Embedder, progress: Progress
) -> list[tuple[str, list[Chunk]]]:
    """The chunks of each file, in reading order."""
    chunks: list[tuple[str, list[Chunk]]] = []
    for done, page in enumerate(pages, 1):
        kept = await taken.chunks(page.file)
        chunks.append((page.file, split(page, embedder.tokens, embedder.budget) if kept is None else kept))
        progress("split", done, len(pages))
        await asyncio.sleep(0)  # whoever breaks off is heard
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
        beside=manuscript.beside,
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
