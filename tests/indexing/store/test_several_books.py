from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.several_books import MultiBookIndex
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder


@pytest.fixture
def books(tmp_path: Path) -> dict[str, EdgeStore]:
    """Two books with a page of the same name."""
    made = {}
    for name, words in (("ants", "An ant has six legs."), ("dogs", "A dog has four legs. It barks.")):
        (folder := tmp_path / name).mkdir()
        (folder / "legs.md").write_text(f"# Legs\n\n{words}\n")
        made[name] = EdgeStore(tmp_path / f"{name}-index")
        source = BookSource(partial(parse_book, folder))
        asyncio.run(build_index(source, ScriptedEmbedder(), made[name], lambda *_: None))
    return made


def test_passages_of_all_books_are_merged_with_their_book_names(books: dict[str, EdgeStore]) -> None:
    async def go() -> None:
        all_ = MultiBookIndex({name: await store.open() for name, store in books.items()})
        vector = await ScriptedEmbedder().embed_question("A dog has four legs")
        found = await all_.search("A dog has four legs", vector, 5)
        assert [(each.chunk.place.book, each.chunk.place.file) for each in found] == [
            ("dogs", "dogs:legs.md"),
            ("ants", "ants:legs.md"),
        ]
        assert len(await all_.search("legs", vector, 1)) == 1
        assert [chunk.place.book for chunk in await all_.match("barks", 1)] == ["dogs"]
        assert all_.manifest.chunks == 2
        await all_.close()

    asyncio.run(go())


def test_the_chunks_of_a_page_come_from_its_book(books: dict[str, EdgeStore]) -> None:
    async def go() -> None:
        all_ = MultiBookIndex({name: await store.open() for name, store in books.items()})
        assert [chunk.place.book for chunk in await all_.chunks("ants:legs.md")] == ["ants"]
        [(chunk, vector)] = await all_.chunks_with_vectors("dogs:legs.md")
        assert ("barks" in chunk.text, vector.shape) == (True, (32,))
        await all_.close()

    asyncio.run(go())


def test_the_outline_has_the_pages_and_words_of_all_books(books: dict[str, EdgeStore]) -> None:
    async def go() -> None:
        all_ = MultiBookIndex({name: await store.open() for name, store in books.items()})
        outline = await all_.outline()
        assert [page.opening for page in outline.pages] == [
            *await all_.chunks("ants:legs.md"),
            *await all_.chunks("dogs:legs.md"),
        ]
        assert [(place.book, place.file) for place in outline.sections] == [
            ("ants", "ants:legs.md"),
            ("dogs", "dogs:legs.md"),
        ]
        assert (len(outline.chapters), outline.word_counts["has"], outline.word_counts["barks"]) == (2, 2, 1)
        await all_.close()

    asyncio.run(go())


def test_a_book_name_may_contain_a_colon(books: dict[str, EdgeStore]) -> None:
    async def go() -> None:
        ants, dogs = [await store.open() for store in books.values()]
        all_ = MultiBookIndex({"Legs": ants, "Legs: the dogs": dogs})
        [chunk] = await all_.chunks("Legs: the dogs:legs.md")
        assert ("barks" in chunk.text, chunk.place.book) == (True, "Legs: the dogs")
        assert [chunk.place.book for chunk in await all_.chunks("Legs:legs.md")] == ["Legs"]
        await all_.close()

    asyncio.run(go())
