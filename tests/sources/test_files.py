"""The order of files and their names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.files import join_first_names, natural_sort_key, resolve_relative_path


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
    assert sorted(mixed, key=natural_sort_key) == names


@given(st.lists(st.text(alphabet="aB1٣0./- ", max_size=8), max_size=8))
def test_any_names_have_an_order(names: list[str]) -> None:
    ordered = sorted(names, key=natural_sort_key)
    assert sorted(ordered, key=natural_sort_key) == ordered


def test_a_number_may_have_any_length() -> None:
    assert natural_sort_key("9" * 10_000) < natural_sort_key("1" + "0" * 10_000)


@pytest.mark.parametrize("target", ["a\0b", "a\ud800"])
def test_a_path_that_no_file_can_have_leads_nowhere(target: str) -> None:
    assert resolve_relative_path(Path("docs"), target) is None
    assert resolve_relative_path(Path("docs"), "../a/./b\udcff") == Path("a/b\udcff")


def test_of_many_names_the_first_are_told_and_the_others_counted() -> None:
    assert join_first_names(["a", "b"]) == "a, b"
    assert join_first_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert join_first_names(["a" * 10_000, "b"]) == "a" * 100 + ", b"
