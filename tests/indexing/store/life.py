"""A little book that lives: what a process does to its index until it is killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path

from bookbound.domain.document import Block, Page, ParsedBook, SourceSpan
from bookbound.domain.errors import BookIndexError
from bookbound.domain.ports import IndexStore
from bookbound.indexing.archive import export_index
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.testing import ScriptedEmbedder

VARIANTS = 6
FILES = {
    "open",
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.listdir",
    "os.scandir",
    "os.chmod",
    "fcntl.flock",
}


def page(file: str, text: str, position: int = 0) -> Page:
    """A page of one paragraph."""
    runs, blocks = (SourceSpan(0, len(text), 0, len(text)),), (Block("paragraph", 0, len(text)),)
    return Page(file, f"/{file}", file, "Chapter", position, text, text, runs, blocks)


def manuscript(pages: dict[str, str]) -> ParsedBook:
    """A book of these pages."""
    return ParsedBook("A living book", "markdown", tuple(page(*each, at) for at, each in enumerate(pages.items())))


def variant(number: int) -> ParsedBook:
    """One of the forms that the book takes."""
    pages = {f"page{n}.md": f"Words of page {n}." for n in range(12)}
    return manuscript(
        pages | {f"page{number}.md": f"Page {number} is another in variant {number}, said {number} times."}
    )


async def publish(store: IndexStore, book: ParsedBook, force: bool = False) -> str:
    """Index the book; the digest of what is published then."""
    made = await build_index(BookSource(lambda: book), ScriptedEmbedder(), store, lambda *_: None, force=force)
    return made.manifest.digest


def die_at(step: int) -> None:
    """Be killed as soon as the process has touched files so many times."""
    left = iter(range(step))

    def touched(event: str, _: object) -> None:
        if event in FILES and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(touched)


def live(folder: str, seed: int, begun: Event, step: int) -> None:
    """Index, publish, roll back and export at random, until somebody ends it, or it ends at a step of its own."""
    begun.set()
    if step:
        die_at(step)
    chance, store = random.Random(seed), EdgeStore(Path(folder) / "index")

    async def go() -> None:
        while True:
            await publish(store, variant(chance.randrange(VARIANTS)), force=chance.random() < 0.3)
            if chance.random() < 0.3:
                with suppress(BookIndexError):
                    await store.roll_back()
            if chance.random() < 0.3:
                await export_index(store, Path(folder) / "book.bookbound", lambda *_: None)

    asyncio.run(go())
