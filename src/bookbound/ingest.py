"""A book becomes an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bookbound.book import Chunk, Manuscript, Notice
from bookbound.manifest import Chapter, Manifest
from bookbound.ports import Embedder, Store
from bookbound.read import read
from bookbound.split import SPLITTER, split
from bookbound.words import terms

Progress = Callable[[str, int, int], None]
BATCH = 64


@dataclass(frozen=True, slots=True)
class Indexed:
    """A published index, and what was odd about the book's files."""

    manifest: Manifest
    notices: tuple[Notice, ...]


async def ingest(source: Path, embedder: Embedder, store: Store, progress: Progress) -> Indexed:
    """Read, split and embed a book, and publish the whole as one new generation."""
    manuscript = read(source)
    chunks: list[Chunk] = []
    for done, page in enumerate(manuscript.pages, 1):
        chunks += split(page, embedder.tokens, embedder.budget)
        progress("split", done, len(manuscript.pages))
    async with store.draft(describe(manuscript, chunks, embedder)) as draft:
        for at in range(0, len(chunks), BATCH):
            batch = chunks[at : at + BATCH]
            await draft.add(batch, await embedder.embed([chunk.embedded for chunk in batch]))
            progress("embed", at + len(batch), len(chunks))
        return Indexed(await draft.publish(), manuscript.notices)


def describe(manuscript: Manuscript, chunks: Sequence[Chunk], embedder: Embedder) -> Manifest:
    """What the index of these chunks will say of itself."""
    words = sum(len(terms(chunk.embedded)) for chunk in chunks)
    pages = Counter(page.chapter for page in manuscript.pages)
    pieces = Counter(chunk.place.chapter for chunk in chunks)
    return Manifest(
        title=manuscript.title,
        kind=manuscript.kind,
        embedder=embedder.name,
        dimension=embedder.dimension,
        splitter=SPLITTER,
        average_words=max(1.0, words / max(1, len(chunks))),
        pages=len(manuscript.pages),
        chunks=len(chunks),
        chapters=tuple(Chapter(title, pages[title], pieces[title]) for title in pages),
    )
