"""Tests that an index and a dictionary stay equal over many random operations."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.indexing.store import changing_book

from bookbound.domain.errors import BookIndexError
from bookbound.domain.ports import Index
from bookbound.indexing.store.edge_store import EdgeStore

OPERATIONS = 20_000
WORDS = "leg arm knee ankle motor gear sensor camera lidar torque angle speed plan sense act walk".split()


class EditedBook:
    """A book in a dictionary, published in a store and in a list of dictionaries."""

    def __init__(self, folder: Path) -> None:
        self.chance = random.Random(11)
        self.store = EdgeStore(folder)
        self.pages = {f"page{n}.md": self.words() for n in range(20)}
        self.published: list[dict[str, str]] = []
        self.index: Index | None = None
        self.done: Counter[str] = Counter()

    def words(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(3, 9))).capitalize() + "."

    async def edit(self) -> None:
        name = self.chance.choice(sorted(self.pages))
        what = self.chance.choice(("change", "change", "add", "remove", "rename"))
        if what == "change":
            self.pages[name] = self.words()
        elif what == "add" or len(self.pages) < 10:
            self.pages[f"page{self.chance.randrange(1000)}.md"] = self.words()
        elif len(self.pages) > 10:
            text = self.pages.pop(name)
            if what == "rename":
                self.pages[f"page{self.chance.randrange(1000)}.md"] = text

    async def publish(self) -> None:
        await changing_book.publish(self.store, changing_book.parsed_book(self.pages), force=True)
        self.published = [dict(self.pages), *self.published][:3]
        await self.reopen()

    async def roll_back(self) -> None:
        if len(self.published) < 2:
            try:
                await self.store.roll_back()
            except BookIndexError:
                return
            raise AssertionError("there was no earlier generation")
        await self.store.roll_back()
        self.published.pop(0)
        await self.reopen()

    async def reopen(self) -> None:
        if self.index:
            await self.index.close()
        self.index = await self.store.open()
        assert [page.file for page in self.index.manifest.page_fingerprints] == [*self.published[0]]

    async def read(self) -> None:
        assert self.index
        name = self.chance.choice(sorted({*self.published[0], *self.pages}))
        found = [chunk.text for chunk in await self.index.chunks(name)]
        assert found == ([self.published[0][name]] if name in self.published[0] else []), name

    async def find(self) -> None:
        assert self.index
        words = self.chance.choice(WORDS)
        expected = {name for name, text in self.published[0].items() if words in text.lower().rstrip(".").split()}
        found = {chunk.place.file for chunk in await self.index.match(words, 1000)}
        assert found == expected, words


@pytest.mark.slow
@pytest.mark.timeout(600)  # thousands of operations, each on the disk
def test_random_operations_leave_the_same_as_in_a_dictionary(tmp_path: Path) -> None:
    async def go() -> None:
        book = EditedBook(tmp_path / "index")
        await book.publish()
        operations = [
            (book.edit, 400),
            (book.read, 400),
            (book.find, 180),
            (book.publish, 4),
            (book.roll_back, 2),
            (book.reopen, 3),
        ]
        steps, weights = [step for step, _ in operations], [weight for _, weight in operations]
        for step in book.chance.choices(steps, weights, k=OPERATIONS):
            await step()
            book.done[step.__name__] += 1
        assert min(book.done[step.__name__] for step in steps) > 20
        assert book.index
        await book.index.close()

    asyncio.run(go())
