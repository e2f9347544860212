"""A real language model writes, and the rules of a reply hold whatever it writes. `pytest -s` shows what it wrote."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import pytest
from tests.child_process import run_child
from tests.servers import real_model

import bookbound
from bookbound import bootstrap
from bookbound.domain.judgement import SupportLabel
from bookbound.domain.question import QuestionKind
from bookbound.domain.reply import Answer, AnswerSentence, PipelineEvent, Progress, Refusal, Reply, Unsure
from bookbound.settings import Settings

pytestmark = [
    pytest.mark.slow,
    # A small model reads a prompt of 1,000 tokens in up to a minute, and a question needs up to four calls.
    pytest.mark.timeout(880),
]
FILE, INTERPRETER = "BOOKBOUND_TEST_GGUF", "BOOKBOUND_TEST_MISTRALRS_PYTHON"
MISSING_MESSAGE = (
    f"There is no real language model. Name a GGUF file of one that follows instructions in {FILE}, and a Python that "
    f"has the package `mistralrs` in {INTERPRETER}."
)
PROSE, JSON = real_model.PROSE_MODEL, "json"
BOOK = """\
# Robots

## Strain wave gears

A strain wave gear has three parts: an elliptical wave generator, a thin toothed cup called the flexspline, and a rigid
ring called the circular spline. The ellipse presses the cup into the ring at two opposite places. There is almost no
backlash, but a sharp impact can make the teeth jump.

## Robots on one network

`ROS_DOMAIN_ID` separates robots that share a network. The default is 0, and values from 0 to 101 are safe on every
platform. Give each robot its own value.

## Simulators

