"""Questions about the book itself, greetings and other small talk, from a small book to a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.ports import Index
from bookbound.domain.question import AnswerScope, Question, Retrieval
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Answer, AnswerSentence, Refusal, Reply
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.several_books import MultiBookIndex
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder

ENTRY = "@book{robots,\n  author = {Ode, Ada},\n  title = {Robots for Everyone},\n  year = {2025},\n}"
PAGES = {
    "index.md": "# Robots for Everyone\n\nThis book teaches you to build a robot. You need no experience.\n\n"
    "## Who This Book Is For\n\nIt is for people who like to build things. Children can read it too.\n\n"
    f"## Citing this book\n\nPlease use:\n\n```bibtex\n{ENTRY}\n```\n",
    "preface.md": "# Preface\n\nWe wrote this in a garage.\n",
    "motors.md": "# Motors\n\nA motor turns a shaft. A gear slows it down.\n\n## Gears\n\nGears have teeth.\n\n"
    "## Brakes\n\nBrakes stop a motor.\n",
    "sensors.md": "# Sensors and Cameras\n\nA sensor measures something. A camera sees.\n\n"
    "## Citation\n\n```bibtex\n@article{eyes, author = {Stranger, A.}, title = {How Cameras See}}\n```\n",
    "mkdocs.yml": "site_name: Robots for Everyone\nnav:\n  - index.md\n  - preface.md\n  - motors.md\n  - sensors.md\n",
}


LONG_BOOK = {
    "index.md": "# Trains\n\nProgress so far:\n\nSome chapters are missing.\n\n## Readers\n\n"
    "## Who should read it\n\nIt is for:\n\n- drivers\n- guards\n- cooks\n- clerks\n- guests\n\nand others\n\n- mice\n",
    "rails.md": "# Rails\n\nRails are long.\n" + "".join(f"\n## Rail {n}\n\nIt is rail {n}.\n" for n in range(14)),
    **{f"train{n}.md": f"# Train {n}\n\nIt is train {n}.\n" for n in range(13)},
    "mkdocs.yml": "site_name: Trains\nnav:\n  - index.md\n  - rails.md\n"
    + "".join(f"  - train{n}.md\n" for n in range(13)),
}


def write_book(folder: Path, pages: Mapping[str, str]) -> Path:
    (folder / "docs").mkdir(parents=True)
    for name, text in pages.items():
        (folder / name if name.endswith(".yml") else folder / "docs" / name).write_text(text)
    return folder


def index_book(runner: asyncio.Runner, folder: Path, pages: Mapping[str, str]) -> EdgeStore:
    store = EdgeStore(folder / "index")
    source = BookSource(partial(parse_book, write_book(folder / "book", pages)))
    runner.run(build_index(source, ScriptedEmbedder(), store, lambda *_: None))
    return store


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, runner: asyncio.Runner) -> EdgeStore:
    return index_book(runner, tmp_path_factory.mktemp("robots"), PAGES)


class NamedWriter:
    """Stands for a writer that has nothing to write."""

    name = "writer"


def make_pipeline(index: Index) -> Pipeline:
    """A pipeline without readers: no passage has to be read for these replies."""
    engine = Engine(ScriptedEmbedder(), None, NamedWriter(), None)  # type: ignore[arg-type]
    return Pipeline(engine, OpenBook(index, OperatingPoint(0.5, 0.5, 0.5)))


@pytest.fixture(scope="module")
def pipeline(store: EdgeStore, runner: asyncio.Runner) -> Pipeline:
    return make_pipeline(runner.run(store.open()))


def ask_answer(runner: asyncio.Runner, pipeline: Pipeline, text: str) -> Answer:
    reply = runner.run(pipeline.ask(Question(text)))
    assert isinstance(reply, Answer)
    return reply


def test_the_chapters_are_listed_in_reading_order_with_their_links_and_without_the_title_page(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    answer = ask_answer(runner, pipeline, "list the chapters")
    assert answer.text == "From the table of contents, 3 chapters:\n\n- Preface\n- Motors\n- Sensors and Cameras"
    assert [each.place.link for each in answer.citations] == ["/preface/", "/motors/", "/sensors/"]
    assert {each.chunk_id for each in answer.citations} == {each.chunk.id for each in answer.passages}
    assert (answer.judgement.probability, answer.judgement.answer_present) == (1.0, True)
    assert answer.judgement.is_about_book


def test_of_a_long_book_whole_lists_and_the_number_of_missing_titles_are_shown(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    pipeline = make_pipeline(runner.run(index_book(runner, tmp_path, LONG_BOOK).open()))
    subject = ask_answer(runner, pipeline, "What is this book about?")
    assert subject.trace.note == "From the opening of the book and the first 12 of 14 titles of its chapters:"
    assert [each.text for each in subject.sentences][:2] == ["Some chapters are missing.", "Rails"]
    readers = ask_answer(runner, pipeline, "Who is this book for?")
    assert readers.text.endswith("It is for:\n\n- drivers\n- guards\n- cooks\n- clerks\n- guests")
    chapter = ask_answer(runner, pipeline, "What is in the chapter on rails?")
    assert chapter.trace.note == "From the opening of “Rails” and its first 12 of 14 headings:"
    assert [each.text for each in chapter.sentences] == ["Rails are long.", *(f"Rail {n}" for n in range(12))]


def test_headings_are_listed_once_at_their_first_place(runner: asyncio.Runner, tmp_path: Path) -> None:
    page = "# Rails\n\nRails are long.\n" + "".join(f"\n## {name}\n\nWords.\n" for name in ("A", "Tasks", "B", "Tasks"))
    pipeline = make_pipeline(runner.run(index_book(runner, tmp_path, {**LONG_BOOK, "rails.md": page}).open()))
    chapter = ask_answer(runner, pipeline, "What is in the chapter on rails?")
    assert [each.text for each in chapter.sentences] == ["Rails are long.", "A", "Tasks", "B"]


def test_a_section_named_what_is_this_book_tells_its_subject(runner: asyncio.Runner, tmp_path: Path) -> None:
    pages = {**LONG_BOOK, "rails.md": "# Rails\n\n## What is this book?\n\nIt is a book on rails.\n"}
    pipeline = make_pipeline(runner.run(index_book(runner, tmp_path, pages).open()))
    answer = ask_answer(runner, pipeline, "What is this book about?")
    assert answer.text == "From the section “What is this book?”:\n\nIt is a book on rails."


def test_what_can_be_asked_is_told_with_an_example_and_the_chapters(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    answer = ask_answer(runner, pipeline, "What can I ask?")
    assert answer.trace.note == (
        "Ask me anything that Robots for Everyone covers, for example: “What is in the chapter on Motors?” "
        "From the table of contents, 3 chapters:"
    )
    assert [each.text for each in answer.sentences] == ["Preface", "Motors", "Sensors and Cameras"]


def test_the_subject_is_quoted_from_the_opening(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    answer = ask_answer(runner, pipeline, "What is this book about?")
    assert answer.trace.note == "From the opening of the book and the titles of its chapters:"
    assert [each.text for each in answer.sentences] == [
        "This book teaches you to build a robot.",
        "You need no experience.",
        "Motors",
        "Sensors and Cameras",
    ]


def test_a_section_in_which_the_book_speaks_about_itself_answers(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    answer = ask_answer(runner, pipeline, "who is this book for?")
    assert answer.text == (
        "From the section “Who This Book Is For”:\n\nIt is for people who like to build things. "
        "Children can read it too."
    )
    assert answer.citations[0].place.link == "/#who-this-book-is-for"


@pytest.mark.parametrize("text", ["Who wrote this book?", "How do I cite Robots for Everyone?"])
def test_the_bibtex_entry_of_the_book_itself_names_its_authors(
    runner: asyncio.Runner, pipeline: Pipeline, text: str
) -> None:
    answer = ask_answer(runner, pipeline, text)
    assert answer.text == f"From the section “Citing this book”:\n\n```\n{ENTRY}\n```"
    assert answer.citations[0].place.link == "/#citing-this-book"


@pytest.mark.parametrize(
    "text", ["summarise chapter 1", "what is in the chapter on motors", "what does chapter one cover?"]
)
def test_a_chapter_is_described_by_its_opening_and_headings(
    runner: asyncio.Runner, pipeline: Pipeline, text: str
) -> None:
    answer = ask_answer(runner, pipeline, text)
    assert answer.text == (
        "From the opening of “Motors” and its headings:\n\nA motor turns a shaft. A gear slows it down.\n\n"
        "- Gears\n- Brakes"
    )
    assert answer.citations[-1].place.link == "/motors/#brakes"


def test_a_chapter_that_does_not_exist_is_answered_with_the_chapters_that_do(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    assert "3 chapters" in ask_answer(runner, pipeline, "summarise chapter 99").trace.note


def test_the_last_chapter_is_found(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    assert "Sensors and Cameras" in ask_answer(runner, pipeline, "what is the last chapter about?").trace.note


def test_several_books_are_described_together(runner: asyncio.Runner, store: EdgeStore) -> None:
    async def open_both() -> MultiBookIndex:
        return MultiBookIndex({"one": await store.open(), "two": await store.open()})

    both = make_pipeline(runner.run(open_both()))
    assert ask_answer(runner, both, "list the chapters").trace.note == "From the table of contents, 8 chapters:"
    answer = ask_answer(runner, both, "what is this book about")
    assert [each.place.book for each in answer.citations] == ["one", "one", "two", "two"]
    runner.run(both.book.close())


def test_the_events_are_those_of_any_answer(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    async def collect() -> list[object]:
        return [event async for event in pipeline.steps(Question("list the chapters"))]

    kinds = [type(event) for event in runner.run(collect())]
    assert kinds == [Retrieval, Judgement, *[AnswerSentence] * 3, Answer]


@pytest.mark.parametrize(
    ("text", "opening"), [("hello", "Hello! "), ("Thanks!", "You are welcome! "), ("tell me a joke", "I only answer ")]
)
def test_small_talk_is_refused_with_one_line_that_says_what_can_be_asked(
    runner: asyncio.Runner, pipeline: Pipeline, text: str, opening: str
) -> None:
    reply = runner.run(pipeline.ask(Question(text, k=2)))
    assert isinstance(reply, Refusal)
    assert reply.trace.note.startswith(opening)
    assert (
        "Ask me anything that Robots for Everyone covers, for example: “What is in the chapter on Motors?”"
        in reply.trace.note
    )
    assert (reply.kind, reply.text, reply.closest) == (RefusalReason.LOW_RELEVANCE, NOT_IN_BOOK_MESSAGE, ())
    assert len(reply.trace.retrieval.passages) == 2


def test_a_question_about_a_selection_is_never_about_the_book(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    def ask() -> Reply:
        selected = Question("What is this book about?", "A gear slows it down.", AnswerScope.SELECTION)
        return runner.run(pipeline.ask(selected))

    with pytest.raises(AttributeError, match="assess"):  # it is read, and this pipeline has no reader
        ask()
