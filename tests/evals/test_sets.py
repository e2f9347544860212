"""Question sets, the table of an evaluation, and calibration."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.__main__ import build_column, build_table
from evals.calibrate import MIN_REFUSED_SHARE, evaluate_held_out, find_draft_threshold, update_calibration
from evals.sets import EXAMPLE, list_question_sets
from evals.sources import Sources
from tests.evaluation.outcomes import make_answered, make_refused

from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.question_set import load_question_set
from bookbound.evaluation.threshold_curve import build_threshold_curve


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


def test_the_table_has_a_column_for_each_set_and_a_row_for_each_kind_of_question() -> None:
    extra = {"verbatim_in_source": "1 of 1", "operating_point": {"answered": 0.8, "drafted": 0.3}}
    metrics = (
        compute_metrics([make_answered(0.9), make_answered(0.4, right=False), make_refused(0.1, kind="off_topic")])
        | extra
    )
    other = compute_metrics([make_answered(0.9)]) | extra
    assert build_column(metrics)["refused: off_topic"] == "1 of 1"
    assert build_column(metrics)["with unsure answers: correct of the answers"] == "0.500"
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


def test_the_draft_threshold_refuses_nine_tenths_of_unanswerable_questions() -> None:
    rows = build_threshold_curve([make_answered(0.1), *(make_refused(n / 10) for n in range(10))])
    row = find_draft_threshold(rows)
    assert (row.threshold, row.refused_all, row.coverage) == (0.81, MIN_REFUSED_SHARE, 0.0)


def test_the_stored_calibration_has_its_precision_and_curve() -> None:
    point = {"answered": 0.5, "relevant": 0.1, "drafted": 0.3}
    before = {"weights": [1], "point": point, "wanted": 0.9, "curve": [], "held_out": {}}
    rows = build_threshold_curve(
        [make_answered(0.8), make_answered(0.6), make_answered(0.4, right=False), make_refused(0.2)]
    )
    after = update_calibration(before, rows, rows[41], 0.6, {"example": None})
    assert after == {
        "weights": [1],
        "point": {"answered": 0.41, "relevant": 0.1, "drafted": 0.21},
        "wanted": 0.6,
        "held_out": {"example": None},
        "curve": [row.to_json() for row in rows],
    }
