"""A small book that a process indexes, rolls back and exports at random until it is killed."""

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
    """Returns a page of one paragraph."""
    runs, blocks = (SourceSpan(0, len(text), 0, len(text)),), (Block("paragraph", 0, len(text)),)
    return Page(file, f"/{file}", file, "Chapter", position, text, text, runs, blocks)


def parsed_book(pages: dict[str, str]) -> ParsedBook:
    """Returns a book of these pages."""
    return ParsedBook("A changing book", "markdown", tuple(page(*each, at) for at, each in enumerate(pages.items())))


def make_variant(number: int) -> ParsedBook:
    """Returns one of several versions of the book."""
    pages = {f"page{n}.md": f"Words of page {n}." for n in range(12)}
    return parsed_book(
        pages | {f"page{number}.md": f"Page {number} is another in variant {number}, said {number} times."}
    )


async def publish(store: IndexStore, book: ParsedBook, force: bool = False) -> str:
    """Indexes the book and returns the digest of the published index."""
    result = await build_index(BookSource(lambda: book), ScriptedEmbedder(), store, lambda *_: None, force=force)
    return result.manifest.digest


def kill_at_step(step: int) -> None:
    """Kills this process at its file operation number `step`."""
    left = iter(range(step))

    def touched(event: str, _: object) -> None:
        if event in FILES and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(touched)


def change_until_killed(folder: str, seed: int, begun: Event, step: int) -> None:
    """Indexes, rolls back and exports at random until this process is killed."""
    begun.set()
    if step:
        kill_at_step(step)
    chance, store = random.Random(seed), EdgeStore(Path(folder) / "index")

    async def go() -> None:
        while True:
            await publish(store, make_variant(chance.randrange(VARIANTS)), force=chance.random() < 0.3)
            if chance.random() < 0.3:
                with suppress(BookIndexError):
                    await store.roll_back()
            if chance.random() < 0.3:
                await export_index(store, Path(folder) / "book.bookbound", lambda *_: None)

    asyncio.run(go())
