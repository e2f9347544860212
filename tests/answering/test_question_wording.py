"""Misspelt words, other spellings and keywords, with the real vocabulary and a small book."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from bookbound.answering.question_wording import (
    SpellingCorrector,
    find_intended_words,
    is_misspelling,
    judge_as_meant,
    phrase_keyword,
)

from bookbound.answering.run_state import RunState
from bookbound.bootstrap.components import build_store
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.question import NO_DEADLINE, AnswerScope, Question, Retrieval
from bookbound.domain.trace import StageClock
from bookbound.models.onnx import OnnxEmbedder
from bookbound.settings import Settings


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def corrector(example_index: Path, runner: asyncio.Runner) -> SpellingCorrector:
    index = runner.run(build_store(Settings(index=example_index)).open())
    return SpellingCorrector(index, OnnxEmbedder(), NO_DEADLINE)


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("wat is kinimatics", "what is kinematics"),
        ("hwo does a robto walk?", "how does a robot walk?"),
        ("what is a humaniod?", "what is a humanoid?"),
        ("what is the color of a marker?", "what is the colour of a marker?"),
        ("How is a policy optimized?", "How is a policy optimized?"),
        ("What is a strain wave gear?", "What is a strain wave gear?"),
        ("what is colcon?", "what is colcon?"),
        ("what is a strain wave gaer?", "what is a strain wave gear?"),
        ("What is Kubernetes and who needs pizza?", "What is Kubernetes and who needs pizza?"),
        ("what does `kinimatics` do in kinimatics.py?", "what does `kinimatics` do in kinimatics.py?"),
        ("Who is Humaniod?", "Who is Humaniod?"),
    ],
)
def test_a_word_that_the_book_does_not_use_is_corrected_only_if_it_is_misspelt(
    runner: asyncio.Runner, corrector: SpellingCorrector, question: str, meant: str
) -> None:
    assert runner.run(corrector.correct(question)) == [meant]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("fuction", "function"),
        ("retrun", "return"),
        ("tupple", "tuple"),
        ("dictionery", "dictionary"),
        ("wat", "what"),
        ("decoratr", "decorator"),
    ],
)
def test_common_slips_are_misspellings(word: str, other: str) -> None:
    assert is_misspelling(word, other)
    assert not is_misspelling(other, other)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("colcon", "colon"),
        ("solver", "solve"),
        ("toml", "tool"),
        ("backend", "backed"),
        ("wifi", "wiki"),
        ("flask", "flash"),
        ("prune", "prone"),
        ("pandas", "panda"),
    ],
)
def test_another_word_is_no_misspelling(word: str, other: str) -> None:
    assert not is_misspelling(word, other)


def test_a_misspelt_word_may_mean_each_word_that_the_book_uses_often_enough() -> None:
    assert find_intended_words("planr", {"plane": 5, "planar": 5, "planer": 6}) == ["planer", "planar"]
    assert find_intended_words("planr", {"planar": 5, "planer": 60}) == ["planer"]
    assert find_intended_words("taks", {"task": 9, "tasks": 8, "takes": 7}) == ["task", "takes"]
    assert find_intended_words("planr", {"planer": 1}) == []


@pytest.mark.parametrize(
    "keyword", ["lambda", "gear ratio", "list.append", "list append()", "rclpy init", "kinematics?", "use_sim_time"]
)
def test_a_keyword_is_phrased_as_a_question(keyword: str) -> None:
    assert phrase_keyword(keyword) == f"What is {keyword.strip('?')}?"


@pytest.mark.parametrize(
    "question",
    ["What is a gear?", "how to walk", "why", "explain torque", "a strain wave gear with two teeth", "...", "x" * 100],
)
def test_a_question_is_no_keyword(question: str) -> None:
    assert phrase_keyword(question) == ""


class UnusedCorrector(SpellingCorrector):
    """Changes nothing."""

    async def correct(self, question: str) -> list[str]:
        return [question]


class DoubtfulCorrector(SpellingCorrector):
    """Finds two words that may be meant."""

    async def correct(self, question: str) -> list[str]:
        return [question.replace("taks", word) for word in ("takes", "tasks")]


def judge_with(
    probabilities: dict[str, float],
) -> Callable[[Question, RunState], Awaitable[tuple[Retrieval, Judgement]]]:
    async def judge(question: Question, run: RunState) -> tuple[Retrieval, Judgement]:
        probability = probabilities[question.text]
        refusal = None if probability > 0.5 else RefusalReason.INSUFFICIENT_GROUNDING
        return Retrieval(()), Judgement(probability, (), (), "Partial", refusal)

    return judge


@pytest.mark.parametrize(
    ("probabilities", "meant"),
    [
        ({"torque": 0.9}, ""),
        ({"torque": 0.2, "What is torque?": 0.4}, "What is torque?"),
        ({"torque": 0.4, "What is torque?": 0.2}, ""),
    ],
)
def test_the_surer_reading_of_a_keyword_counts(
    runner: asyncio.Runner, corrector: SpellingCorrector, probabilities: dict[str, float], meant: str
) -> None:
    run = RunState(Question("torque"), NO_DEADLINE, StageClock(), "quotes")
    unused = UnusedCorrector(corrector.index, corrector.embedder, NO_DEADLINE)
    _, judgement = runner.run(judge_as_meant(run, unused, judge_with(probabilities)))
    assert judgement.probability == max(probabilities.values())
    assert (run.completed_question, run.question.text) == (meant, meant or "torque")


def test_of_several_words_that_may_be_meant_the_one_with_the_surest_answer_counts(
    runner: asyncio.Runner, corrector: SpellingCorrector
) -> None:
    run = RunState(Question("What are taks?"), NO_DEADLINE, StageClock(), "quotes")
    doubtful = DoubtfulCorrector(corrector.index, corrector.embedder, NO_DEADLINE)
    probabilities = {"What are takes?": 0.6, "What are tasks?": 0.9}
    _, judgement = runner.run(judge_as_meant(run, doubtful, judge_with(probabilities)))
    assert (judgement.probability, run.completed_question) == (0.9, "What are tasks?")


def test_a_question_about_a_selection_keeps_its_words(runner: asyncio.Runner, corrector: SpellingCorrector) -> None:
    run = RunState(Question("kinimatics", "Text.", AnswerScope.SELECTION), NO_DEADLINE, StageClock(), "quotes")
    runner.run(judge_as_meant(run, corrector, judge_with({"kinimatics": 0.1})))
    assert run.completed_question == ""