A simulator computes thousands of robots at once on a graphics card. What it does not model makes a policy fail on the
real robot: this is the reality gap.
"""
"""It is short, because a small model reads slowly."""
# The local reader is sure of the first question and far from an answer to the second.
GEAR = "What are the three parts of a strain wave gear?"
NOT_IN_BOOK = "How much GPU memory does a simulator need for 4096 humanoids?"
EARLIER = ("How do I keep two robots on the same Wi-Fi apart?", "Give each robot its own ROS_DOMAIN_ID.")
FOLLOW_UP = "Which values may it have?"
GERMAN = "Was ist die Lücke zwischen dem Simulator und dem echten Roboter?"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server of the model; it ends with the tests."""
    file, interpreter = os.environ.get(FILE), os.environ.get(INTERPRETER)
    if not file or not interpreter:
        pytest.skip(MISSING_MESSAGE)
    command = [interpreter, real_model.__file__, str(Path(file).resolve())]
    with run_child(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = next((line.strip() for line in process.stdout if line.startswith("http://")), "")
        assert address, "the model did not start"
        yield address


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robots")
    (folder / "robots.md").write_text(BOOK, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def index(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("index") / "robots"
    bootstrap.index_book(book, Settings(index=built))
    return built


@dataclass
class Asked:
    """A reply, what was yielded before it, and the calls of the model for it."""

    question: str
    reply: Reply
    calls: list[dict[str, Any]]
    events: list[PipelineEvent] = field(default_factory=list)

    @property
    def sentences(self) -> Sequence[AnswerSentence]:
        return self.reply.sentences if isinstance(self.reply, Answer) else ()

    @property
    def progress(self) -> list[Progress]:
        return [event for event in self.events if isinstance(event, Progress)]

    @property
    def is_by_model(self) -> bool:
        return any(sentence.form for sentence in self.sentences)

    @property
    def is_broken_off(self) -> bool:
        """Whether the model wrote nothing, or did not end: in a loop, or too long."""
        return any(not call["reply"] or call.get("finish_reason") != "stop" for call in self.calls)


Ask = Callable[..., Asked]


@pytest.fixture
def ask(server: str, index: Path, book: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks a question, and checks what holds for every reply."""

    def ask_once(question: str, model: str = PROSE, conversation: Sequence[tuple[str, str]] = ()) -> Asked:
        monkeypatch.setenv("BOOKBOUND_LLM_MODEL", model)
        events: list[PipelineEvent] = []
        before, start = len(httpx.get(server, timeout=240).json()), perf_counter()
        with bookbound.open(index) as opened:
            reply = opened.ask(question, conversation=conversation, on_event=events.append)
        seconds = perf_counter() - start
        asked = Asked(question, reply, httpx.get(server, timeout=240).json()[before:], events)
        _show(asked, seconds)
        _check_calls(asked)
        _check_sentences(asked, book)
        _check_counts(asked)
        return asked

    monkeypatch.setenv("BOOKBOUND_LLM_URL", f"{server}/v1")
    monkeypatch.setenv("BOOKBOUND_LLM_KEY", "none")
    monkeypatch.setenv("BOOKBOUND_ANSWER_TIMEOUT_SECONDS", "600")
    return ask_once


def _show(asked: Asked, seconds: float) -> None:
    reply = asked.reply
    print(f"\n== {asked.question}\n{type(reply).__name__} after {seconds:.0f} s: {reply.text}")
    for sentence in asked.sentences:
        print(f"   {sentence.label} {sentence.support:.2f}: {sentence.text!r}")
    print(f"   {reply.trace.sentences}, degraded: {reply.trace.degraded}, {reply.trace.completed_question!r}")
    for call in asked.calls:
        print(f"   -- the model, {call.get('finish_reason')}, {call.get('usage')}:\n{call['reply']}")


def _check_calls(asked: Asked) -> None:
    """Checks that the model was asked once for each step that a reader was told, and that no step failed."""
    trace = asked.reply.trace
    assert len(asked.calls) <= len(asked.progress) == len(set(asked.progress))
    if not asked.is_broken_off:
        assert len(asked.progress) == len(asked.calls) == trace.usage.calls
        assert not trace.degraded
    is_asked = trace.question_kind is QuestionKind.QUESTION and not asked.reply.judgement.is_off_topic
    assert (Progress.WRITING in asked.progress) == is_asked


def _check_sentences(asked: Asked, book: Path) -> None:
    """Checks that no sentence is shown that the book does not support, and that each cites words of the book."""
    known = {passage.chunk.id for passage in asked.reply.passages} if isinstance(asked.reply, Answer) else set()
    for sentence in asked.sentences:
        assert sentence.label is not SupportLabel.UNSUPPORTED
        assert sentence.is_verified or sentence.form  # quotes are verified
        assert sentence.evidence
        for cited in sentence.evidence:
            page = (book / cited.place.file).read_text(encoding="utf-8")
            there = page[cited.place.start : cited.place.end]
            assert cited.chunk_id in known
            assert all(word in there for word in re.findall(r"\w+", cited.text))
    streamed = [event.text for event in asked.events if isinstance(event, AnswerSentence)]
    shown = [sentence.text for sentence in asked.sentences]
    # What was certain by itself is not shown if the rest is withheld.
    assert streamed[len(streamed) - len(shown) :] == shown
    assert len(streamed) == len(shown) or asked.reply.trace.sentences.is_withheld


def _check_counts(asked: Asked) -> None:
    """Checks that the reply counts the sentences of the model that are shown, and says that others are not."""
    counts = asked.reply.trace.sentences
    claims = [sentence.is_verified for sentence in asked.sentences if sentence.form and sentence.makes_claim]
    shown = (0, 0) if counts.is_withheld else (counts.verified, counts.unverified)
    assert (claims.count(True), claims.count(False)) == shown
    if isinstance(asked.reply, Answer):
        assert bool(asked.reply.verification_note) == (counts.is_withheld or counts.dropped > 0)


def _check_restated(asked: Asked) -> None:
    """Checks that the model was first asked for a complete question, and that this is the one that was answered."""
    assert asked.progress[0] is Progress.UNDERSTANDING
    written = _join_letters(asked.calls[0]["reply"])
    understood = asked.reply.trace.completed_question or asked.question
    assert _join_letters(understood) in written or asked.is_broken_off


def _join_letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


@pytest.mark.parametrize("model", [PROSE, JSON])
def test_a_question_of_which_the_reader_is_sure_is_answered_by_the_model_or_by_quotes(ask: Ask, model: str) -> None:
    asked = ask(GEAR, model)
    counts = asked.reply.trace.sentences
    assert asked.calls[0]["has_schema"] == (model == JSON)
    assert asked.progress[0] is Progress.WRITING
    # Without an answer the model denies that there is one, and the reader disagrees.
    assert isinstance(asked.reply, Answer if any(counts) else Answer | Unsure)
    assert asked.is_by_model == (any(counts) and not counts.is_withheld)


def test_what_the_book_does_not_say_is_refused_or_opens_with_a_verified_sentence(ask: Ask) -> None:
    asked = ask(NOT_IN_BOOK)
    assert asked.progress[0] is Progress.WRITING
    assert isinstance(asked.reply, Refusal | Answer)
    if isinstance(asked.reply, Answer):
        opening = next(sentence for sentence in asked.sentences if sentence.makes_claim)
        assert (opening.is_verified, asked.is_by_model, asked.reply.judgement.quality) == (True, True, "Partial")


def test_a_follow_up_is_completed_by_the_model(ask: Ask) -> None:
    asked = ask(FOLLOW_UP, conversation=[EARLIER])
    _check_restated(asked)
    assert EARLIER[1] in str(asked.calls[0]["messages"])


def test_a_question_in_another_language_is_put_into_that_of_the_book_and_the_answer_back(ask: Ask) -> None:
    asked = ask(GERMAN)
    _check_restated(asked)
    # The words of the book are not translated.
    assert (Progress.TRANSLATING in asked.progress) == asked.is_by_model
