"""Builds the index of a book: reads, splits, embeds and publishes it, and skips what has not changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from threading import Thread

from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.domain.errors import BookIndexError
from bookbound.domain.manifest import DEFAULT_LANGUAGE, ChapterSummary, Manifest, PageFingerprint
from bookbound.domain.ports import Embedder, Index, IndexStore
from bookbound.indexing import incremental
from bookbound.indexing.incremental import BookDiff, ReusableIndex
from bookbound.indexing.split import SPLITTER_VERSION, split_page
from bookbound.languages.detection import detect_foreign_language
from bookbound.text import extract_terms

MAX_SAMPLED_PAGES, MAX_SAMPLED_CHARS = 50, 2_000  # of each page: enough words to tell a language, at any size
ProgressCallback = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """The published index, what changed in the book, and the notices about its files."""

    manifest: Manifest
    notices: tuple[SourceNotice, ...] = ()
    changes: BookDiff = field(default_factory=BookDiff)
    embedded_chunks: int = 0
    is_published: bool = True

    @property
    def has_lost_text(self) -> bool:
        """Whether the index lacks some text of the book."""
        return any(notice.lost for notice in self.notices)


@dataclass(frozen=True, slots=True)
class BookSource:
    """Reads a book and fingerprints its source.

    `fingerprint` takes the files outside the source folder that were read last time. It returns an empty string if only
    reading the book shows whether it changed.
    """

    read: Callable[[], ParsedBook]
    fingerprint: Callable[[Sequence[str]], str] = lambda _: ""
    reader_version: str = ""

    async def load(self) -> ParsedBook:
        """Reads the book in a daemon thread, so that neither cancelling nor exiting waits for the end of a crawl."""
        result: Future[ParsedBook] = Future()
        result.set_running_or_notify_cancel()

        def read() -> None:
            try:
                result.set_result(self.read())
            except BaseException as error:
                result.set_exception(error)

        Thread(target=read, name="read", daemon=True).start()
        return await asyncio.wrap_future(result)

    def fingerprint_with(self, version: str, outside_files: Sequence[str]) -> str:
        """Fingerprints the source and the version of everything that processes it."""
        fingerprint = self.fingerprint(outside_files)
        return incremental.hash_parts(fingerprint, version) if fingerprint else ""


async def build_index(
    source: BookSource,
    embedder: Embedder,
    store: IndexStore,
    progress: ProgressCallback,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> IndexingResult:
    """Publishes a book as a new generation, unless the published generation is the same.

    A book that has lost many of its pages or words is published only with `force`; a dry run publishes nothing.
    """
    parts = (source.reader_version, SPLITTER_VERSION, embedder.name, embedder.max_tokens, embedder.dimension)
    version = " ".join(map(str, parts))
    async with _open_published(store) as old:
        published = old.manifest if old else await load_published_manifest(store)
        outside_files = published.outside_files if published else ()
        fingerprint = source.fingerprint_with(version, outside_files)
        if old and not force and fingerprint and fingerprint == old.manifest.source_fingerprint:
            unchanged = BookDiff(unchanged=tuple(page.file for page in old.manifest.page_fingerprints))
            return IndexingResult(old.manifest, changes=unchanged, is_published=False)
        progress("read", 0, 0)
        book = _add_language_notice(await source.load())
        progress("read", len(book.pages), len(book.pages))
        pages = [incremental.fingerprint_page(page, version) for page in book.pages]
        changes = _diff_published(published, pages, force)
        if dry_run or (old and not force and _is_published(book, pages, old.manifest)):
            manifest = published or _build_manifest(book, pages, [], embedder)
            return IndexingResult(manifest, book.notices, changes, is_published=False)
        reusable = ReusableIndex(old, changes, embedder)
        chunks = await _split_pages(book.pages, reusable, embedder, progress)
        manifest = _build_manifest(book, pages, chunks, embedder)
        incremental.check_missing_words(manifest, None if force else published)
        if _is_reproducible(book):
            # What is compared comes last: it shows every change before it, and the next run sees every change after it.
            read, again = (source.fingerprint_with(version, files) for files in (book.outside_files, outside_files))
            manifest = replace(manifest, source_fingerprint=read if again == fingerprint else "")
        async with store.writer(manifest) as writer, aclosing(reusable.vectors(chunks)) as batches:
            _diff_published(await load_published_manifest(store), pages, force)  # another process may have published
            done = 0
            async for batch, vectors in batches:
                progress("embed", done := done + len(batch), manifest.chunks)
                await writer.add(batch, vectors)
            return IndexingResult(await writer.publish(), book.notices, changes, reusable.embedded_chunks)


def _add_language_notice(book: ParsedBook) -> ParsedBook:
    """Returns the book with a notice if it is not in English, which the networks were trained on."""
    language = _detect_language(book)
    message = f"the book seems to be in {language}; answers are tuned for English and will be worse"
    return replace(book, notices=(*book.notices, SourceNotice(".", message))) if language else book


def _detect_language(book: ParsedBook) -> str:
    """Returns the name of the book's language, or an empty text if it is not clearly another one than English."""
    step = -(-len(book.pages) // MAX_SAMPLED_PAGES)
    return detect_foreign_language(" ".join(page.text[:MAX_SAMPLED_CHARS] for page in book.pages[:: step or 1]))


async def load_published_manifest(store: IndexStore) -> Manifest | None:
    """Returns the manifest of the published generation, if there is a readable one."""
    try:
        manifests = await store.generations()
    except BookIndexError:
        return None
    return manifests[0] if manifests else None


@asynccontextmanager
async def _open_published(store: IndexStore) -> AsyncIterator[Index | None]:
    """Yields the published generation, or nothing if it is missing or damaged and must be built anew."""
    try:
        index: Index | None = await store.open()
    except BookIndexError:
        index = None
    try:
        yield index
    finally:
        if index:
            await index.close()


def _diff_published(published: Manifest | None, pages: Sequence[PageFingerprint], force: bool) -> BookDiff:
    changes = incremental.diff_pages(published.page_fingerprints if published else (), pages)
    if published and not force:
        incremental.check_missing_pages(changes, published)
    return changes


def _is_published(book: ParsedBook, pages: Sequence[PageFingerprint], published: Manifest) -> bool:
    """Whether the published book has the same pages in the same order."""
    published_pages = [page._replace(chunks=0) for page in published.page_fingerprints]
    return (published.title, published.kind, published_pages) == (book.title, book.kind, list(pages))


def _is_reproducible(book: ParsedBook) -> bool:
    """Whether reading the same source again gives the same book, without notices of lost text to repeat."""
    return not book.is_volatile and not any(notice.lost for notice in book.notices)


async def _split_pages(
    pages: Sequence[Page], reusable: ReusableIndex, embedder: Embedder, progress: ProgressCallback
) -> list[list[Chunk]]:
    """Returns the chunks of each page, in reading order."""
    chunks_by_page: list[list[Chunk]] = []
    for done, page in enumerate(pages, 1):
        chunks = await reusable.chunks(page.file)
        if chunks is None:
            chunks = split_page(page, embedder.count_tokens, embedder.max_tokens)
        chunks_by_page.append(chunks)
        progress("split", done, len(pages))
        await asyncio.sleep(0)  # lets a cancellation through
    return chunks_by_page


def _build_manifest(
    book: ParsedBook, pages: Sequence[PageFingerprint], chunks: Sequence[list[Chunk]], embedder: Embedder
) -> Manifest:
    all_chunks = [chunk for page in chunks for chunk in page]
    words = sum(len(extract_terms(chunk.embedding_text)) for chunk in all_chunks)
    pages_by_chapter: Counter[str] = Counter()
    for page in book.pages:
        pages_by_chapter[page.chapter] += page.page_count
    chunks_by_chapter = Counter(chunk.place.chapter for chunk in all_chunks)
    chunks_by_file = Counter(chunk.place.file for chunk in all_chunks)
    return Manifest(
        title=book.title,
        kind=book.kind,
        embedder=embedder.name,
        dimension=embedder.dimension,
        splitter=SPLITTER_VERSION,
        average_words=max(1.0, words / max(1, len(all_chunks))),
        pages=book.page_count,
        chunks=len(all_chunks),
        outside_files=book.outside_files,
        chapters=tuple(
            ChapterSummary(title, count, chunks_by_chapter[title]) for title, count in pages_by_chapter.items()
        ),
        page_fingerprints=tuple(page._replace(chunks=chunks_by_file[page.file]) for page in pages),
        language=_detect_language(book) or DEFAULT_LANGUAGE,
    )
