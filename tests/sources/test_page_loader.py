"""Parses or ignores any front matter."""

from __future__ import annotations

import pytest

from bookbound.sources.page_loader import FrontMatter, parse_front_matter
from bookbound.sources.safe_config import parse_yaml

# Each line merges the one above ten times; expanded, it would fill any memory.
LAUGHS = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12))


def test_an_alias_repeats_its_anchor() -> None:
    assert parse_yaml("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: 2}") == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}


@pytest.mark.parametrize("body", [LAUGHS, "a: &a [*a]\n"])
def test_endless_aliases_are_rejected(body: str) -> None:
    source = f"---\n{body}---\nText"
    front = parse_front_matter(source)
    assert (front.fields, front.is_broken, source[front.end :]) == ({}, True, "Text")


def test_very_long_yaml_is_ignored() -> None:
    assert parse_yaml("a: 1\n" * 3) == {"a": 1}
    assert parse_yaml("a: 1\n" * 100_000) is None


@pytest.mark.parametrize(
    "body", ["a: !!bool maybe", "a: !!int ''", "a: !!timestamp soon", "a: 2001-99-99", "a: [", "a: " + "[" * 5_000]
)
def test_invalid_values_make_front_matter_broken(body: str) -> None:
    assert parse_front_matter(f"---\n{body}\n---\nText").is_broken


@pytest.mark.parametrize(
    ("source", "before"),
    [
        ("---\nseo:\n  title: For machines\ntitle: The page\n---\n", "\ntitle: "),
        ("---\nseo:\n  title: The page\ntitle: The page\n---\n", "\ntitle: "),
        ("---\ntitle: The page\nseo:\n  title: The page\n---\n", "---\ntitle: "),
        ('---\n  title: "The page"\n---\n', 'title: "'),
    ],
)
def test_a_field_is_found_at_its_own_place_and_not_in_another_field(source: str, before: str) -> None:
    at = source.index(before) + len(before)
    assert parse_front_matter(source).span("title", source) == (at, at + len("The page"))


def test_a_field_can_be_on_the_last_line_of_a_file() -> None:
    source = '{"title": "Only"}'
    assert FrontMatter({"title": "Only"}, len(source)).span("title", source) == (11, 15)
    assert FrontMatter({"title": "Else"}, len(source)).span("title", source + " Else") is None


def test_a_number_is_finite_and_not_a_flag_or_text() -> None:
    front = FrontMatter({"a": 2, "b": float("nan"), "c": float("inf"), "d": 10**400, "e": True, "f": "3"})
    assert [front.number(name) for name in "abcdefg"] == [2.0, None, None, None, None, None, None]
