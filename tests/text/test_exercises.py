from __future__ import annotations

import pytest
from tests.answering.writers.conftest import make_passage

from bookbound.text import is_exercise


@pytest.mark.parametrize(
    "headings", [("Exercises",), ("Exercise 3.2",), ("Problem sets",), ("Quiz: gears",), ("Exercises", "Gears")]
)
def test_a_chunk_below_a_heading_of_exercises_is_an_exercise(headings: tuple[str, ...]) -> None:
    assert is_exercise(make_passage("a", "Draw a gear.", *headings).chunk)


@pytest.mark.parametrize("headings", [("Problems of gears",), ("Gears",), (), ("Exercises", "Gears", "Teeth")])
def test_other_headings_and_those_far_above_make_no_exercise(headings: tuple[str, ...]) -> None:
    assert not is_exercise(make_passage("a", "Gears turn.", *headings).chunk)
