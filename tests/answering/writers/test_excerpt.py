"""How a short answer is widened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.answering.writers.conftest import Shelf

Make = Callable[..., Shelf]

SIX = ["Hens walk.", "Dogs run.", "Cats climb.", "Cows graze.", "Pigs dig.", "Owls fly."]


@pytest.mark.parametrize("question", ["What runs?", "How many are there?", "Why?", "Which animals run?", "cats"])
@pytest.mark.parametrize(
    ("words", "first"),
    [("Hens", 0), ("run", 1), ("climb", 2), ("graze", 2), ("Owls", 2), ("run. Cats climb", 1)],
)
def test_every_short_answer_is_widened_to_four_units_by_what_follows_and_then_by_what_goes_before(
    shelf: Make, question: str, words: str, first: int
) -> None:
    page = shelf("# A\n\n" + " ".join(SIX))
    assert page.said(question, words) == SIX[first : first + 4]


def test_what_comes_along_is_as_probable_as_the_words_it_comes_with(shelf: Make) -> None:
    page = shelf("# A\n\n" + " ".join(SIX))
    for sentence in page.answer("Who?", ("climb", 0.7)):
        (evidence,) = sentence.evidence
        assert (evidence.text, evidence.probability) == (sentence.text, 0.7)


def test_an_answer_of_four_units_or_more_is_not_widened(shelf: Make) -> None:
    page = shelf("# A\n\n" + " ".join(SIX))
    assert page.said("Who?", "Dogs run. Cats climb. Cows graze. Pigs dig.") == SIX[1:5]
    assert page.said("Who?", "Hens", "Dogs", "Cows", "Owls") == [SIX[0], SIX[1], SIX[3], SIX[5]]


def test_what_another_passage_says_counts_where_an_answer_is_short(shelf: Make) -> None:
    pages = shelf("# A\n\n" + " ".join(SIX), "# B\n\nEmus wander. Rams rest.")
    assert pages.said("Who?", ("Dogs", 0.9), ("Emus", 0.8)) == [*SIX[1:4], "Emus wander."]


def test_a_short_answer_is_not_widened_by_what_another_passage_said(shelf: Make) -> None:
    pages = shelf("# A\n\nDogs run. Cats climb.", "# B\n\nCats climb. Emus wander.")
    said = pages.said("Who?", ("Dogs", 0.9), ("climb. Emus", 0.8))
    assert said == ["Dogs run.", "Cats climb.", "Emus wander."]


def test_a_short_answer_is_never_widened_beyond_its_paragraph(shelf: Make) -> None:
    page = shelf("# A\n\nHens walk. Dogs run.\n\nCats climb. Cows graze.\n\nPigs dig. Owls fly.")
    assert page.said("Why?", "graze") == ["Cats climb.", "Cows graze."]


def test_a_short_answer_is_not_widened_by_what_promises_more(shelf: Make) -> None:
    page = shelf("# A\n\nDogs run. Cats climb. They eat:\n\n- corn\n")
    assert page.said("Who?", "run") == ["Dogs run.", "Cats climb."]


def test_code_and_rows_are_not_widened(shelf: Make) -> None:
    code, rows = "```\nwalk()\n```", "| A | B |\n|---|---|\n| 1 | 2 |"
    page = shelf(f"# A\n\nPigs dig. Start the motor:\n\n{code}\n\nOwls fly. Rates are:\n\n{rows}\n")
    assert page.said("How?", "walk()") == ["Start the motor:", "walk()"]
    assert page.said("What?", "1 | 2") == ["Rates are:", "A | B\n1 | 2"]


def test_an_item_comes_with_those_beside_it_up_to_four_units_with_its_lead_in(shelf: Make) -> None:
    page = shelf("# A\n\nHens eat:\n\n- corn\n- worms\n- grass\n- bread\n- rice\n")
    assert page.said("What of worms?", "worms") == ["Hens eat:", "- worms\n- grass\n- bread"]


def test_an_answer_to_several_parts_is_not_widened(shelf: Make) -> None:
    page = shelf("# A\n\n" + " ".join(SIX))
    assert page.said("Who runs, and who digs?", ("Dogs", 0.9, 0), ("Pigs", 0.8, 1)) == [SIX[1], SIX[4]]
