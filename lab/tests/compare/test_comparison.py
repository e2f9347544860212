"""What the comparison counts, and that its report has the recorded figures; no framework is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bookbound.domain.chunk import Chunk, Place
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.quote_locations import FileSpan, QuoteSpans
from lab.compare.__main__ import Comparison, SystemFailedError, run_worker
from lab.compare.grades import GradedQuestion, best_threshold_share, compute_auc, grade, summarize
from lab.compare.growth import make_batches
from lab.compare.report_tables import replace_tables
from lab.compare.results_page import (
    build_growth_table,
    build_tables,
    extrapolate,
    fit_exponent,
    format_spread,
)
from lab.compare.system import BOOKBOUND, ENTRIES

QUESTION = EvaluationQuestion(
    1, "1", "How long does the horn sound?", True, "fact", (EvidenceQuote("a.md", "four seconds"),), ("four",)
)
PLACE = Place("a.md", "a", "Lights", "Fog", (), "", 0, 10)
EVIDENCE: list[QuoteSpans] = [(FileSpan("a.md", 100, 120),)]


def make_reply(*places: tuple[str, int, int], text: str = "For four seconds.", given: bool = True) -> dict[str, Any]:
    answer = {"text": text, "places": places[:1], "score": 0.9, "is_given": given}
    return {"passages": [(*place, 0.9) for place in places], "answer": answer}


def make_graded(score: float, *, answerable: bool, is_right: bool = False) -> GradedQuestion:
    return GradedQuestion(answerable, answerable, 0, score, is_right, True, 10)


def test_a_passage_with_half_of_the_evidence_has_the_rank() -> None:
    reply = make_reply(("b.md", 100, 120), ("a.md", 0, 109), ("a.md", 0, 110))
    assert grade(QUESTION, EVIDENCE, reply).rank == 2


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        (make_reply(("a.md", 90, 130)), True),
        (make_reply(("a.md", 0, 90)), False),
        (make_reply(("a.md", 90, 130), text="For some seconds."), False),
        (make_reply(("a.md", 90, 130), given=False), False),
    ],
)
def test_an_answer_is_right_if_it_is_given_with_evidence_and_the_required_text(
    reply: dict[str, Any], is_right: bool
) -> None:
    assert grade(QUESTION, EVIDENCE, reply).is_right is is_right


def test_a_tie_counts_half_in_the_auc() -> None:
    assert compute_auc([0.9, 0.5], [0.5, 0.1]) == 0.875
    assert compute_auc([0.9], []) is None


def test_the_best_threshold_refuses_what_scores_lower_than_the_right_answers() -> None:
    graded = [
        make_graded(0.9, answerable=True, is_right=True),
        make_graded(0.8, answerable=False),
        make_graded(0.7, answerable=True, is_right=True),
        make_graded(0.6, answerable=True, is_right=True),
        make_graded(0.2, answerable=False),
    ]
    assert best_threshold_share(graded) == 0.8
    assert summarize(graded)["right_all"] == 0.6


def test_questions_with_the_same_score_are_answered_or_refused_together() -> None:
    graded = [make_graded(0.5, answerable=True, is_right=True), make_graded(0.5, answerable=False)]
    assert best_threshold_share(graded) == 0.5


def test_a_power_is_found_by_its_exponent() -> None:
    sizes = [10, 100, 1000]
    assert fit_exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert extrapolate(sizes, [2 * size for size in sizes], 10_000) == pytest.approx(20_000)


def test_a_spread_is_shown_only_if_the_values_differ() -> None:
    assert format_spread([1.0, 3.0, 2.0]) == "2.0 (1.0 to 3.0)"
    assert format_spread([2.0, 2.0]) == "2.0"


def test_every_system_has_its_module() -> None:
    folder = Path(__file__).resolve().parents[2] / "compare" / "systems"
    assert {entry.module for entry in ENTRIES.values()} <= {file.stem for file in folder.glob("*.py")}


def test_a_step_that_ends_without_figures_says_why() -> None:
    with pytest.raises(SystemFailedError, match="no-step ended with 1: KeyError: 'no-step'"):
        run_worker("bookbound", "no-step", {})


@pytest.mark.parametrize("step", ["grade", "run_round"])
def test_a_system_that_fails_has_its_error_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    graded = make_graded(0.9, answerable=True, is_right=True)

    def run(name: str, figures: Any) -> Any:
        if name == "txtai-own":
            raise SystemFailedError("round ended with 1: no weights")
        return figures

    others = {"grade": ({"load": 1.0}, [graded]), "run_round": {"load": 1.0}}
    for each, figures in others.items():
        monkeypatch.setattr(
            Comparison,
            each,
            lambda _, name, __, step_name=each, figures=figures: run(name if step_name == step else "", figures),
        )
    systems = Comparison(tmp_path, ["example"], None).run([BOOKBOUND, "txtai-own", "langchain-same"], 2)
    assert systems["txtai-own"] == {"error": "round ended with 1: no weights"}
    assert [len(systems[name]["rounds"]) for name in (BOOKBOUND, "langchain-same")] == [2, 2]


def test_a_system_that_failed_has_a_row_that_says_so() -> None:
    results = {
        "machine": {"date": "today", "cpu": "Some CPU", "memory_gb": 1, "python": "3", "versions": {}},
        "characters_of_sample": 1,
        "books": {},
        "systems": {"txtai-own": {"error": "grade ended with 1: no weights"}},
    }
    tables = build_tables(results)
    assert tables["answers"].endswith("| txtai | all-MiniLM-L6-v2 | failed | failed | failed | failed |")
    assert "- Failed: txtai with all-MiniLM-L6-v2: grade ended with 1: no weights" in tables["machine"]


def test_a_report_without_a_place_for_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for “retrieval”"):
        replace_tables("# Results", {"retrieval": "| a |"})


def test_made_chunks_differ_in_text_and_vector_and_vectors_have_length_one() -> None:
    real = [Chunk("1", "The horn sounds.", PLACE, 0), Chunk("2", "The lamp turns.", PLACE, 1)]
    batches = list(make_batches(real, np.eye(2, 8, dtype=np.float32), 300))
    chunks, vectors = [chunk for batch, _ in batches for chunk in batch], np.concatenate([rows for _, rows in batches])
    assert len({chunk.id for chunk in chunks}) == len({chunk.text for chunk in chunks}) == len(vectors) == 300
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors[0] @ vectors[2]) < 0.999


@pytest.mark.parametrize(("load", "priority", "exponent"), [(2.0, 0, "1.00"), (9.0, 0, "–"), (9.0, -20, "1.00")])
def test_times_under_very_different_loads_have_no_exponent_without_priority(
    load: float, priority: int, exponent: str
) -> None:
    row = {"write_s": 1.0, "publish_s": 0.0, "index_cpu_s": 1.0, "disk_mb": 1.0, "index_memory_mb": 2.0}
    row |= {"memory_before_mb": 1.0, "search_memory_mb": 1.0, "open_s": 1.0, "is_published": True, "load": 2.0}
    small = {**row, "chunks": 10, "search_ms": {"p50": 1.0, "p95": 1.0}}
    large = {**small, "chunks": 100, "write_s": 10.0, "load": load}
    table = build_growth_table(
        {
            "machine": {"date": "today", "cpu": "Some CPU", "priority": priority},
            "embedding_s_per_chunk": 0.1,
            "embedded_chunks": 1,
            "real_chunks": 2,
            "sizes": [small, large],
        }
    )
    assert f"| write and publish, s | 1.0 | 10.0 | {exponent} |" in table
    assert "| embedding, s | 1.0 | 10.0 | 1.00 | 100,000 |" in table
