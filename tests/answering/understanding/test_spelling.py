"""Misspelt words, other spellings and keywords, with the real vocabulary and a small book."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.understanding.spelling import (
    SpellingCorrector,
    UsedWords,
    find_intended_words,
    is_misspelling,
    phrase_keyword,
)
from bookbound.settings import Settings


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def pipeline(example_index: Path, runner: asyncio.Runner) -> Pipeline:
    return runner.run(bootstrap.open_pipeline(Settings(index=example_index)))


@pytest.fixture(scope="module")
def corrector(pipeline: Pipeline) -> SpellingCorrector:
    return SpellingCorrector(pipeline.book.index, pipeline.engine.embedder)


@pytest.mark.parametrize(("word", "is_used"), [("gait", True), ("gaits", True), ("tasks", True), ("taks", False)])
def test_a_word_is_used_if_a_form_of_it_is_and_not_if_another_word_has_its_stem(word: str, is_used: bool) -> None:
    assert (word in UsedWords(["It is taking tasks.", "The gait of a robot"])) is is_used


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
    assert runner.run(corrector.correct(question, ())) == (meant,)


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
