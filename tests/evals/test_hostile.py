"""The checks hold on the sentences they were developed with; what they are worth on others is only measured."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from evals.hostile import Case, cases, shown

NINE_IN_TEN = 0.9


@pytest.fixture(scope="module")
def example() -> list[Case]:
    return cases(["example"])


def test_the_set_has_both_parts_and_many_sentences_of_both_sorts_over_the_example_book(example: list[Case]) -> None:
    count = Counter((case.part, case.true) for case in example)
    assert count["dev", True] >= 100
    assert count["dev", False] >= 100
    assert count["test", True] >= 30
    assert count["test", False] >= 30


def test_only_what_cites_nothing_has_no_evidence(example: list[Case]) -> None:
    assert {case.kind for case in example if not case.evidence} == {"nowhere"}


def test_no_false_sentence_over_the_example_book_is_shown_and_nearly_all_true_ones_are(example: list[Case]) -> None:
    given = [case for case in example if case.part == "dev"]
    found = list(zip(given, shown(given), strict=True))
    assert [case.text for case, seen in found if seen and not case.true] == []
    true = [seen for case, seen in found if case.true]
    assert sum(true) >= NINE_IN_TEN * len(true)


def test_every_passage_of_the_real_books_is_found(shared: Path) -> None:
    assert {case.book for case in cases()} >= {"example", "hf_deep_rl_course", "ros2_docs"}
