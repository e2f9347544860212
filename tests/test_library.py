"""The library for synchronous code."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from threading import Event
from typing import Any, cast, get_args

import pytest

import bookbound
from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.errors import BookIndexError, BookNotFoundError, IndexNotFoundError, InvalidInputError
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.question import CompletedQuestion, Question, Retrieval
from bookbound.domain.reply import Answer, PipelineEvent, Refusal, Reply
from bookbound.domain.trace import StageClock
from bookbound.library import Book, EventLoopThread
from bookbound.settings import Settings
from bookbound.testing import ScriptedPipeline, make_answer, make_passage, make_refusal, make_unsure

BOOK = """# Lamps

## The wick

The wick of the lamp is trimmed every 12 hours.
A wick that is too long makes the flame smoke.

## The lens

The lens was ground in Paris and weighs 3 tonnes.

## The fog horn

In fog the horn sounds for four seconds in every minute.

## Stores

Paraffin is delivered by boat in spring and kept in the cellar.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("library")
    (source := place / "source").mkdir()
    (source / "lamps.md").write_text(BOOK, encoding="utf-8")
    indexed = bookbound.index(source, place / "index")
    assert (indexed.manifest.pages, indexed.notices) == (1, ())
    return place / "index"


@pytest.fixture(scope="module")
def book(folder: Path) -> Iterator[Book]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOKBOUND_ANSWER_THRESHOLD", "0.3")
        with bookbound.open(folder) as opened:
            yield opened


def test_a_follow_up_is_completed_from_the_conversation(book: Book) -> None:
    events: list[object] = []
    turns = [bookbound.Turn("What is the horn?"), ("How often is the wick of the lamp trimmed?", "Every 12 hours.")]
    reply = book.ask("What happens if it is too long?", conversation=turns, on_event=events.append)
    assert reply.trace.completed_question == "What happens if the wick of the lamp is too long?"
    assert "makes the flame smoke" in reply.text
    assert events[0] == CompletedQuestion(reply.trace.completed_question)
    assert events[-1] == reply


def test_a_conversation_has_limits(book: Book) -> None:
    with pytest.raises(InvalidInputError, match="at most 10 turns"):
        book.ask("Why?", conversation=[("What is a wick?", "")] * 11)
    with pytest.raises(InvalidInputError, match="question of 1 to 2000 characters"):
        book.ask("Why?", conversation=[("", "")])


def test_an_answer_has_words_of_the_book_and_their_place(book: Book) -> None:
    reply = book.ask("How long does the horn sound in fog?")
    assert isinstance(reply, Answer)
    assert "four seconds" in reply.text
    first = reply.citations[0]
    assert BOOK[first.place.start : first.place.end] == first.text
    assert first.place.link.endswith("#the-fog-horn")


def test_a_question_that_the_book_does_not_answer_is_refused(book: Book) -> None:
    reply = book.ask("Which airline flies to Reykjavik on Sundays?")
    assert isinstance(reply, Refusal)
    assert reply.citations == ()


def test_an_answer_to_a_selection_comes_from_it_alone(book: Book) -> None:
    reply = book.ask("How much does the lens weigh?", selection="The wick of the lamp is trimmed every 12 hours.")
    assert not isinstance(reply, Answer)
    assert reply.kind is RefusalReason.SELECTED_TEXT_MISSING


def test_the_package_exports_the_kinds_of_reply() -> None:
    assert set(get_args(bookbound.Reply)) == {bookbound.Answer, bookbound.Unsure, bookbound.Refusal}


def test_a_search_gives_at_most_k_passages_with_scores(book: Book) -> None:
    (only,) = book.search("lens", k=1)
    assert "Paris" in only.chunk.text
    assert 0 < only.score <= 1


def test_a_search_for_an_answer_finds_nothing_if_the_book_does_not_surely_answer(book: Book) -> None:
    asked, unanswered = "How long does the horn sound in fog?", "How much does the fog horn cost?"
    found = book.search(asked, k=2, only_answerable=True)
    assert found == book.search(asked, k=2)
    assert "four seconds" in found[0].chunk.text
    assert book.search(unanswered)
    assert book.search(unanswered, only_answerable=True) == ()


