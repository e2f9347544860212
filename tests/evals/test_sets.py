from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.__main__ import cells, table
from evals.calibrate import REFUSED, held_out, refusing, updated
from evals.sets import EXAMPLE, sets
from evals.sources import Sources
from tests.evaluation.outcomes import answered, refused

from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.question_set import load_question_set
from bookbound.evaluation.threshold_curve import build_threshold_curve


def test_the_example_set_is_large_and_of_both_kinds() -> None:
    count = Counter(item.answerable for item in load_question_set(EXAMPLE))
    assert count[True] >= 50
    assert count[False] >= 30


def test_every_quote_of_the_example_set_stands_in_the_book(example_book: Path) -> None:
    sources = Sources(example_book)
    for item in load_question_set(EXAMPLE):
        assert bool(item.evidence) == item.answerable
        for quote in item.evidence:
            assert quote.text in sources.text(quote.file), item.id


def test_every_set_of_the_real_books_can_be_read(shared: Path) -> None:
    found = sets()
    assert [each.name for each in found][:1] == ["example"]
    assert len(found) > 1
    assert all(load_question_set(each.questions) and each.source.is_dir() for each in found)


def test_the_table_has_a_column_for_each_set_and_a_row_for_each_kind_of_question() -> None:
    told = {"verbatim_in_source": "1 of 1", "operating_point": {"answered": 0.8, "drafted": 0.3}}
    measured = compute_metrics([answered(0.9), answered(0.4, right=False), refused(0.1, kind="off_topic")]) | told
    other = compute_metrics([answered(0.9)]) | told
    assert cells(measured)["refused: off_topic"] == "1 of 1"
    assert cells(measured)["with those offered: correct of the answers"] == "0.500"
    assert len(table({"one": measured, "two": other}).columns) == 3


def test_a_book_is_held_against_the_point_chosen_on_the_others() -> None:
    others = [answered(0.8), answered(0.6), answered(0.4, right=False)]
    own = [answered(0.7), answered(0.5), answered(0.3, right=False)]
    rows = held_out({"own": own, "others": others}, 0.9)
    assert rows["own"]["answered"] == 0.41
    assert rows["own"]["coverage"] == 0.6667
    assert rows["own"]["precision"] == 1.0


def test_where_the_others_reach_the_precision_nowhere_a_book_has_no_row() -> None:
    wrong = [answered(0.8, right=False)]
    assert held_out({"own": [answered(0.7)], "others": wrong}, 0.9)["own"] is None


def test_a_language_model_is_asked_from_the_lowest_threshold_on_that_refuses_nine_tenths_without_an_answer() -> None:
    rows = build_threshold_curve([answered(0.1), *(refused(n / 10) for n in range(10))])
    row = refusing(rows)
    assert (row.answered, row.refused_all, row.coverage) == (0.81, REFUSED, 0.0)


def test_what_is_kept_says_for_which_precision_its_point_was_chosen() -> None:
    point = {"answered": 0.5, "relevant": 0.1, "drafted": 0.3}
    before = {"weights": [1], "point": point, "wanted": 0.9, "curve": [], "held_out": {}}
    rows = build_threshold_curve([answered(0.8), answered(0.6), answered(0.4, right=False), refused(0.2)])
    after = updated(before, rows, rows[41], 0.6, {"example": None})
    assert after == {
        "weights": [1],
        "point": {"answered": 0.41, "relevant": 0.1, "drafted": 0.21},
        "wanted": 0.6,
        "held_out": {"example": None},
        "curve": [row.plain() for row in rows],
    }
