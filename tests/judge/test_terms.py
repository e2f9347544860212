from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from bookbound.book import Manifest, Passage, Unit
from bookbound.dialogue import SELECTION_ID
from bookbound.finding import Examination
from bookbound.judge.sought import Sought
from bookbound.judge.terms import TermExaminer, TermModel
from bookbound.words import terms

Make = Callable[..., Passage]
GAIT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
VOCABULARY = dict.fromkeys(terms(GAIT), 3) | {"robot": 90}
MANIFEST = Manifest("A", "text", "e", 384, "1", 20.0, 1, 100, vocabulary=VOCABULARY)


def examined(question: str, *passages: Passage) -> Examination:
    return asyncio.run(TermExaminer(TermModel.shipped(), MANIFEST).examine(question, passages))


def test_a_passage_with_the_words_asked_for_is_likelier_to_answer(passage: Make) -> None:
    hit, miss = examined(
        "Which legs move together in a trot?", passage(GAIT), passage("Torque is force times lever arm.", name="b")
    ).readings
    assert hit.probability > miss.probability


def test_the_sentence_with_the_words_asked_for_comes_first(passage: Make) -> None:
    (reading,) = examined("Which legs move together in a trot?", passage(GAIT)).readings
    assert GAIT[reading.spans[0].start : reading.spans[0].end] == "The trot moves diagonal legs together."


def test_what_is_quoted_is_a_unit_of_the_passage_whatever_its_words(passage: Make) -> None:
    code = "  trot(legs)\n\n  # Legs. Move."
    found = passage(f"Run:\n\n{code}")
    units = (Unit("sentence", 0, 4), Unit("code", 6, 6 + len(code)))
    (reading,) = examined("How do legs trot?", replace(found, chunk=replace(found.chunk, units=units))).readings
    assert {(span.start, span.end) for span in reading.spans} == {unit[1:] for unit in units}
    assert (reading.spans[0].start, reading.spans[0].end) == units[1][1:]


def test_asking_for_a_quantity_favours_the_sentence_with_a_number(passage: Make) -> None:
    (reading,) = examined("How fast does it go on flat ground?", passage(GAIT)).readings
    assert "2.5" in GAIT[reading.spans[0].start : reading.spans[0].end]


def test_words_the_book_never_uses_make_an_answer_less_likely(passage: Make) -> None:
    known = examined("Which legs move together in a trot?", passage(GAIT)).probability
    strange = examined("Which marinade suits grilled tofu in a trot?", passage(GAIT)).probability
    assert strange < known


def test_a_question_without_words_of_its_own_means_the_whole_selection(passage: Make) -> None:
    examination = examined("What does this mean?", passage(GAIT, name=SELECTION_ID))
    assert examination.probability == 1.0
    assert len(examination.readings[0].spans) == 3
    assert examined("What does this mean?", passage(GAIT)).probability == 0.0


def test_no_passages_are_no_answer() -> None:
    assert examined("Which legs move?").readings == ()
    assert examined("Which legs move?").probability < TermModel.shipped().point.answered


def test_rare_terms_weigh_more_than_common_ones() -> None:
    sought = Sought.by("robot trot", VOCABULARY, 100)
    assert sought.coverage({"trot"}) > 0.8
    assert sought.rarest({"trot"}) == 1.0
    assert sought.rarest({"robot"}) == 0.0


@pytest.mark.parametrize(("text", "share"), [("set rclpy.init to 5", 1.0), ("set rclpy.init", 0.5), ("nothing", 0.0)])
def test_names_and_numbers_asked_about_are_looked_for(text: str, share: float) -> None:
    assert Sought.by("Does rclpy.init take 5?", VOCABULARY, 100).named(text) == share
