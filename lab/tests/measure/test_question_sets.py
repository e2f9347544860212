"""Question sets, the table of an evaluation, and calibration."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from bookbound.domain.chunk import Chunk
from bookbound.domain.ports import Index
from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.question_set import load_question_set
from bookbound.evaluation.quote_locations import QuoteLocator
from bookbound.evaluation.threshold_curve import build_threshold_curve
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book
from lab.measure.answers import build_column, build_table
from lab.measure.choose_operating_point import (
    MIN_REFUSED_SHARE,
    evaluate_held_out,
    find_unsure_threshold,
    update_calibration,
)
from lab.measure.lost_words import MAX_TOKENS, make_token_counter
from lab.measure.question_sets import (
    COUNTED_SETS,
    EXAMPLE,
    FITTED_SETS,
    QUESTIONS,
    list_development_sets,
    list_question_sets,
)
from tests.answering.verbatim_quotes import Sources
from tests.evaluation.outcomes import make_answered, make_refused, make_unsure

OWN_SETS = (*FITTED_SETS, *COUNTED_SETS)


class ChunksByFile:
    """The chunks of a book without an index, because quotes are found without vectors."""

    def __init__(self, book: Path) -> None:
        count_tokens = make_token_counter()
        self._chunks = {page.file: split_page(page, count_tokens, MAX_TOKENS) for page in parse_book(book).pages}

    async def chunks(self, file: str) -> list[Chunk]:
        return self._chunks.get(file, [])


def test_the_example_set_has_many_questions_of_both_kinds() -> None:
    count = Counter(item.answerable for item in load_question_set(EXAMPLE))
    assert count[True] >= 50
    assert count[False] >= 30


def test_every_quote_of_the_example_set_is_in_the_book(example_book: Path) -> None:
    sources = Sources(example_book)
    for item in load_question_set(EXAMPLE):
        assert bool(item.evidence) == item.answerable
        for quote in item.evidence:
            assert quote.text in sources.read(quote.file), item.id


def test_every_set_of_the_real_books_can_be_read(shared: Path) -> None:
    question_sets = list_question_sets()
    assert [each.name for each in question_sets][:1] == ["example"]
    assert len(question_sets) > 1
    assert all(load_question_set(each.questions) and each.source.is_dir() for each in question_sets)


def test_sets_on_which_constants_are_fitted_are_not_counted() -> None:
    assert not set(FITTED_SETS) & set(COUNTED_SETS)
    assert sorted(file.stem for file in QUESTIONS.glob("*.jsonl")) == sorted(OWN_SETS)


def test_the_operating_point_is_chosen_on_no_set_of_our_own(shared: Path) -> None:
    assert not {each.name for each in list_development_sets()} & set(OWN_SETS)
    roles = {each.name: each.role for each in list_question_sets()}
    assert [roles[name] for name in OWN_SETS] == ["fitted"] * len(FITTED_SETS) + ["counted"] * len(COUNTED_SETS)


@pytest.mark.parametrize("name", OWN_SETS)
def test_about_a_third_of_each_set_is_unanswerable(name: str) -> None:
    items = load_question_set(QUESTIONS / f"{name}.jsonl")
    assert len(items) >= 60
    assert 0.3 <= sum(not item.answerable for item in items) / len(items) <= 0.4


@pytest.mark.parametrize("name", OWN_SETS)
def test_every_question_of_a_set_has_an_id_of_its_own_and_names_its_book(name: str) -> None:
    rows = [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len({row["question"].casefold() for row in rows}) == len(rows)
    assert {(row["book"], row["id"].rpartition("-")[0]) for row in rows} == {(name, name)}


def test_no_id_occurs_twice_in_all_sets() -> None:
    files = {EXAMPLE, *QUESTIONS.glob("*.jsonl"), *(each.questions for each in list_question_sets())}
    ids = Counter(item.id for file in files for item in load_question_set(file))
    assert [name for name, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("name", OWN_SETS)
def test_only_answerable_questions_have_evidence_and_it_has_the_wanted_words(name: str) -> None:
    for item in load_question_set(QUESTIONS / f"{name}.jsonl"):
        words = " ".join(" ".join(quote.text for quote in item.evidence).split()).casefold()
        assert bool(item.evidence) == bool(item.must_contain) == item.answerable, item.id
        assert [wanted for wanted in item.must_contain if wanted.casefold() not in words] == [], item.id
        assert item.answer if item.answerable else item.why, item.id


@pytest.mark.parametrize("name", OWN_SETS)
def test_every_quote_of_a_set_is_found_in_its_book(name: str, shared: Path) -> None:
    locator = QuoteLocator(cast(Index, ChunksByFile(shared / "data" / "books" / name)))
    for item in load_question_set(QUESTIONS / f"{name}.jsonl"):
        spans = asyncio.run(locator.locate(item))
        assert len(spans) == len(item.evidence)
        assert all(spans), item.id


def test_the_table_has_a_column_for_each_set_and_a_row_for_each_kind_of_question() -> None:
    extra = {"verbatim_in_source": "1 of 1"}
    metrics = compute_metrics([make_answered(0.9), make_unsure(0.4), make_refused(0.1, kind="off_topic")]) | extra
    other = compute_metrics([make_answered(0.9)]) | extra
    assert build_column(metrics)["not answered: off_topic"] == "1 of 1"
    assert build_column(metrics)["answerable: unsure"] == "0.500"
    assert len(build_table({"one": metrics, "two": other}).columns) == 3


def test_a_held_out_book_gets_the_threshold_of_the_others() -> None:
    others = [make_answered(0.8), make_answered(0.6), make_answered(0.4, right=False)]
    own = [make_answered(0.7), make_answered(0.5), make_answered(0.3, right=False)]
    rows = evaluate_held_out({"own": own, "others": others}, 0.9)
    assert rows["own"]["answered"] == 0.41
    assert rows["own"]["coverage"] == 0.6667
    assert rows["own"]["precision"] == 1.0


def test_a_held_out_book_has_no_row_if_the_others_never_reach_the_precision() -> None:
    wrong = [make_answered(0.8, right=False)]
    assert evaluate_held_out({"own": [make_answered(0.7)], "others": wrong}, 0.9)["own"] is None


def test_the_unsure_threshold_refuses_four_fifths_of_unanswerable_questions() -> None:
    rows = build_threshold_curve([make_answered(0.1), *(make_refused(n / 10) for n in range(10))])
    row = find_unsure_threshold(rows)
    assert (row.threshold, row.refused_all, row.coverage) == (0.71, MIN_REFUSED_SHARE, 0.0)


def test_the_stored_calibration_has_its_precision_and_curve() -> None:
    point = {"answered": 0.5, "relevant": 0.1, "unsure": 0.3}
    before = {"weights": [1], "point": point, "wanted": 0.9, "curve": [], "held_out": {}}
    rows = build_threshold_curve(
        [make_answered(0.8), make_answered(0.6), make_answered(0.4, right=False), make_refused(0.2)]
    )
    after = update_calibration(before, rows, rows[41], 0.6, {"example": None})
    assert after == {
        "weights": [1],
        "point": {"answered": 0.41, "relevant": 0.1, "unsure": 0.21},
        "wanted": 0.6,
        "held_out": {"example": None},
        "curve": [row.to_json() for row in rows],
    }
