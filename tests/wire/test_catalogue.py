from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound import wire
from bookbound.dialogue import Answer, Question, Scope
from bookbound.errors import NoBook, NoIndex
from bookbound.settings import Settings
from bookbound.volume import PLAIN, UNNAMED, Volume
from bookbound.wire import catalogue, shelving
from bookbound.wire.catalogue import Catalogue, meant

Index = Callable[..., Settings]
THERE = [UNNAMED, Volume("ants"), Volume("robots"), Volume("robots", "1.9"), Volume("robots", "1.10")]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Indexes some words as a book and edition; the settings that name it."""

    def made(words: str, book: str | None = None, edition: str | None = None) -> Settings:
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        (folder / "legs.md").write_text(f"# Legs\n\n{words}\n")
        settings = Settings(index=tmp_path / "index", book=book, edition=edition)
        wire.index_book(folder, settings)
        return settings

    return made


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        (UNNAMED, UNNAMED),
        (Volume("ants"), Volume("ants")),
        (Volume("robots"), Volume("robots", "1.10")),
        (Volume("robots", "1.9"), Volume("robots", "1.9")),
    ],
)
def test_an_edition_means_itself_and_a_book_the_newest_of_its_editions(name: Volume, volume: Volume) -> None:
    assert meant(name, THERE) == volume


def test_where_a_book_is_missed_those_that_are_there_are_named_as_options() -> None:
    with pytest.raises(NoBook, match=r"--book robots --edition 1\.9"):
        meant(Volume("bees"), THERE)
    with pytest.raises(NoBook, match=r"without a name.*--book ants$"):
        meant(UNNAMED, [Volume("ants")])
    with pytest.raises(NoBook, match="and 95 more"):
        meant(UNNAMED, [Volume(f"b{number}") for number in range(100)])
    with pytest.raises(NoIndex):
        meant(UNNAMED, [])


def test_a_book_that_was_indexed_a_moment_ago_is_known(index: Index) -> None:
    async def go() -> None:
        books = Catalogue(Settings(index=index("A robot has two legs.").index))
        assert await books.meant(UNNAMED) == UNNAMED
        await asyncio.to_thread(index, "An ant has six legs.", "ants")
        assert await books.meant(Volume("ants")) == Volume("ants")

    asyncio.run(go())


def test_a_book_is_told_to_differ_from_an_edition_of_it_and_the_edition_from_the_book(index: Index) -> None:
    index("A robot has two legs, and each of them has a knee.", "robots")
    settings = index("A robot has six legs, and each of them has a knee.", "robots", "2.0")

    async def differs(book: Settings) -> tuple[str, tuple[str, ...]]:
        pipeline = await wire.pipeline(book)
        try:
            reply = await pipeline.ask(Question("How many legs does a robot have?"))
            assert isinstance(reply, Answer)
            return reply.trace.edition, reply.trace.differs
        finally:
            await pipeline.close()

    assert asyncio.run(differs(settings)) == ("2.0", (PLAIN,))
    assert asyncio.run(differs(Settings(index=settings.index, book="robots"))) == ("2.0", (PLAIN,))


def test_words_of_a_reader_that_stand_in_no_edition_are_compared_with_none(index: Index) -> None:
    index("A robot has two legs.", "robots", "1.0")
    settings = index("A robot has six legs.", "robots", "2.0")

    async def go() -> None:
        pipeline = await wire.pipeline(settings)
        try:
            selection = "The lighthouse has a lamp of forty candles, and its keeper trims the wick at dusk."
            reply = await pipeline.ask(
                Question("How many candles has the lamp of the lighthouse?", selection, Scope.SELECTION)
            )
            assert isinstance(reply, Answer)
            assert reply.trace.differs == ()
        finally:
            await pipeline.close()

    asyncio.run(go())


def test_an_edition_that_cannot_be_opened_is_passed_over(index: Index) -> None:
    settings = index("A robot has two legs.", "robots", "1.0")
    index("A robot has six legs.", "robots", "2.0")
    index("A robot has four legs.", "robots", "3.0")
    for manifest in settings.index.glob("books/robots@2.0/generations/*/manifest.json"):
        manifest.write_text("no manifest")

    async def go() -> None:
        pipeline = await wire.pipeline(settings)
        try:
            reply = await pipeline.ask(Question("How many legs does a robot have?"))
            assert reply.trace.differs == ("3.0",)
        finally:
            await pipeline.close()

    asyncio.run(go())


def test_what_is_published_of_a_volume_changes_with_its_other_editions(index: Index) -> None:
    settings = index("A robot has two legs.", "robots", "1.0")

    async def go() -> tuple[str, str]:
        books = Catalogue(settings)
        volume = await books.meant(settings.volume)
        named = [volume, *catalogue.others(volume, [volume, Volume("robots", "2.0"), Volume("ants")])]
        before = await books.generations(named)
        await asyncio.to_thread(index, "A robot has six legs.", "robots", "2.0")
        return before, await books.generations(named)

    before, after = asyncio.run(go())
    assert before != after


def test_of_all_books_each_keeps_its_name_also_where_a_title_is_one(index: Index) -> None:
    settings = index("A robot has two legs.")
    index("A robot has six legs.", "Source")

    async def go() -> None:
        pipeline = await shelving.gathered(Settings(index=settings.index))
        try:
            found = await pipeline.search(Question("legs of a robot"))
            assert {passage.chunk.place.book for passage in found.passages} == {"Source", "Source (without a name)"}
            assert len({passage.chunk.id for passage in found.passages}) == 2
        finally:
            await pipeline.close()

    asyncio.run(go())
