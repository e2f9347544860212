"""A question is understood once, and nothing is searched twice for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pipelines import RememberingAssessor, with_engine

from bookbound import bootstrap
from bookbound.answering import judging, understanding
from bookbound.answering import pipeline as pipeline_module
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.understanding.spelling import SpellingCorrector
from bookbound.domain.ports import Index
from bookbound.domain.question import AnswerScope, Question, Turn
from bookbound.settings import Settings


class CountingIndex:
    """Passes everything on, and records each call with its first argument."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.calls: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._index, name)
        if name not in ("search", "match", "outline"):
            return member

        async def call(*arguments: Any) -> Any:
            self.calls.append((name, arguments[0] if name != "outline" else ""))
            return await member(*arguments)

        return call

    def texts(self, name: str) -> list[str]:
        return [text for called, text in self.calls if called == name]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def opened(example_index: Path, runner: asyncio.Runner) -> Pipeline:
    pipeline = runner.run(bootstrap.open_pipeline(Settings(index=example_index, reader="fast")))
    return with_engine(pipeline, assessor=RememberingAssessor(pipeline.engine.assessor))


Ask = Callable[[Question], CountingIndex]


@pytest.fixture
def ask(opened: Pipeline, runner: asyncio.Runner) -> Ask:
    """Asks a question, and returns the index with the calls that it needed."""

    def ask_counted(question: Question) -> CountingIndex:
        index = CountingIndex(opened.book.index)
        runner.run(replace(opened, book=replace(opened.book, index=index)).ask(question))
        return index

    return ask_counted


MISSPELT = "what is the flexpsline of a humaniod robto?"
UNKNOWN = "What is Kubernetes, and who needs quokkas?"
FOLLOW_UP = Question("How fast is it?", conversation=(Turn("How does the IMU help the balance controller?"),))


@pytest.mark.parametrize(
    "question",
    [
        Question("What is a humanoid?"),
        Question("What is lidar? What is MuJoCo?"),
        Question(MISSPELT),
        Question(UNKNOWN),
        Question("torque"),
        Question("hello"),
        Question("What is this book about?"),
        FOLLOW_UP,
        Question("Explain this", "flexspline", AnswerScope.SELECTION_THEN_BOOK),
    ],
    ids=lambda question: question.text,
)
def test_no_text_is_searched_twice(ask: Ask, question: Question) -> None:
    repeated = [call for call, count in Counter(ask(question).calls).items() if count > 1]
    assert repeated == []


def test_a_question_of_several_parts_is_searched_by_its_parts_and_never_as_a_whole(ask: Ask) -> None:
    assert ask(Question("What is lidar? What is MuJoCo?")).texts("search") == ["What is lidar?", "What is MuJoCo?"]


@pytest.mark.parametrize("question", [MISSPELT, UNKNOWN])
def test_a_correction_of_any_number_of_words_is_one_search_that_reads_no_outline(ask: Ask, question: str) -> None:
    index = ask(Question(question))
    assert (len(index.texts("match")), len(index.texts("outline"))) == (1, 0)


def test_a_question_in_the_words_of_the_passages_needs_no_correction(ask: Ask) -> None:
    assert ask(Question("What is a humanoid?")).texts("match") == []


def test_the_completions_of_a_follow_up_are_searched_once_with_the_one_that_is_answered(ask: Ask) -> None:
    searched = ask(FOLLOW_UP).texts("search")
    assert FOLLOW_UP.text not in searched
    assert len(searched) == len(set(searched)) > 1


@pytest.mark.parametrize(("question", "texts"), [("torque", 2), ("What is lidar? What is MuJoCo?", 1), (MISSPELT, 2)])
def test_each_text_is_understood_once(ask: Ask, monkeypatch: pytest.MonkeyPatch, question: str, texts: int) -> None:
    calls: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    for module, name in (
        (understanding, "split_question"),
        (understanding, "parse_book_question"),
        (understanding, "recognize_small_talk"),
        (pipeline_module, "complete_follow_up"),
        (judging, "phrase_keyword"),
        (SpellingCorrector, "correct"),
    ):
        count(module, name)
    ask(Question(question))
    assert calls.pop("split_question") == texts
    assert calls["correct"] == 1
    assert calls["complete_follow_up"] == 0  # there is no conversation
    assert calls["phrase_keyword"] <= 1
    assert calls["parse_book_question"] == calls["recognize_small_talk"] == texts


ANSWERING = Path(pipeline_module.__file__).parent


@pytest.mark.parametrize("room", ["reading", "deciding", "grounding", "writers/quotes"])
def test_no_room_but_the_first_reads_the_words_of_the_question(room: str) -> None:
    readers = [file.name for file in (ANSWERING / room).rglob("*.py") if "question.text" in file.read_text("utf-8")]
    assert readers == []
