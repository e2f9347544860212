"""The load test finds what is wrong and stops everything that it starts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from lab.measure.load import random_kills
from lab.measure.load.__main__ import LoadTestOptions, report, run
from lab.measure.load.clients import PATHS, Request
from lab.measure.load.requirements import (
    COMPARED_SAMPLES,
    WARMUP_SAMPLES,
    Observation,
    build_figures,
    check_requirements,
    compute_growth,
)

BOOK = "# Lighthouse\n\n## The fog horn\n\nIn fog the horn sounds for four seconds in every minute.\n"
FLAT_MEMORY = [100.0] * (WARMUP_SAMPLES + 2 * COMPARED_SAMPLES)
GOOD = Observation(
    requests=[Request(f"question {number}", PATHS[number % len(PATHS)], 200, 10.0 + number) for number in range(100)],
    rows=Counter({f"question {number}": 1 for number in range(100)}),
    lost=0,
    memory={"worker 1": FLAT_MEMORY},
)
BROKEN = Request("cut off", "/ask", None, 5.0)
AFTER_KILL = replace(GOOD, killed=Counter(worker=1), requests=[*GOOD.requests, BROKEN])
AFTER_CRASH = replace(AFTER_KILL, killed=Counter(postgres=1))
WITHOUT_ONE_ROW = Counter({question: 1 for question in GOOD.rows if question != "question 7"})


def find_violations(seen: Observation) -> list[str]:
    return [requirement.name for requirement in check_requirements(seen) if not requirement.holds]


@pytest.mark.parametrize(
    "seen",
    [
        GOOD,
        AFTER_KILL,
        replace(AFTER_KILL, rows=GOOD.rows + Counter({"cut off": 1})),
        replace(AFTER_KILL, rows=WITHOUT_ONE_ROW),
        replace(AFTER_KILL, rows=WITHOUT_ONE_ROW, lost=2),
        replace(AFTER_CRASH, lost=1),
        replace(AFTER_CRASH, rows=WITHOUT_ONE_ROW, lost=1),
    ],
)
def test_a_good_run_meets_every_requirement(seen: Observation) -> None:
    assert find_violations(seen) == []


@pytest.mark.parametrize(
    ("seen", "requirement"),
    [
        (replace(GOOD, requests=[*GOOD.requests[1:], replace(GOOD.requests[0], status=503)]), "every reply"),
        (replace(GOOD, requests=[*GOOD.requests[1:], replace(GOOD.requests[0], status=500)]), "every reply"),
        (replace(GOOD, requests=[], rows=Counter()), "every reply"),
        (replace(GOOD, rows=WITHOUT_ONE_ROW), "every question is logged"),
        (replace(GOOD, rows=GOOD.rows + Counter({"question 7": 1})), "logged twice"),
        (replace(GOOD, rows=GOOD.rows + Counter({"nobody asked": 1})), "nothing else"),
        (replace(GOOD, lost=1), "every question is logged"),
        (
            replace(GOOD, requests=[*GOOD.requests, BROKEN], rows=GOOD.rows + Counter({"cut off": 1})),
            "connection breaks",
        ),
        (replace(GOOD, memory={"worker 1": [100.0 + number for number in range(len(FLAT_MEMORY))]}), "memory grows"),
        (replace(GOOD, exit_code=1), "exits cleanly"),
        (replace(AFTER_KILL, requests=[*GOOD.requests[1:], BROKEN, replace(GOOD.requests[0], status=503)]), "every re"),
        (replace(AFTER_CRASH, rows=WITHOUT_ONE_ROW), "logged or reported as lost"),
        (replace(AFTER_KILL, lost=2), "every reported loss is a loss"),
        (replace(AFTER_KILL, rows=GOOD.rows + Counter({"question 7": 1})), "logged twice"),
    ],
)
def test_a_fault_violates_exactly_its_requirement(seen: Observation, requirement: str) -> None:
    (name,) = find_violations(seen)
    assert requirement in name


def test_memory_growth_compares_medians_after_the_first_minute() -> None:
    warmup, early = [1.0] * WARMUP_SAMPLES, [100.0] * COMPARED_SAMPLES
    assert compute_growth(warmup + early + [104.0] * COMPARED_SAMPLES) == pytest.approx(0.04)
    assert compute_growth(warmup + early + [900.0] * 4 + [101.0] * 6) == pytest.approx(0.01)
    assert compute_growth(FLAT_MEMORY[1:]) is None


def test_the_figures_list_status_and_time_of_each_path() -> None:
    figures = build_figures(AFTER_KILL)["requests"]
    assert set(figures) == {"all", *PATHS}
    assert figures["all"] == {
        "count": 101,
        "statuses": {"200": 100, "cut off": 1},
        "p50": 60.0,
        "p95": 105.0,
        "p99": 109.0,
    }


@pytest.mark.slow
def test_a_short_run_with_kills_meets_every_requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_kills, "PAUSE_SECONDS", (0.3, 0.6))
    monkeypatch.setattr(random_kills, "DOWNTIME_SECONDS", (0.1, 0.3))
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    options = LoadTestOptions(minutes=0.05, clients=4, workers=2, chaos=True, book=tmp_path / "book", out=tmp_path)
    output = StringIO()
    observed = run(options, ["For how many seconds does the horn sound?"], Console(file=output, width=110))
    assert report(options, observed, Console(file=output, width=110)), output.getvalue()
    assert observed.killed["worker"]
    assert sum(observed.rows.values()) > 0
    stored = json.loads((tmp_path / "chaos.json").read_text())
    assert (stored["rows"], stored["lost"]) == (sum(observed.rows.values()), observed.lost)
    assert "holds   every reported loss is a loss" in output.getvalue()
