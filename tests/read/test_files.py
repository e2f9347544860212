"""The order of files and their names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.read.files import beside, first_of, natural


@pytest.mark.parametrize(
    "names",
    [
        ["lesson.md", "lesson2.md", "lesson10.md", "lesson-1.md", "lessons.md"],
        ["guide.md", "guide/a.md", "guide/b/a.md", "guide2.md", "guides.md"],
        ["1.md", "01-a.md", "2.md", "10.md", "a.md"],
        ["v1.2", "v1.10", "v2"],
        ["a.md", "a.rst", "a b.md"],
        ["x/lesson.md", "x/lesson1.md", "x1/lesson.md"],
    ],
)
def test_numbers_count_and_what_is_the_beginning_of_another_name_comes_first(names: list[str]) -> None:
    mixed = random.Random(7).sample(names, len(names))
    assert sorted(mixed, key=natural) == names


@given(st.lists(st.text(alphabet="aB1٣0./- ", max_size=8), max_size=8))
def test_any_names_have_an_order(names: list[str]) -> None:
    ordered = sorted(names, key=natural)
    assert sorted(ordered, key=natural) == ordered


def test_a_number_may_have_any_length() -> None:
    assert natural("9" * 10_000) < natural("1" + "0" * 10_000)


@pytest.mark.parametrize("target", ["a\0b", "a\ud800"])
def test_a_path_that_no_file_can_have_leads_nowhere(target: str) -> None:
    assert beside(Path("docs"), target) is None
    assert beside(Path("docs"), "../a/./b\udcff") == Path("a/b\udcff")


def test_of_many_names_the_first_are_told_and_the_others_counted() -> None:
    assert first_of(["a", "b"]) == "a, b"
    assert first_of(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert first_of(["a" * 10_000, "b"]) == "a" * 100 + ", b"
