"""The benchmark of verified writing paces a scripted model and compares with its time; no test checks a time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.domain.trace import SentenceCounts
from bookbound.testing.scripted_services import StreamedReply
from lab.measure import writing_speed
from lab.measure.writing_speed import (
    ANSWER,
    TOKENS_PER_WORD,
    PacedModel,
    TimedAnswer,
    measure,
    split_tokens,
    summarize,
)

SPEED = 100_000.0
"""Tokens a second of a model that nobody has to wait for."""
BAR = "after the model's last token / its own time (at most 0.5)"
CLAIMS_OF_ANSWER = 9


@pytest.mark.parametrize("text", ["", "Torque turns.", "- Friction: between 60% and 85% [1].\n\n", ANSWER])
def test_the_tokens_of_a_text_are_the_whole_text(text: str) -> None:
    tokens = split_tokens(text)
    assert "".join(tokens) == text
    assert all(tokens)


def test_no_token_reaches_over_a_word_and_there_are_as_many_as_a_usual_tokenizer_makes() -> None:
    tokens = split_tokens(ANSWER)
    assert all(len(token.split()) <= 1 for token in tokens)
    assert len(tokens) == pytest.approx(TOKENS_PER_WORD * len(ANSWER.split()), abs=len(ANSWER.split()) / 20)


def test_the_answer_has_as_many_words_as_the_bar_names() -> None:
    words = re.findall(r"\w\S*", ANSWER.replace(" [1]", ""))
    assert len(words) == pytest.approx(150, abs=10)


def test_a_model_writes_its_text_once_and_each_token_after_its_time() -> None:
    model = PacedModel(ANSWER, SPEED)
    reply = model.reply({})
    assert isinstance(reply, StreamedReply)
    waits, tokens = reply.pieces[::2], reply.pieces[1::2]
    assert tokens == tuple(split_tokens(ANSWER))
    assert all(not isinstance(wait, str) and wait.wait(60) for wait in waits)
    assert not isinstance(model.reply({}), StreamedReply)
    assert model.calls == 2


def time_answer(whole: float, calls: int = 1) -> TimedAnswer:
    """Returns an answer to a model that begins after 1 s and writes for 10 s."""
    return TimedAnswer(
        asked=100.0,
        model_began=101.0,
        model_ended=111.0,
        sentences=[103.0, 104.0],
        replied=100.0 + whole,
        calls=calls,
        verify_seconds=4.0,
        counts=SentenceCounts(6, 2, 1),
    )


def test_times_are_shares_of_the_models_own() -> None:
    assert summarize([time_answer(13.0)]) == pytest.approx(
        {
            "the model's own time, s": 10.0,
            "until the model is asked / its own time": 0.1,
            "first shown sentence / the model's own time": 0.3,
            "whole verified answer / the model's own time": 1.3,
            BAR: 0.2,
            "all verifying / the model's own time": 0.4,
            "sentences verified": 6,
            "sentences marked or left out": 3,
            "calls of the model (1)": 1,
        }
    )


def test_figures_are_medians_but_of_the_calls_the_most_are_told() -> None:
    figures = summarize([time_answer(13.0), time_answer(12.0, calls=2), time_answer(90.0)])
    assert figures[BAR] == pytest.approx(0.2)
    assert figures["calls of the model (1)"] == 2


def test_every_claim_of_the_answer_is_verified(example_index: Path) -> None:
    figures = measure(example_index, SPEED, 1, "fast")
    assert figures["sentences verified"] + figures["sentences marked or left out"] == CLAIMS_OF_ANSWER
    assert figures["calls of the model (1)"] in (1, 2)  # it may be asked to say sentences again
    assert figures["all verifying / the model's own time"] > 0


def test_the_title_names_the_speed_the_reader_and_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[float, int, str]] = []

    def measure(index: Path, *given: float | str) -> dict[str, float]:
        asked.append(given)  # type: ignore[arg-type]
        return {BAR: 0.25}

    monkeypatch.setattr(bootstrap, "index_book", lambda *_: None)
    monkeypatch.setattr(writing_speed, "describe_machine", lambda _: "Some CPU")
    monkeypatch.setattr(writing_speed, "measure", measure)
    writing_speed.main(["--reader", "fast", "--tokens-per-second", "50", "--runs", "7", "--note", "at night"])
    assert asked == [(50.0, 7, "fast")]
    title = "A language model with 50 tokens a second, reader=fast, 2 threads: Some CPU at night"
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"title": title, BAR: 0.25}
