from __future__ import annotations

import pytest

from bookbound.answering.writers.numbered_passages import NumberedPassages, strip_citation_marks
from bookbound.answering.writers.stream_parser import DraftSentence
from bookbound.domain.chunk import Chunk, Passage, Place

SAFE = "The arm is safe when the brake holds. Read a[i] before. Press [Enter] twice. It covers 3 m²."


def passage(name: str, text: str) -> Passage:
    return Passage(Chunk(name, text, Place("a.md", "/a", "Arms", "Brakes", (), "", 0, len(text)), 0), 0.6)


def given(*drafts: DraftSentence) -> list[tuple[str, list[str]]]:
    book = NumberedPassages([passage("a", SAFE), passage("b", "The brake is a <b>spring</b> → disc.")])
    found = [sentence for draft in drafts for sentence in book.sentences(draft)]
    return [(sentence.text, [evidence.chunk_id for evidence in sentence.evidence]) for sentence in found]


def test_several_sentences_in_one_text_are_so_many_sentences_with_the_same_passages() -> None:
    drafted = DraftSentence("The arm is safe.[1] It is a spring, e.g. a disc! This is wrong.\n\nIt flies.", (2, 1))
    texts = ["The arm is safe.", "It is a spring, e.g. a disc!", "This is wrong.", "It flies."]
    assert given(drafted) == [(text, ["b", "a"]) for text in texts]


def test_a_sentence_that_is_said_again_is_dropped() -> None:
    again = DraftSentence("the  ARM\nis safe.", (1,))
    assert given(DraftSentence("The arm is safe. The arm is safe.", (1,)), again) == [("The arm is safe.", ["a"])]


def test_a_sentence_that_rested_on_nothing_may_be_said_again_with_its_passage() -> None:
    text = "The arm is safe."
    assert given(DraftSentence(text, ()), DraftSentence(text, (1,))) == [(text, []), (text, ["a"])]


@pytest.mark.parametrize("text", ["The arm is nоt safe.", "The brake is a <b>spring</b>.", "A spring → a disc."])
def test_a_sentence_in_strange_letters_or_signs_rests_on_nothing(text: str) -> None:
    assert given(DraftSentence(text, (1,))) == [(text, [])]


def test_what_the_cited_passage_has_is_not_strange() -> None:
    text = "It is a <b>spring</b> → disc."
    assert given(DraftSentence(text, (2,))) == [(text, ["b"])]


def test_only_the_strange_one_of_several_sentences_falls() -> None:
    assert given(DraftSentence("The arm is safe. It is ~~not~~ so.", (1,))) == [
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
def test_marks_that_the_book_has_not_are_cleaned_away(drafted: str, shown: str) -> None:
    assert strip_citation_marks(drafted, SAFE) == shown
