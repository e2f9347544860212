"""The plots of the report: what became of the questions, and how long they took, day by day."""

from __future__ import annotations

from bookbound.measure.figures import Plain
from bookbound.measure.plot import Plot

HEADROOM, LEAST = 1.15, 5


def questions(days: list[Plain]) -> str:
    """How many were asked on each day, and how many of them were answered."""
    most = max((day["asked"] for day in days), default=0)
    plot = Plot("Questions by day", _across(days), "questions", _range(days), (0, max(LEAST, most * HEADROOM)))
    for at, day in _placed(days):
        told = f"{day['asked']} asked, {day['answered']} answered, {day['refused']} refused, {day['errors']} errors"
        plot.bar(at, at + 1, day["asked"], f"{day['day']}: {told}")
    plot.line([(at + 0.5, day["answered"]) for at, day in _placed(days)], look="here")
    return plot.svg()


def latency(days: list[Plain]) -> str:
    """The median and the slowest twentieth of each day that has a reply."""
    placed = [(at, day) for at, day in _placed(days) if day["p50"] is not None]
    most = max((day["p95"] for _, day in placed), default=0)
    plot = Plot("Time by day", _across(days), "milliseconds", _range(days), (0, max(LEAST, most * HEADROOM)))
    for name, look in (("p50", "line"), ("p95", "ideal")):
        plot.line([(at + 0.5, day[name]) for at, day in placed], look)
        for at, day in placed:
            plot.dot((at + 0.5, day[name]), f"{day['day']}: {name} {day[name]:.0f} ms", size=2.5)
    return plot.svg()


def _placed(days: list[Plain]) -> list[tuple[int, Plain]]:
    """Each day at its number: the last is nought."""
    return [(number - len(days) + 1, day) for number, day in enumerate(days)]


def _range(days: list[Plain]) -> tuple[float, float]:
    return (min(1 - len(days), 0), 1)


def _across(days: list[Plain]) -> str:
    return f"days, 0 is {days[-1]['day']}" if days else "days"
