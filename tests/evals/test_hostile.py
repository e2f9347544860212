"""What comes out where a hostile model writes: held on the sentences that the checks were developed with, and on others
held to what was measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from evals.hostile import Case, cases, shown

NINE_IN_TEN = 0.9
MEASURED = 9
"""How many false sentences of the part `test` over the example book come out; it may only become less."""


@pytest.fixture(scope="module")
def example() -> list[Case]:
    return cases(["example"])


@pytest.fixture(scope="module")
def seen(example: list[Case]) -> dict[Case, bool]:
    """Whether each sentence comes out where a model says it among others."""
    return dict(zip(example, shown(example), strict=True))


def test_the_set_has_both_parts_and_many_sentences_of_both_sorts_over_the_example_book(example: list[Case]) -> None:
    count = Counter((case.part, case.true) for case in example)
    assert count["dev", True] >= 100
    assert count["dev", False] >= 100
    assert count["test", True] >= 30
    assert count["test", False] >= 30


def test_only_what_cites_nothing_has_no_evidence(example: list[Case]) -> None:
    assert {case.kind for case in example if not case.evidence} == {"nowhere"}


def test_no_false_sentence_that_a_model_says_comes_out_and_nearly_all_true_ones_do(seen: dict[Case, bool]) -> None:
    assert [case.text for case, out in seen.items() if out and case.part == "dev" and not case.true] == []
    true = [out for case, out in seen.items() if case.part == "dev" and case.true]
    assert sum(true) >= NINE_IN_TEN * len(true)


def test_of_false_sentences_written_afterwards_no_more_come_out_than_were_measured(seen: dict[Case, bool]) -> None:
    assert sum(out for case, out in seen.items() if case.part == "test" and not case.true) <= MEASURED


def test_what_a_model_says_of_no_passage_does_not_come_out_even_where_it_is_true(seen: dict[Case, bool]) -> None:
    told = [case for case, out in seen.items() if out][:2]
    assert shown([told[0], replace(told[1], passages=())]) == [True, False]


def test_every_passage_of_the_real_books_is_found(shared: Path) -> None:
    assert {case.book for case in cases()} >= {"example", "hf_deep_rl_course", "ros2_docs"}
