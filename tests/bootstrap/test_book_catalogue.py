from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.bootstrap.book_catalogue import BookCatalogue, find_book, list_other_editions
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, UNNAMED_EDITION_LABEL, BookRef
from bookbound.domain.errors import BookNotFoundError, IndexNotFoundError
from bookbound.domain.question import AnswerScope, Question
from bookbound.domain.reply import Answer
from bookbound.settings import Settings

Index = Callable[..., Settings]
BOOKS = [UNNAMED_BOOK, BookRef("ants"), BookRef("robots"), BookRef("robots", "1.9"), BookRef("robots", "1.10")]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Indexes a text as a book and edition, and returns the settings that name it."""

    def make(words: str, book: str | None = None, edition: str | None = None) -> Settings:
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        (folder / "legs.md").write_text(f"# Legs\n\n{words}\n")
        settings = Settings(index=tmp_path / "index", book=book, edition=edition, answer_threshold=0.0)
        bootstrap.index_book(folder, settings)
        return settings

    return make


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        (UNNAMED_BOOK, UNNAMED_BOOK),
        (BookRef("ants"), BookRef("ants")),
        (BookRef("robots"), BookRef("robots", "1.10")),
        (BookRef("robots", "1.9"), BookRef("robots", "1.9")),
    ],
)
def test_a_book_name_means_its_newest_edition(name: BookRef, ref: BookRef) -> None:
    assert find_book(name, BOOKS) == ref


def test_an_unknown_book_is_reported_with_the_options_of_those_that_exist() -> None:
    with pytest.raises(
        BookNotFoundError, match=r"no such book or edition\. .*\(leave out --book\).*--book robots --edition 1\.9"
    ):
        find_book(BookRef("bees"), BOOKS)
    with pytest.raises(BookNotFoundError, match=r"no unnamed book\. .*--book ants$"):
        find_book(UNNAMED_BOOK, [BookRef("ants")])
    with pytest.raises(BookNotFoundError, match=r"--book b0; .*--book b99$"):
        find_book(UNNAMED_BOOK, [BookRef(f"b{number}") for number in range(100)])
    with pytest.raises(IndexNotFoundError):
        find_book(UNNAMED_BOOK, [])


def test_a_book_that_was_just_indexed_is_found(index: Index) -> None:
    async def go() -> None:
        books = BookCatalogue(Settings(index=index("A robot has two legs.").index))
        assert await books.find(UNNAMED_BOOK) == UNNAMED_BOOK
        await asyncio.to_thread(index, "An ant has six legs.", "ants")
        assert await books.find(BookRef("ants")) == BookRef("ants")

    asyncio.run(go())


def test_an_answer_names_the_editions_that_differ(index: Index) -> None:
    index("A robot has two legs, and each of them has a knee.", "robots")
    settings = index("A robot has six legs, and each of them has a knee.", "robots", "2.0")

    async def differs(book: Settings) -> tuple[str, tuple[str, ...]]:
        pipeline = await bootstrap.open_pipeline(book)
        try:
            reply = await pipeline.ask(Question("How many legs does a robot have?"))
            assert isinstance(reply, Answer)
            return reply.trace.edition, reply.trace.differing_editions
        finally:
            await pipeline.close()

    assert asyncio.run(differs(settings)) == ("2.0", (UNNAMED_EDITION_LABEL,))
    assert asyncio.run(differs(replace(settings, edition=None))) == ("2.0", (UNNAMED_EDITION_LABEL,))


def test_a_foreign_selection_is_not_compared_with_editions(index: Index) -> None:
    index("A robot has two legs.", "robots", "1.0")
    settings = index("A robot has six legs.", "robots", "2.0")

    async def go() -> None:
        pipeline = await bootstrap.open_pipeline(settings)
        try:
            selection = "The lighthouse has a lamp of forty candles, and its keeper trims the wick at dusk."
            reply = await pipeline.ask(
                Question("How many candles has the lamp of the lighthouse?", selection, AnswerScope.SELECTION)
            )
            assert isinstance(reply, Answer)
            assert reply.trace.differing_editions == ()
        finally:
            await pipeline.close()

    asyncio.run(go())


def test_an_edition_that_cannot_be_opened_is_skipped(index: Index) -> None:
    settings = index("A robot has two legs.", "robots", "1.0")
    index("A robot has six legs.", "robots", "2.0")
    index("A robot has four legs.", "robots", "3.0")
    for manifest in settings.index.glob("books/robots@2.0/generations/*/manifest.json"):
        manifest.write_text("no manifest")

    async def go() -> None:
        pipeline = await bootstrap.open_pipeline(settings)
        try:
            reply = await pipeline.ask(Question("How many legs does a robot have?"))
            assert reply.trace.differing_editions == ("3.0",)
        finally:
            await pipeline.close()

    asyncio.run(go())


def test_the_version_of_a_book_changes_with_its_other_editions(index: Index) -> None:
    settings = index("A robot has two legs.", "robots", "1.0")

    async def go() -> tuple[str, str]:
        books = BookCatalogue(settings)
        ref = await books.find(settings.book_ref)
        named = [
            ref,
            *list_other_editions(ref, [ref, BookRef("robots", "2.0"), BookRef("ants")]),
        ]
        before = await books.generations(named)
        await asyncio.to_thread(index, "A robot has six legs.", "robots", "2.0")
        return before, await books.generations(named)

    before, after = asyncio.run(go())
    assert before != after


def test_all_books_keep_different_names(index: Index) -> None:
    settings = index("A robot has two legs.")
    index("A robot has six legs.", "Source")

    async def go() -> None:
        pipeline = await bootstrap.open_pipeline(Settings(index=settings.index, book=ALL_BOOKS))
        try:
            found = await pipeline.search(Question("legs of a robot"))
            assert {passage.chunk.place.book for passage in found.passages} == {"Source", "Source (without a name)"}
            assert len({passage.chunk.id for passage in found.passages}) == 2
        finally:
            await pipeline.close()

    asyncio.run(go())
