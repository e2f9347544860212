"""What was seen under load, held to what must be."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.load.clients import Request

GROWTH = 0.05
EVERY = 5.0
"""The seconds from one sample of the memory to the next."""
WARM, SOME = int(60 / EVERY), 10
"""The samples of the first minute, and how many one is compared by."""


@dataclass(frozen=True)
class Observed:
    """One run: what was asked, what is in the log, what is told as lost, and megabytes of each process over time.

    Where something was killed, `owed` is what the files of killed processes say must be told as lost.
    """

    requests: Sequence[Request]
    rows: Counter[str]
    lost: int
    memory: Mapping[str, Sequence[float]] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    owed: int = 0
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that must hold, whether it does, and the figures that say so."""

    name: str
    holds: bool
    figures: str


def bars(seen: Observed) -> list[Bar]:
    """Every bar of a run; where nothing was killed nothing may be lost, and memory must be flat."""
    return [*_answers(seen), *(_after_kills(seen) if seen.killed else _undisturbed(seen))]


def _answers(seen: Observed) -> Iterator[Bar]:
    statuses = Counter(request.status for request in seen.requests if request.status is not None)
    others = {status: count for status, count in statuses.items() if status != 200}
    yield Bar(
        "every reply is an answer or a refusal (200)", bool(statuses) and not others, f"others: {others or 'none'}"
    )
    twice = [question for question, count in seen.rows.items() if count > 1]
    yield Bar("no question is logged twice", not twice, f"{len(twice)} are")
    strange = seen.rows.keys() - {request.question for request in seen.requests}
    yield Bar("nothing else is logged", not strange, f"{len(strange)} are")
    yield Bar("the service ends in good order", seen.exit_code == 0, f"exit code {seen.exit_code}")


def _undisturbed(seen: Observed) -> Iterator[Bar]:
    missing = [request for request in seen.requests if request.question not in seen.rows]
    yield Bar("every question is logged", not missing and not seen.lost, f"{len(missing)} missing, {seen.lost} lost")
    broken = sum(request.status is None for request in seen.requests)
    yield Bar("no connection breaks", broken == 0, f"{broken} did")
    for name, samples in seen.memory.items():
        grown = growth(samples)
        if grown is not None:
            figures = f"{grown:+.1%}, now {samples[-1]:.0f} MB"
            yield Bar(f"{name}: memory grows by less than {GROWTH:.0%}", grown < GROWTH, figures)


def _after_kills(seen: Observed) -> Iterator[Bar]:
    """A reply that was heard is a row or a loss; one that was cut off may be either, or may never have been noted."""
    missing = sum(request.status is not None and request.question not in seen.rows for request in seen.requests)
    cut = sum(request.status is None and request.question not in seen.rows for request in seen.requests)
    figures = f"{sum(seen.rows.values())} rows, {seen.lost} told as lost"
    yield Bar(
        "a question that was answered is logged or told as lost",
        missing <= seen.lost <= missing + cut,
        f"{figures}; {missing} answered and {cut} cut off without a row",
    )
    yield Bar("what is told as lost is what was", seen.lost == seen.owed, f"{seen.lost} told, {seen.owed} were")


def growth(samples: Sequence[float]) -> float | None:
    """How much a process has grown since its first minute; nothing where it has not lived long enough to tell."""
    later = samples[WARM:]
    if len(later) < 2 * SOME:
        return None
    return statistics.median(later[-SOME:]) / statistics.median(later[:SOME]) - 1


def figures(seen: Observed) -> dict[str, Any]:
    """The run in numbers."""
    return {
        "requests": {way: _times(seen, way) for way in ("all", *sorted({each.way for each in seen.requests}))},
        "rows": sum(seen.rows.values()),
        "lost": seen.lost,
        "owed": seen.owed,
        "killed": dict(seen.killed),
        "memory": {
            name: {"first": samples[0], "last": samples[-1], "most": max(samples), "growth": growth(samples)}
            for name, samples in seen.memory.items()
        },
    }


def _times(seen: Observed, way: str) -> dict[str, Any]:
    chosen = [request for request in seen.requests if way in ("all", request.way)]
    heard = sorted(request.milliseconds for request in chosen if request.status is not None) or [0.0]
    statuses = Counter("cut off" if request.status is None else str(request.status) for request in chosen)
    return {"count": len(chosen), "statuses": dict(statuses)} | {
        f"p{share}": heard[min(len(heard) - 1, len(heard) * share // 100)] for share in (50, 95, 99)
    }
