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

from bookbound.book import Block, Manuscript, Page, Run
from bookbound.errors import IndexTrouble
from bookbound.ingest import ingest
from bookbound.ports import Store
from bookbound.source import Source
from bookbound.store.edge import EdgeStore
from bookbound.testing.embedder import ScriptedEmbedder
from bookbound.transfer import export

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
    runs, blocks = (Run(0, len(text), 0, len(text)),), (Block("paragraph", 0, len(text)),)
    return Page(file, f"/{file}", file, "Chapter", position, text, text, runs, blocks)


def manuscript(pages: dict[str, str]) -> Manuscript:
    """A book of these pages."""
    return Manuscript("A living book", "markdown", tuple(page(*each, at) for at, each in enumerate(pages.items())))


def variant(number: int) -> Manuscript:
    """One of the forms that the book takes."""
    pages = {f"page{n}.md": f"Words of page {n}." for n in range(12)}
    return manuscript(
        pages | {f"page{number}.md": f"Page {number} is another in variant {number}, said {number} times."}
    )


async def publish(store: Store, book: Manuscript, force: bool = False) -> str:
    """Index the book; the digest of what is published then."""
    made = await ingest(Source(lambda: book), ScriptedEmbedder(), store, lambda *_: None, force=force)
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
                with suppress(IndexTrouble):
                    await store.roll_back()
            if chance.random() < 0.3:
                await export(store, Path(folder) / "book.bookbound", lambda *_: None)

    asyncio.run(go())
