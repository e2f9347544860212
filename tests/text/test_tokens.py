from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.text import asks_about_whole_text, extract_identifiers, extract_terms, stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("node", "nodes"),
        ("publish", "publishing"),
        ("publish", "published"),
        ("battery", "batteries"),
        ("move", "moving"),
        ("plan", "planning"),
        ("quick", "quickly"),
        ("simulate", "simulating"),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("bus", "bu"), ("class", "clas"), ("axis", "axi"), ("ring", "r")])
def test_a_stem_keeps_words_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_stop_words_are_not_terms() -> None:
    assert extract_terms("What is the meaning of a joint?") == extract_terms("meaning joint")
    assert extract_terms("Please, how often is it so?") == []


@pytest.mark.parametrize(
    "question",
    [
        "Explain this passage, please.",
        "What does this mean?",
        "Summarise the text.",
        "What is the main idea?",
        "And this?",
    ],
)
def test_a_question_that_only_points_is_about_the_whole_text(question: str) -> None:
    assert asks_about_whole_text(question)


@pytest.mark.parametrize("question", ["What is a page table?", "Explain the trot.", "What is ZMP?"])
def test_a_question_that_names_something_is_not_about_the_whole_text(question: str) -> None:
    assert not asks_about_whole_text(question)


@pytest.mark.parametrize("question", ["Why?", "How so?", "And then?", "?", ""])
def test_a_question_that_points_at_nothing_is_not_about_the_whole_text(question: str) -> None:
    assert not asks_about_whole_text(question)


def test_accents_and_case_are_ignored() -> None:
    assert extract_terms("Café NAÏVE") == extract_terms("cafe naive")


def test_identifiers_are_names_that_cannot_be_paraphrased() -> None:
    question = "Does `ros2 run` take --prefix when RCUTILS_LOGGING is set in setup.py, or MoveIt 2, or a word?"
    assert {"ros2 run", "--prefix", "rcutils_logging", "setup.py", "moveit"} <= extract_identifiers(question)
    assert "word" not in extract_identifiers(question)
    assert extract_identifiers("Is model-based control end-to-end?") == set()


@given(st.text())
def test_any_text_can_be_split_into_terms_and_identifiers(text: str) -> None:
    assert all(extract_terms(text)) or extract_terms(text) == []
    assert "" not in extract_identifiers(text)