@pytest.mark.parametrize("reply", [make_refusal(), make_unsure([make_passage("The horn is red.")])])
def test_a_search_for_an_answer_counts_an_unsure_reply_as_none(reply: Reply) -> None:
    with asyncio.Runner() as runner:
        book = Book(cast(Pipeline, ScriptedPipeline(reply)), runner)
        assert book.search("Which colour has the horn?") == reply.trace.retrieval.passages
        assert book.search("Which colour has the horn?", only_answerable=True) == ()


def test_a_search_for_an_answer_writes_none() -> None:
    class UnwrittenPipeline(ScriptedPipeline):
        async def steps(self, question: Question, clock: StageClock | None = None) -> AsyncGenerator[PipelineEvent]:
            async with aclosing(super().steps(question, clock)) as steps:
                async for step in steps:
                    assert isinstance(step, Retrieval | Judgement)
                    yield step

    passage = make_passage("The horn is red.")
    with asyncio.Runner() as runner:
        book = Book(cast(Pipeline, UnwrittenPipeline(make_answer([("The horn is red.", passage)]))), runner)
        assert book.search("Which colour has the horn?", only_answerable=True) == (passage,)


def test_a_threshold_that_no_passage_reaches_is_a_refusal(book: Book) -> None:
    question = "How long does the horn sound in fog?"
    best = max(passage.score for passage in book.search(question))
    assert isinstance(book.ask(question, threshold=best), Answer)
    refused = book.ask(question, threshold=min(best + 0.001, 1.0))
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalReason.LOW_RELEVANCE


def test_a_clock_measures_the_stages_of_a_search(book: Book) -> None:
    clock = StageClock()
    assert book.search("lens", k=2, clock=clock) == book.search("lens", k=2)
    assert set(clock.stages) == {"embed", "search", "judge"}
    assert all(timing.seconds > 0 for timing in clock.stages.values())


def test_a_question_allows_the_fallback_by_default() -> None:
    pipeline = ScriptedPipeline(make_refusal())
    with asyncio.Runner() as runner:
        book = Book(cast(Pipeline, pipeline), runner)
        book.ask("Why?")
        book.ask("Why?", allow_fallback=False)
        book.converse("Why?", lambda _: (), k=3, threshold=0.5)
    assert [asked.allow_fallback for asked in pipeline.questions] == [True, False, False]
    assert (pipeline.questions[-1].k, pipeline.questions[-1].threshold) == (3, 0.5)


def test_a_book_has_its_manifest(book: Book) -> None:
    assert book.manifest.chunks >= 1
    assert book.manifest.title


def test_several_books_can_be_open_at_once(book: Book, folder: Path) -> None:
    with bookbound.open(folder) as second:
        assert second.search("wick", k=1) == book.search("wick", k=1)


