"""Checks whether a load test met its requirements, and summarizes it in numbers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.measure.load.clients import Request

MAX_GROWTH = 0.05
SAMPLE_SECONDS = 5.0
WARMUP_SAMPLES, COMPARED_SAMPLES = int(60 / SAMPLE_SECONDS), 10


@dataclass(frozen=True)
class Observation:
    """One run: the requests, the rows and losses of the query log, and the memory of each process in MB over time."""

    requests: Sequence[Request]
    rows: Counter[str]
    lost: int
    memory: Mapping[str, Sequence[float]] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that must hold, whether it does, and the numbers that show it."""

    name: str
    holds: bool
    figures: str


def check_requirements(observed: Observation) -> list[Requirement]:
    """Every requirement of a run; without kills nothing may be lost and memory must not grow."""
    return [
        *_check_replies(observed),
        *(_check_after_kills(observed) if observed.killed else _check_without_kills(observed)),
    ]


def _check_replies(observed: Observation) -> Iterator[Requirement]:
    statuses = Counter(request.status for request in observed.requests if request.status is not None)
    others = {status: count for status, count in statuses.items() if status != 200}
    yield Requirement(
        "every reply is an answer or a refusal (200)", bool(statuses) and not others, f"others: {others or 'none'}"
    )
    repeated = [question for question, count in observed.rows.items() if count > 1]
    yield Requirement("no question is logged twice", not repeated, f"{len(repeated)} are")
    unknown = observed.rows.keys() - {request.question for request in observed.requests}
    yield Requirement("nothing else is logged", not unknown, f"{len(unknown)} rows are something else")
    yield Requirement("the service exits cleanly", observed.exit_code == 0, f"exit code {observed.exit_code}")


def _check_without_kills(observed: Observation) -> Iterator[Requirement]:
    missing = [request for request in observed.requests if request.question not in observed.rows]
    figures = f"{len(missing)} missing, {observed.lost} lost"
    yield Requirement("every question is logged", not missing and not observed.lost, figures)
    broken = sum(request.status is None for request in observed.requests)
    yield Requirement("no connection breaks", broken == 0, f"{broken} did")
    for name, samples in observed.memory.items():
        growth = compute_growth(samples)
        if growth is not None:
            figures = f"{growth:+.1%}, now {samples[-1]:.0f} MB"
            yield Requirement(f"{name}: memory grows by less than {MAX_GROWTH:.0%}", growth < MAX_GROWTH, figures)


def _check_after_kills(observed: Observation) -> Iterator[Requirement]:
    """Only a killed worker may lose entries without counting them."""
    missing = sum(request.status is not None and request.question not in observed.rows for request in observed.requests)
    broken = sum(request.status is None and request.question not in observed.rows for request in observed.requests)
    figures = (
        f"{sum(observed.rows.values())} rows, {observed.lost} reported as lost; "
        f"{missing} answered and {broken} disconnected without a row"
    )
    yield Requirement("every reported loss is a loss", observed.lost <= missing + broken, figures)
    if not observed.killed["worker"]:
        yield Requirement("an answered question is logged or reported as lost", missing <= observed.lost, figures)


def compute_growth(samples: Sequence[float]) -> float | None:
    """How much a process has grown since its first minute; None if it has not lived long enough."""
    later = samples[WARMUP_SAMPLES:]
    if len(later) < 2 * COMPARED_SAMPLES:
        return None
    return statistics.median(later[-COMPARED_SAMPLES:]) / statistics.median(later[:COMPARED_SAMPLES]) - 1


def build_figures(observed: Observation) -> dict[str, Any]:
    """The run as numbers."""
    paths = ("all", *sorted({request.path for request in observed.requests}))
    return {
        "requests": {path: _summarize_requests(observed, path) for path in paths},
        "rows": sum(observed.rows.values()),
        "lost": observed.lost,
        "killed": dict(observed.killed),
        "memory": {
            name: {"first": samples[0], "last": samples[-1], "most": max(samples), "growth": compute_growth(samples)}
            for name, samples in observed.memory.items()
        },
    }


def _summarize_requests(observed: Observation, path: str) -> dict[str, Any]:
    requests = [request for request in observed.requests if path in ("all", request.path)]
    times = sorted(request.milliseconds for request in requests if request.status is not None) or [0.0]
    statuses = Counter("cut off" if request.status is None else str(request.status) for request in requests)
    return {"count": len(requests), "statuses": dict(statuses)} | {
        f"p{share}": times[min(len(times) - 1, len(times) * share // 100)] for share in (50, 95, 99)
    }
