"""A question is judged in every spelling that may be meant, and a keyword also as a question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import pytest
from tests.pipelines import with_engine

from bookbound import bootstrap
from bookbound.answering.judging import RunState
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.understanding.spelling import SpellingCorrector
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment, PassageAssessment
from bookbound.domain.question import NO_DEADLINE, AnswerScope, Deadline, Question, QuestionPart
from bookbound.settings import Settings


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def pipeline(example_index: Path, runner: asyncio.Runner) -> Pipeline:
    return runner.run(bootstrap.open_pipeline(Settings(index=example_index)))


class ScriptedAssessor:
    """Gives each question its own probability."""

    def __init__(self, probabilities: Mapping[str, float]) -> None:
        self._probabilities = probabilities

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        probability = self._probabilities[part.text]
        return Assessment(probability, tuple(PassageAssessment(probability) for _ in passages))


async def ask(pipeline: Pipeline, question: Question, probabilities: Mapping[str, float]) -> tuple[float, str]:
    """Returns the probability of the reply, and the question as it was understood if that is another one."""
    reply = await with_engine(pipeline, assessor=ScriptedAssessor(probabilities)).ask(question)
    return reply.judgement.probability, reply.trace.completed_question


@pytest.mark.parametrize(
    ("probabilities", "meant"),
    [
        ({"torque": 0.9}, ""),
        ({"torque": 0.2, "What is torque?": 0.4}, "What is torque?"),
        ({"torque": 0.4, "What is torque?": 0.2}, ""),
    ],
)
def test_the_surer_reading_of_a_keyword_counts(
    runner: asyncio.Runner, pipeline: Pipeline, probabilities: Mapping[str, float], meant: str
) -> None:
    assert runner.run(ask(pipeline, Question("torque"), probabilities)) == (max(probabilities.values()), meant)


def test_of_several_words_that_may_be_meant_the_one_with_the_surest_answer_counts(
    runner: asyncio.Runner, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def correct(self: SpellingCorrector, question: str, *_: object) -> tuple[str, ...]:
        return tuple(question.replace("taks", word) for word in ("takes", "tasks"))

    monkeypatch.setattr(SpellingCorrector, "correct", correct)
    probabilities = {"What are takes?": 0.6, "What are tasks?": 0.9}
    assert runner.run(ask(pipeline, Question("What are taks?"), probabilities)) == (0.9, "What are tasks?")


def test_a_question_about_a_selection_keeps_its_words(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    question = Question("kinimatics", "Text.", AnswerScope.SELECTION)
    assert runner.run(ask(pipeline, question, {"kinimatics": 0.1})) == (0.1, "")


def test_the_steps_of_an_answer_share_few_values() -> None:
    assert len(fields(RunState)) <= 6