def test_a_question_that_breaks_a_rule_is_invalid_input(book: Book) -> None:
    with pytest.raises(InvalidInputError):
        book.ask(" ")
    with pytest.raises(InvalidInputError):
        book.search("wick", k=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 2.5}, "passages must be 1 to 20, not 2.5"),
        ({"k": "3"}, "passages must be 1 to 20, not '3'"),
        ({"k": None}, "passages must be 1 to 20, not None"),
        ({"threshold": "x"}, "threshold must be a number from 0 to 1, not 'x'"),
        ({"threshold": None}, "threshold must be a number from 0 to 1, not None"),
        ({"threshold": float("nan")}, "threshold must be a number from 0 to 1, not nan"),
        ({"selection": 5}, "selection must be text, not int"),
    ],
)
def test_an_argument_of_another_type_is_invalid_input(book: Book, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        book.ask("How long does the horn sound in fog?", **arguments)


def test_a_question_that_is_no_text_is_invalid_input(book: Book) -> None:
    with pytest.raises(InvalidInputError, match="question must be text, not NoneType"):
        book.ask(cast(str, None))
    with pytest.raises(InvalidInputError, match="conversation must be text, not NoneType"):
        book.ask("Why?", conversation=[("What is a wick?", cast(str, None))])


def test_invalid_input_is_a_value_error() -> None:
    assert issubclass(InvalidInputError, ValueError)
    with pytest.raises(ValueError, match="1 to 2000 characters"):
        Question("")


def test_a_folder_without_an_index_is_reported(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError):
        bookbound.open(tmp_path)


def test_a_book_works_within_a_running_event_loop(folder: Path, tmp_path: Path) -> None:
    async def cell() -> str:
        bookbound.index(folder.parent / "source", tmp_path / "index")
        with bookbound.open(tmp_path / "index") as book:
            return book.ask("How long does the horn sound in fog?").text

    assert "four seconds" in asyncio.run(cell())


def test_a_book_answers_several_threads_at_once(book: Book) -> None:
    questions = ["How long does the horn sound in fog?", "Where was the lens ground?"] * 4
    with ThreadPoolExecutor(4) as threads:
        texts = [reply.text for reply in threads.map(book.ask, questions)]
    assert [text in texts[:2] for text in texts] == [True] * 8
    assert "four seconds" in texts[0]


def test_a_closed_book_reports_it_and_can_be_closed_again(folder: Path) -> None:
    book = bookbound.open(folder)
    book.close()
    book.close()
    with pytest.raises(BookIndexError, match="closed"):
        book.ask("How long does the horn sound in fog?")
    with pytest.raises(BookIndexError, match="closed"):
        book.search("wick")
    with pytest.raises(BookIndexError, match="closed"):
        book.converse("How long does the horn sound in fog?", lambda _: ())


FORK = """
import os, sys, bookbound
book = bookbound.open(sys.argv[1])
if not (child := os.fork()):
    try:
        book.ask("Why?")
    except Exception as error:
        print(type(error).__name__, error, flush=True)
        book.close()
    finally:
        os._exit(0)
os.waitpid(child, 0)
print(type(book.ask("How often is the wick of the lamp trimmed?")).__name__)
"""


def test_a_book_that_a_fork_inherits_says_that_it_must_be_opened_there(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, folder], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == [
        "BookIndexError This book was opened in another process. Open it in this one with bookbound.open().",
        "Answer",
    ]


@pytest.mark.parametrize("conversation", [5, "Why?", [None], ["Why?"], [{"question": "Why?"}], [("a", "b", "c")]])
def test_a_conversation_of_another_shape_is_invalid_input(book: Book, conversation: Any) -> None:
    with pytest.raises(InvalidInputError, match="list of turns"):
        book.ask("Why?", conversation=conversation)


def test_a_source_that_is_no_path_is_invalid_input() -> None:
    with pytest.raises(InvalidInputError, match="must be a path"):
        bookbound.index(cast(Any, 5))


def test_closing_a_book_tells_a_thread_that_asks_that_the_book_is_closed() -> None:
    class EndlessPipeline(ScriptedPipeline):
        asked = Event()

        async def ask(
            self,
            question: Question,
            clock: StageClock | None = None,
            on_event: Callable[[PipelineEvent], None] | None = None,
        ) -> Reply:
            self.asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    pipeline = EndlessPipeline(make_refusal())
    book = Book(cast(Pipeline, pipeline), EventLoopThread())
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(book.ask, "Why?")
        assert pipeline.asked.wait(30)
        book.close()
        with pytest.raises(BookIndexError, match="closed"):
            asking.result(30)


def test_a_thread_that_asks_while_the_loop_ends_never_hangs() -> None:
    worker = EventLoopThread()
    worker.close()
    with pytest.raises(CancelledError):
        worker.run(asyncio.sleep(0))


@pytest.fixture(scope="module")
def editions(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with two editions of a book, and another book."""
    place = tmp_path_factory.mktemp("editions") / "index"
    for book, edition in (("lamps", "1.9"), ("lamps", "1.10"), ("horns", None)):
        bootstrap.index_book(folder.parent / "source", Settings(index=place, book=book, edition=edition))
    return place


def test_open_takes_a_book_and_an_edition(editions: Path) -> None:
    for edition, opened in (("1.9", "1.9"), (None, "1.10")):
        with bookbound.open(editions, book="lamps", edition=edition) as book:
            assert book.pipeline.book.edition == opened


def test_open_names_the_books_and_editions_that_exist_if_there_is_no_such_one(editions: Path) -> None:
    for names in ({"book": "bees"}, {"book": "lamps", "edition": "2.0"}, {}):
        with pytest.raises(BookNotFoundError, match=r"--book lamps --edition 1\.10") as error:
            bookbound.open(editions, **names)
        assert set(error.value.books) == {"horns", "lamps@1.9", "lamps@1.10"}


def test_cancelled_work_ends_before_its_thread() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    worker = EventLoopThread()
    asyncio.run_coroutine_threadsafe(endless(), worker._loop)
    worker.close()
    assert ended == ["cleaned up"]
