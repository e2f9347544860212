"""The load test finds what is wrong, and comes to its end with everything that it starts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from evals.load import chaos
from evals.load.__main__ import Plan, run, tell
from evals.load.clients import WAYS, Request
from evals.load.verdict import SOME, WARM, Observed, bars, figures, growth
from rich.console import Console

BOOK = "# Lighthouse\n\n## The fog horn\n\nIn fog the horn sounds for four seconds in every minute.\n"
FLAT = [100.0] * (WARM + 2 * SOME)
GOOD = Observed(
    requests=[Request(f"question {number}", WAYS[number % len(WAYS)], 200, 10.0 + number) for number in range(100)],
    rows=Counter({f"question {number}": 1 for number in range(100)}),
    lost=0,
    memory={"worker 1": FLAT},
)
CUT = Request("cut off", "/ask", None, 5.0)
KILLED = replace(GOOD, killed=Counter(worker=1), requests=[*GOOD.requests, CUT])


def without(seen: Observed, *questions: str) -> Counter[str]:
    """The rows of a run but for some."""
    return Counter({question: count for question, count in seen.rows.items() if question not in questions})


def missed(seen: Observed) -> list[str]:
    return [bar.name for bar in bars(seen) if not bar.holds]


@pytest.mark.parametrize(
    "seen",
    [
        GOOD,
        KILLED,
        replace(KILLED, rows=GOOD.rows + Counter({"cut off": 1})),
        replace(KILLED, lost=1, owed=1),
        replace(KILLED, rows=without(GOOD, "question 7"), lost=1, owed=1),
        replace(KILLED, rows=without(GOOD, "question 7"), lost=2, owed=2),
    ],
)
def test_where_all_is_well_every_bar_holds(seen: Observed) -> None:
    assert missed(seen) == []


@pytest.mark.parametrize(
    ("seen", "bar"),
    [
        (replace(GOOD, requests=[*GOOD.requests[1:], replace(GOOD.requests[0], status=503)]), "every reply"),
        (replace(GOOD, requests=[*GOOD.requests[1:], replace(GOOD.requests[0], status=500)]), "every reply"),
        (replace(GOOD, requests=[], rows=Counter()), "every reply"),
        (replace(GOOD, rows=without(GOOD, "question 7")), "every question is logged"),
        (replace(GOOD, rows=GOOD.rows + Counter({"question 7": 1})), "logged twice"),
        (replace(GOOD, rows=GOOD.rows + Counter({"nobody asked": 1})), "nothing else"),
        (replace(GOOD, lost=1), "every question is logged"),
        (replace(GOOD, requests=[*GOOD.requests, CUT], rows=GOOD.rows + Counter({"cut off": 1})), "connection breaks"),
        (replace(GOOD, memory={"worker 1": [100.0 + number for number in range(len(FLAT))]}), "memory grows"),
        (replace(GOOD, exit_code=1), "good order"),
        (replace(KILLED, requests=[*GOOD.requests[1:], CUT, replace(GOOD.requests[0], status=503)]), "every reply"),
        (replace(KILLED, rows=without(GOOD, "question 7")), "logged or told as lost"),
        (replace(KILLED, lost=2, owed=2), "logged or told as lost"),
        (replace(KILLED, lost=1, owed=0), "what is told as lost is what was"),
        (replace(KILLED, lost=0, owed=1), "what is told as lost is what was"),
        (replace(KILLED, rows=GOOD.rows + Counter({"question 7": 1})), "logged twice"),
    ],
)
def test_what_is_wrong_is_found_by_its_bar_alone(seen: Observed, bar: str) -> None:
    (name,) = missed(seen)
    assert bar in name


def test_memory_is_judged_by_its_middle_after_the_first_minute_and_only_where_it_is_long_enough() -> None:
    assert growth([1.0] * WARM + [100.0] * SOME + [104.0] * SOME) == pytest.approx(0.04)
    assert growth([1.0] * WARM + [100.0] * SOME + [900.0] * 4 + [101.0] * 6) == pytest.approx(0.01)
    assert growth(FLAT[1:]) is None


def test_the_figures_tell_each_way_by_status_and_time() -> None:
    told = figures(KILLED)["requests"]
    assert set(told) == {"all", *WAYS}
    assert told["all"] == {
        "count": 101,
        "statuses": {"200": 100, "cut off": 1},
        "p50": 60.0,
        "p95": 105.0,
        "p99": 109.0,
    }


def test_a_short_run_with_kills_comes_to_its_end_and_to_exact_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chaos, "PAUSE", (0.3, 0.6))
    monkeypatch.setattr(chaos, "AWAY", (0.1, 0.3))
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    plan = Plan(minutes=0.05, clients=4, workers=2, chaos=True, book=tmp_path / "book", out=tmp_path)
    words = StringIO()
    seen = run(plan, ["For how many seconds does the horn sound?"], Console(file=words, width=110))
    assert tell(plan, seen, Console(file=words, width=110)), words.getvalue()
    assert seen.killed["worker"]
    assert sum(seen.rows.values()) > 0
    kept = json.loads((tmp_path / "chaos.json").read_text())
    assert (kept["rows"], kept["lost"]) == (sum(seen.rows.values()), seen.lost)
    assert "holds   what is told as lost is what was" in words.getvalue()
