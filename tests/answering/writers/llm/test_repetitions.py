"""What a language model says again is left out, and a model that does nothing else is stopped."""

from __future__ import annotations

from threading import Event

import pytest
from tests.answering.writers.llm.conftest import list_sentences, run_writer

from bookbound.answering.writers.llm.draft_sentences import split_draft
from bookbound.answering.writers.llm.repetitions import MAX_TIMES, RepetitionFilter
from bookbound.domain.trace import TokenUsage
from bookbound.testing.scripted_services import ScriptedServices, StreamedReply


def keep(drafted: str) -> list[str]:
    """Returns the texts that stay of a draft, whether it comes as a whole or part by part."""
    sentences = list(split_draft(drafted, "What?"))
    whole, in_parts = RepetitionFilter(), RepetitionFilter()
    kept = [each.text for each in whole.keep_new(sentences)]
    assert kept == [each.text for sentence in sentences for each in in_parts.keep_new([sentence])]
    assert whole.is_loop == in_parts.is_loop
    return kept


def write(services: ScriptedServices, drafted: str) -> list[str]:
    services.reply_with(drafted)
    return [text for text, _ in list_sentences(run_writer(services))]


def is_loop(drafted: str) -> bool:
    new = RepetitionFilter()
    new.keep_new(list(split_draft(drafted, "What?")))
    return new.is_loop


def test_a_sentence_that_was_said_before_is_left_out_whatever_its_case_spaces_and_citations() -> None:
    drafted = "The arm is safe [1]. It holds. The  ARM\nis safe. [2] It falls."
    assert keep(drafted) == ["The arm is safe.", "It holds.", "It falls."]


@pytest.mark.parametrize(
    ("drafted", "kept"),
    [
        ("1. Press stop.\n2. Wait.\n3. Press stop.", ["Press stop.", "Wait.", "Press stop."]),
        ("1. Press stop.\n2. Press stop.\n3. Wait.", ["Press stop.", "Wait."]),
        ("| A |\n|---|\n| b |\n| c |\n| b |", ["A", "b", "c", "b"]),
        ("| A |\n|---|\n| b |\n| b |\n| c |", ["A", "b", "c"]),
    ],
    ids=["step", "step at once", "row", "row at once"],
)
def test_an_item_or_a_row_may_come_again_but_not_at_once(
    services: ScriptedServices, drafted: str, kept: list[str]
) -> None:
    assert keep(drafted) == kept
    assert write(services, drafted) == kept


def test_a_sentence_that_an_item_said_is_left_out() -> None:
    assert keep("- The arm is safe.\n\nThe arm is safe. It holds.") == ["The arm is safe.", "It holds."]


def test_code_and_introductions_may_come_again(services: ScriptedServices) -> None:
    drafted = "Run:\n\n```\nstop\n```\n\nRun:\n\n```\nstop\n```"
    assert keep(drafted) == write(services, drafted) == ["Run:", "stop", "Run:", "stop"]


@pytest.mark.parametrize("form", ["{0}. ", "- {0}.\n- Wait.\n"], ids=["sentence", "item"])
def test_a_sentence_is_said_in_a_loop_if_it_comes_too_often(form: str) -> None:
    drafted = form.format("The arm is safe")
    assert not is_loop(drafted * MAX_TIMES)
    assert is_loop(drafted * (MAX_TIMES + 1))


def test_nothing_is_kept_after_a_loop_began() -> None:
    loop = "The arm is safe. " * (MAX_TIMES + 1)
    assert keep(f"{loop}It holds.\n\nRun:\n\n```\nstop\n```\n\n- It falls.") == ["The arm is safe."]


def test_a_model_in_a_loop_is_not_waited_for_and_not_asked_again(services: ScriptedServices) -> None:
    loop, never = "The arm is safe [1]. It holds [2]. " * (MAX_TIMES + 2), Event()
    services.reply_with(StreamedReply(loop, never, "It falls [1]."))
    *sentences, usage = run_writer(services)
    assert list_sentences(sentences) == [("The arm is safe.", "a"), ("It holds.", "b")]
    assert usage == TokenUsage(1)
    assert len(services.requests) == 1
