from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.answering.writers.conftest import make_passage

from bookbound.answering.writers.llm.draft_sentences import DraftSentence, split_draft
from bookbound.answering.writers.llm.numbered_passages import NumberedPassages
from bookbound.answering.writers.llm.unicode_guard import UnicodeGuard
from bookbound.domain.judgement import Claim, Evidence
from bookbound.domain.reply import AnswerSentence, SentenceForm

SAFE = "The arm is safe when the brake holds. Read a[i] before. Press [Enter] twice. It covers 3 m²."


def count_calls(function: Callable[..., Any], made: list[str]) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        made.append(function.__qualname__)
        return function(*given)

    return call


def build(*drafts: str) -> list[tuple[str, list[str]]]:
    book = NumberedPassages([make_passage("a", SAFE), make_passage("b", "The brake is a <b>spring</b> → disc.")])
    found = [each for draft in drafts for each in book.build_sentences(split_draft(draft, "What?", book.text))]
    return [(sentence.text, [evidence.chunk_id for evidence in sentence.evidence]) for sentence in found]


def test_a_sentence_cites_all_passages_and_first_those_that_it_names() -> None:
    assert build("The brake is a spring [2]. The arm is safe [1][2]. It holds. It falls [7][0].") == [
        ("The brake is a spring.", ["b", "a"]),
        ("The arm is safe.", ["a", "b"]),
        ("It holds.", ["a", "b"]),
        ("It falls.", ["a", "b"]),
    ]


def test_the_evidence_is_the_whole_of_a_passage_with_its_score() -> None:
    book = NumberedPassages([make_passage("a", "Torque turns."), make_passage("b", "It is measured in Nm.", score=0.8)])
    claim, form = Claim("Torque is measured in Nm.", "It turns."), SentenceForm("item", "1.")
    (sentence,) = book.build_sentences([DraftSentence("Torque is measured in Nm.", (2, 2, 7, 0, -1), form, claim)])
    (evidence, _) = sentence.evidence
    assert (evidence.chunk_id, evidence.text, evidence.start, evidence.end) == ("b", "It is measured in Nm.", 0, 21)
    assert (evidence.probability, sentence.claim, sentence.form) == (0.8, claim, form)
    assert isinstance(sentence, AnswerSentence)


def test_the_passages_are_prepared_once_for_all_sentences_and_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(UnicodeGuard, "__init__", count_calls(UnicodeGuard.__init__, made))
    monkeypatch.setattr(Evidence, "from_chunk", count_calls(Evidence.from_chunk, made))
    passages = [make_passage("a", f"{SAFE} Once."), make_passage("b", "The brake is a disc.")]
    book = NumberedPassages(passages)
    rows = "".join(f"| é{n} [2] | b | c |\n" for n in range(20))
    assert len(book.build_sentences(split_draft(f"It is [1]. He is [2].\n\n{rows}", "What?", book.text))) == 22
    assert len(made) == len(passages) + 1


@pytest.mark.parametrize(
    "text",
    [
        "The arm is nоt safe.",
        "It is ~~not~~ so.",
        "A spring → disc ⇒ arm.",
        "The arm is <s>not</s> safe.",
        "See https://evil.example/page now.",
        "See [a page](https://evil.example 'title').",
        "- The arm is nоt safe",
        "The arm is \\textbf{safe}.",
    ],
)
def test_a_sentence_with_foreign_letters_or_addresses_has_no_evidence(text: str) -> None:
    assert [evidence for _, evidence in build(text)] == [[]]


def test_only_the_foreign_sentence_loses_its_evidence() -> None:
    assert build("The arm is safe. It is ~~not~~ so.") == [("The arm is safe.", ["a", "b"]), ("It is ~~not~~ so.", [])]


@pytest.mark.parametrize(
    ("drafted", "text"),
    [
        ("The brake is a <b>spring</b> → disc.", "The brake is a <b>spring</b> → disc."),
        ("Use `x` ✅ of **the** [arm](/a).", "Use `x` ✅ of the arm."),
        (r"It turns by \(\alpha\).", "It turns by α."),
        ("Read `a[i]` before.", "Read `a[i]` before."),
    ],
)
def test_letters_of_the_passages_and_markdown_are_allowed(drafted: str, text: str) -> None:
    assert build(drafted) == [(text, ["a", "b"])]


def test_code_may_have_any_letters() -> None:
    assert build("```\nif ɑ → ~~x~~ <s>: https://a.b\n```")[0][1] == ["a", "b"]


def test_a_repeated_passage_keeps_its_number() -> None:
    book = NumberedPassages([make_passage("a", "One.")])
    assert [book.add(make_passage("a", "One.")), book.add(make_passage("b", "Two.")), len(book)] == [None, 2, 2]
