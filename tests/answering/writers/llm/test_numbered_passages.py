from __future__ import annotations

import pytest
from tests.answering.writers.conftest import make_passage

from bookbound.answering.writers.llm.numbered_passages import NumberedPassages, strip_citation_marks
from bookbound.answering.writers.llm.stream_parser import DraftSentence

MARKED_TEXT = "Use arr[1] to read it. The list a = [1, 2, 3] is sorted. See x = [1] there."
SAFE = "The arm is safe when the brake holds. Read a[i] before. Press [Enter] twice. It covers 3 m²."


def build_sentences(*drafts: DraftSentence) -> list[tuple[str, list[str]]]:
    book = NumberedPassages([make_passage("a", SAFE), make_passage("b", "The brake is a <b>spring</b> → disc.")])
    found = [sentence for draft in drafts for sentence in book.build_sentences(draft)]
    return [(sentence.text, [evidence.chunk_id for evidence in sentence.evidence]) for sentence in found]


def test_several_sentences_in_one_text_share_their_passages() -> None:
    drafted = DraftSentence("The arm is safe.[1] It is a spring, e.g. a disc! This is wrong.\n\nIt flies.", (2, 1))
    texts = ["The arm is safe.", "It is a spring, e.g. a disc!", "This is wrong.", "It flies."]
    assert build_sentences(drafted) == [(text, ["b", "a"]) for text in texts]


def test_a_repeated_sentence_is_dropped() -> None:
    again = DraftSentence("the  ARM\nis safe.", (1,))
    assert build_sentences(DraftSentence("The arm is safe. The arm is safe.", (1,)), again) == [
        ("The arm is safe.", ["a"])
    ]


def test_a_sentence_without_evidence_may_be_repeated_with_evidence() -> None:
    text = "The arm is safe."
    assert build_sentences(DraftSentence(text, ()), DraftSentence(text, (1,))) == [(text, []), (text, ["a"])]


@pytest.mark.parametrize("text", ["The arm is nоt safe.", "The brake is a <b>spring</b>.", "A spring → a disc."])
def test_a_sentence_with_foreign_letters_has_no_evidence(text: str) -> None:
    assert build_sentences(DraftSentence(text, (1,))) == [(text, [])]


def test_letters_of_the_cited_passage_are_allowed() -> None:
    text = "It is a <b>spring</b> → disc."
    assert build_sentences(DraftSentence(text, (2,))) == [(text, ["b"])]


def test_only_the_foreign_sentence_loses_its_evidence() -> None:
    assert build_sentences(DraftSentence("The arm is safe. It is ~~not~~ so.", (1,))) == [
        ("The arm is safe.", ["a"]),
        ("It is ~~not~~ so.", []),
    ]


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        ("The arm is safe¹.", "The arm is safe."),
        ("The arm is safe.¹ ²", "The arm is safe."),
        ("The arm is safe ⁽⁹⁾.", "The arm is safe."),
        ("The brake holds¹,³ twice.", "The brake holds twice."),
        ("The arm is safe [A].", "The arm is safe."),
        ("The arm is safe [one][^2].", "The arm is safe."),
        ("The arm is safe ［１］.", "The arm is safe."),
        ("The arm is safe† ①.", "The arm is safe."),
        ("The arm is **safe** and _not_ *fast*.", "The arm is safe and not fast."),
        ("Read a[i], press [Enter], cover 3 m².", "Read a[i], press [Enter], cover 3 m²."),
        ("It is 2 * 3 * 4 in snake_case_name.", "It is 2 * 3 * 4 in snake_case_name."),
        ("The arm is [safe](/b).", "The arm is [safe](/b)."),
    ],
)
def test_marks_that_the_book_lacks_are_removed(drafted: str, shown: str) -> None:
    assert strip_citation_marks(drafted, SAFE) == shown


def test_a_repeated_passage_keeps_its_number() -> None:
    book = NumberedPassages([make_passage("a", "One.")])
    assert [book.add(make_passage("a", "One.")), book.add(make_passage("b", "Two.")), len(book)] == [None, 2, 2]


def test_a_sentence_cites_exactly_the_passages_that_it_names() -> None:
    book = NumberedPassages([make_passage("a", "Torque turns."), make_passage("b", "It is measured in Nm.")])
    (sentence,) = book.build_sentences(DraftSentence("Torque is measured in Nm.", (2, 2, 7, 0, -1)), 0.8)
    (evidence,) = sentence.evidence
    assert (evidence.chunk_id, evidence.text, evidence.start, evidence.end) == ("b", "It is measured in Nm.", 0, 21)
    assert evidence.probability == 0.8
    assert [each.evidence for each in book.build_sentences(DraftSentence("Torque.", (3,)))] == [()]


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        ("The gap is large[1].", "The gap is large."),
        ("The gap is large [1][2].", "The gap is large."),
        ("[1] The gap is large.", "The gap is large."),
        ("It is large [1, 2], and deep (see passage 2).", "It is large, and deep."),
        ("It is large (passages 1 and 3).", "It is large."),
        ("It is large [passage 4].", "It is large."),
        ("It is large【3†source】.", "It is large."),
        ("It is large. [99]", "It is large."),
        ("Use arr[1] to read it [1].", "Use arr[1] to read it."),
        ("The list [1, 2, 3] is sorted [2].", "The list [1, 2, 3] is sorted."),
        ("\u202eIt\u200b is\x07 large.\ud800", "It is large."),
        ("for x in y:\r\n    print(x)", "for x in y:\n    print(x)"),
        ("It weighs 3 kg (about 7 lb).", "It weighs 3 kg (about 7 lb)."),
    ],
)
def test_citation_marks_are_removed_and_the_book_s_own_marks_stay(drafted: str, shown: str) -> None:
    assert strip_citation_marks(drafted, MARKED_TEXT) == shown
