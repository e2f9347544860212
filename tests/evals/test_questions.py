from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from evals.questions import EXAMPLE, Quote, Sources, load


def test_the_example_set_is_large_and_of_both_kinds() -> None:
    items = load(EXAMPLE)
    count = Counter(item.answerable for item in items)
    assert count[True] >= 50
    assert count[False] >= 30
    assert len({item.id for item in items}) == len(items)


def test_every_quote_of_the_example_set_stands_in_the_book(example_book: Path) -> None:
    sources = Sources(example_book)
    for item in load(EXAMPLE):
        assert bool(item.evidence) == item.answerable
        for quote in item.evidence:
            assert quote.text in sources.text(quote.file), item.id


def test_a_quote_is_found_whatever_its_markup_and_white_space(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("First. The **trot** moves\nlegs `together`. Last.")
    start, end = Sources(tmp_path).span(Quote("a.md", "the trot moves legs together"))
    assert (tmp_path / "a.md").read_text()[start:end] == "The **trot** moves\nlegs `together"


def test_a_quote_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("First.")
    with pytest.raises(LookupError, match=r"a\.md does not hold"):
        Sources(tmp_path).span(Quote("a.md", "Second."))
