"""Builds the index of a book: reads, splits, embeds and publishes it, and skips what has not changed."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING

from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.domain.errors import BookIndexError
from bookbound.domain.manifest import ChapterSummary, Manifest, PageFingerprint
from bookbound.domain.ports import Embedder, Index, IndexStore, IndexWriter
from bookbound.indexing.incremental import BookDiff, ReusableIndex, check_missing_pages, diff_pages
from bookbound.indexing.split import SPLITTER_VERSION, split_page
from bookbound.sources import READER_VERSION
from bookbound.text.tokens import extract_terms

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


ProgressCallback = Callable[[str, int, int], None]
STORE_BATCH_SIZE = 512
"""How many chunks are stored together."""


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """A published index, what was odd about the book's files, what changed, and how many chunks were embedded for it.

    `published` is false where there was nothing to publish, or nothing was to be.
    """

    manifest: Manifest
    notices: tuple[SourceNotice, ...] = ()
    changes: BookDiff = field(default_factory=BookDiff)
    embedded: int = 0
    published: bool = True

    @property
    def lost(self) -> bool:
        """Whether words of the book are missing in the index."""
        return any(notice.lost for notice in self.notices)


async def build_index(
    source: BookSource,
    embedder: Embedder,
    store: IndexStore,
    progress: ProgressCallback,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> IndexingResult:
    """Read, split and embed a book, and publish the whole as one new generation, unless the published one is the same.

    A book that lost a good part of its pages is published only by `force`; a dry run publishes nothing.
    """
    async with _open_published(store) as old:
        before = old.manifest if old else await load_published_manifest(store)
        known = before.beside if before else ()
        mark = _fingerprint_source(source, known, embedder)
        if old and mark and mark == old.manifest.source and not force:
            unchanged = diff_pages(old.manifest.sheets, old.manifest.sheets)
            return IndexingResult(old.manifest, changes=unchanged, published=False)
        progress("read", 0, 0)
        manuscript = await source.book()
        progress("read", len(manuscript.pages), len(manuscript.pages))
        sheets = [_fingerprint_page(page, embedder) for page in manuscript.pages]
        changes = diff_pages(before.sheets if before else (), sheets)
        if before and not force:
            check_missing_pages(changes, before)
        if dry_run or (old and not force and _is_unchanged(old.manifest, manuscript, sheets)):
            manifest = before or _build_manifest(manuscript, sheets, [], embedder)
            return IndexingResult(manifest, manuscript.notices, changes, published=False)
        fitting = old if old and _has_same_embedder(old.manifest, embedder) else None
        taken = ReusableIndex(fitting, changes if fitting else diff_pages((), sheets))
        chunks = await _split_pages(manuscript.pages, taken, embedder, progress)
        manifest = _build_manifest(manuscript, sheets, chunks, embedder)
        if _is_reproducible(manuscript) and mark == _fingerprint_source(
            source, known, embedder
        ):  # nobody changed it while it was read
            manifest = replace(manifest, source=_fingerprint_source(source, manuscript.beside, embedder))
        async with store.draft(manifest) as draft:
            if not force and (
                latest := await load_published_manifest(store)
            ):  # another may have published while this was read
                check_missing_pages(diff_pages(latest.sheets, sheets), latest)
            async with aclosing(taken.vectors(chunks, embedder)) as batches:
                await _store_batches(draft, batches, lambda done: progress("embed", done, manifest.chunks))
            return IndexingResult(await draft.publish(), manuscript.notices, changes, taken.embedded)


def _fingerprint_source(source: BookSource, beside: Sequence[str], embedder: Embedder) -> str:
    """The mark of a source with some files beside it, and of the rules by which it is read; nothing where none."""
    found = source.mark(beside)
    return _hash_parts(found, *_list_versions(embedder)) if found else ""


def _is_reproducible(manuscript: ParsedBook) -> bool:
    """Whether a book stays as it is while its source does, and lost nothing: else it is read again each time.

    So its author is told each time of what is lost.
    """
    return not manuscript.changing and not any(notice.lost for notice in manuscript.notices)


async def load_published_manifest(store: IndexStore) -> Manifest | None:
    """What the published generation says of itself; one that cannot be read is as good as none."""
    try:
        kept = await store.generations()
    except BookIndexError:
        return None
    return kept[0] if kept else None


@asynccontextmanager
async def _open_published(store: IndexStore) -> AsyncIterator[Index | None]:
    """The published generation, open; one that is damaged is as good as none, and is made anew."""
    try:
        old: Index | None = await store.open()
    except BookIndexError:
        old = None
    try:
        yield old
    finally:
        if old:
            await old.close()


def _has_same_embedder(published: Manifest, embedder: Embedder) -> bool:
    """Whether the vectors of a book are those that the embedder would give."""
    return (published.embedder, published.dimension) == (embedder.name, embedder.dimension)


async def _split_pages(
    pages: Sequence[Page], taken: ReusableIndex, embedder: Embedder, progress: ProgressCallback
) -> list[tuple[str, list[Chunk]]]:
    """The chunks of each file, in reading order."""
    chunks: list[tuple[str, list[Chunk]]] = []
    for done, page in enumerate(pages, 1):
        kept = await taken.chunks(page.file)
        chunks.append((page.file, split_page(page, embedder.tokens, embedder.budget) if kept is None else kept))
        progress("split", done, len(pages))
        await asyncio.sleep(0)  # whoever breaks off is heard
    return chunks


async def _store_batches(
    draft: IndexWriter, batches: AsyncIterator[tuple[list[Chunk], Vectors]], progress: Callable[[int], None]
) -> None:
    """Put all batches into a draft, many at a time: with all it is given it waits for the disk."""
    import numpy as np

    done, chunks, rows = 0, list[Chunk](), list["Vectors"]()
    async for batch, vectors in batches:
        progress(done := done + len(batch))
        chunks += batch
        rows.append(vectors)
        if len(chunks) >= STORE_BATCH_SIZE:
            await draft.add(chunks, np.concatenate(rows))
            chunks, rows = [], []
    if chunks:
        await draft.add(chunks, np.concatenate(rows))


def _build_manifest(
    manuscript: ParsedBook,
    sheets: Sequence[PageFingerprint],
    chunks: Sequence[tuple[str, list[Chunk]]],
    embedder: Embedder,
) -> Manifest:
    """What the index of these chunks will say of itself."""
    every = [chunk for _, held in chunks for chunk in held]
    words = sum(len(extract_terms(chunk.embedded)) for chunk in every)
    pages = Counter(page.chapter for page in manuscript.pages)
    pieces = Counter(chunk.place.chapter for chunk in every)
    counts = Counter({file: len(held) for file, held in chunks})
    return Manifest(
        title=manuscript.title,
        kind=manuscript.kind,
        embedder=embedder.name,
        dimension=embedder.dimension,
        splitter=SPLITTER_VERSION,
        average_words=max(1.0, words / max(1, len(every))),
        pages=len(manuscript.pages),
        chunks=len(every),
        beside=manuscript.beside,
        chapters=tuple(ChapterSummary(title, pages[title], pieces[title]) for title in pages),
        sheets=tuple(sheet._replace(chunks=counts[sheet.file]) for sheet in sheets),
    )


def _is_unchanged(before: Manifest, manuscript: ParsedBook, sheets: Sequence[PageFingerprint]) -> bool:
    """Whether the published book is this one, page by page and in this order."""
    published = [sheet._replace(chunks=0) for sheet in before.sheets]
    return (before.title, before.kind, published) == (manuscript.title, manuscript.kind, list(sheets))


def _fingerprint_page(page: Page, embedder: Embedder) -> PageFingerprint:
    words = _hash_parts(page.source)
    whole = repr((page.file, page.url, page.title, page.chapter, page.text, page.runs, page.blocks, page.leaves))
    return PageFingerprint(page.file, _hash_parts(*_list_versions(embedder), words, whole), words)


def _list_versions(embedder: Embedder) -> tuple[str, ...]:
    """The rules by which a page becomes chunks and vectors."""
    return READER_VERSION, SPLITTER_VERSION, embedder.name, str(embedder.budget), str(embedder.dimension)


def _hash_parts(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class BookSource:
    """How to read a book, and a mark that stays the same while nothing of it changes.

    The mark is made of the source and of the files beside it that were read the last time. Where nobody knows without
    reading, there is none.
    """

    read: Callable[[], ParsedBook]
    mark: Callable[[Sequence[str]], str] = lambda _: ""

    async def book(self) -> ParsedBook:
        """The book, read in a thread of its own: whoever breaks off has not to wait for the end of a crawl."""
        reading: Future[ParsedBook] = Future()
        reading.set_running_or_notify_cancel()

        def read() -> None:
            try:
                reading.set_result(self.read())
            except BaseException as trouble:
                reading.set_exception(trouble)

        Thread(target=read, name="read", daemon=True).start()
        return await asyncio.wrap_future(reading)
