"""Follow-ups are completed from the earlier turns as a person would complete them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.understanding.follow_up import complete_follow_up, propose_completions
from bookbound.domain.question import AnswerScope, CompletedQuestion, Question, Retrieval, Turn
from bookbound.domain.reply import Answer
from bookbound.settings import Settings
from bookbound.text import extract_terms

EXAMPLES = [json.loads(line) for line in (Path(__file__).parent / "follow_ups.jsonl").read_text("utf-8").splitlines()]
MIN_SHARE = 0.8


def make_question(example: dict[str, Any]) -> Question:
    turns = (Turn(turn["question"], turn.get("answer", "")) for turn in example["conversation"])
    return Question(example["question"], conversation=tuple(turns))


def is_as_expected(example: dict[str, Any], completed: str) -> bool:
    """Whether the completed question has the terms of one that a person wrote, or stands alone as the person's does."""
    expected = [set(extract_terms(each)) for each in example["completed"] or ()]
    return set(extract_terms(completed)) in expected if completed else not expected


async def never(*_: object) -> float:
    raise AssertionError("one way to complete a question needs no measurement")


async def complete_all(index: Path, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the examples that are not completed as expected."""
    pipeline = await bootstrap.open_pipeline(Settings(index=index))
    missed = []
    for example in examples:
        understood = await pipeline._understand(pipeline._start(make_question(example)), "", "")
        completed = understood.text if understood.completed_from else ""
        if not is_as_expected(example, completed):
            missed.append(example | {"found": completed})
    await pipeline.close()
    return missed


def test_follow_ups_to_the_example_book_are_completed_as_a_person_would(example_index: Path) -> None:
    examples = [example for example in EXAMPLES if example["book"] == "robots"]
    missed = asyncio.run(complete_all(example_index, examples))
    assert len(missed) <= (1 - MIN_SHARE) * len(examples), missed


@pytest.mark.slow
def test_follow_ups_to_a_python_book_are_completed_as_a_person_would(shared: Path, tmp_path: Path) -> None:
    bootstrap.index_book(shared / "data" / "books" / "byte_of_python", Settings(index=tmp_path))
    examples = [example for example in EXAMPLES if example["book"] == "python"]
    missed = asyncio.run(complete_all(tmp_path, examples))
    assert len(missed) <= (1 - MIN_SHARE) * len(examples), missed


def test_a_question_that_stands_alone_is_never_changed() -> None:
    alone = [example for example in EXAMPLES if example["completed"] is None]
    assert len(alone) >= 15
    for example in alone:
        proposed = propose_completions(example["question"], make_question(example).conversation)
        assert not proposed or proposed[0].text == example["question"]


@pytest.mark.parametrize(
    ("asked", "follow_up", "completed"),
    [
        (["What is a list?"], "How do I sort it?", "How do I sort a list?"),
        (["How do I install Python on Windows?"], "What about on macOS?", "How do I install Python on macOS?"),
        (["Is a humanoid underactuated?"], "Why?", "Why is a humanoid underactuated?"),
        (["What is a list?", "and a tuple?"], "Which of them is faster?", "Which of a list and a tuple is faster?"),
        (["What is Gazebo? And MuJoCo?"], "Which of them is faster?", "Which of Gazebo and MuJoCo is faster?"),
        (["What is a set?"], "Give me an example", "Give me an example of a set"),
        (["Who made it?", "Thanks!"], "And when?", "Who made it, and when?"),
        (["What is a tuple?"], "How do I write one with one item?", "How do I write a tuple with one item?"),
        (["What is a worm gear?"], "Is the same one reversible?", "Is the same worm gear reversible?"),
        (["What is a worm gear?"], "How does a planetary one turn?", "How does a planetary gear turn?"),
        (["What does mdbook build do?"], "Where does it write?", "Where does mdbook build write?"),
    ],
)
def test_a_completed_question_reads_like_a_question(asked: list[str], follow_up: str, completed: str) -> None:
    question = Question(follow_up, conversation=tuple(Turn(each) for each in asked))
    assert asyncio.run(complete_follow_up(question, never, never)) == completed


def test_an_item_of_the_last_answer_can_be_asked_about() -> None:
    turn = Turn("What are its parts?", "It has two parts: a wave generator and a flexspline.")
    proposed = propose_completions("and the second one?", [turn])
    assert [each.text for each in proposed] == ["What is a flexspline?"]


def test_without_a_conversation_nothing_is_completed() -> None:
    assert asyncio.run(complete_follow_up(Question("And how is it computed?"), never, never)) == ""


def test_a_question_about_the_selection_as_a_whole_is_not_completed() -> None:
    question = Question(
        "Explain this", "A selected text.", AnswerScope.SELECTION, conversation=(Turn("What is a set?"),)
    )
    assert asyncio.run(complete_follow_up(question, never, never)) == ""


def test_a_completed_question_is_never_longer_than_a_question_may_be() -> None:
    question = Question("How is it computed?", conversation=(Turn(f"What is a {'very long ' * 198}word?"),))
    assert asyncio.run(complete_follow_up(question, never, never)) == ""


@pytest.fixture(scope="module")
def pipeline(example_index: Path) -> Iterator[Pipeline]:
    with asyncio.Runner() as runner:
        opened = runner.run(bootstrap.open_pipeline(Settings(index=example_index)))
        yield opened
        runner.run(opened.close())


def test_the_pipeline_reports_the_completed_question_first_and_answers_it(pipeline: Pipeline) -> None:
    turns = (Turn("What is a strain wave gear?"),)

    async def collect() -> list[Any]:
        return [step async for step in pipeline.steps(Question("What are its three parts?", conversation=turns))]

    first, second, *_, reply = asyncio.run(collect())
    assert first == CompletedQuestion("What are a strain wave gear's three parts?")
    assert isinstance(second, Retrieval)
    assert isinstance(reply, Answer)
    assert "flexspline" in reply.text
    assert reply.trace.completed_question == first.text


def test_a_follow_up_keeps_its_selection(pipeline: Pipeline) -> None:
    selection = "The flexspline of a strain wave gear is replaced every 500 hours of operation."
    turns = (Turn("What is the flexspline?"),)
    question = Question("How often is it replaced?", selection, AnswerScope.SELECTION, conversation=turns)
    reply = asyncio.run(pipeline.ask(question))
    assert reply.trace.completed_question == "How often is the flexspline replaced?"
    assert [passage.chunk.text for passage in reply.trace.retrieval.passages] == [selection]
