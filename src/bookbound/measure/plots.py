"""The three plots of a report: risk against coverage, promise against outcome, and time."""

from __future__ import annotations

from bookbound.measure.figures import Plain
from bookbound.measure.plot import Plot, step

SLICES = 24


def risk_coverage(measured: Plain, answered: float) -> str:
    """The share of wrong answers at each coverage, with the operating point in force."""
    rows = [row for row in measured["curve"] if row["precision"] is not None and row["coverage"] is not None]
    plot = Plot("Risk against coverage", "answerable questions answered", "wrong of the answers given")
    points = [(row["coverage"], 1 - row["precision"]) for row in rows]
    plot.line(points)
    for row, point in zip(rows, points, strict=True):
        says = f"from {row['answered']:.2f} on: {point[0]:.0%} answered, {point[1]:.0%} of the answers wrong"
        plot.dot(point, says, size=2.0)
    held = [(row, point) for row, point in zip(rows, points, strict=True) if row["answered"] <= answered]
    if held:
        plot.dot(held[-1][1], f"the operating point, {answered:.2f}", size=6.0, look="here")
    return plot.svg()


def reliability(measured: Plain) -> str:
    """What was promised against what was kept, in tenths; on the diagonal they are the same."""
    plot = Plot("Reliability", "probability given", "answers that are right")
    plot.line([(0.0, 0.0), (1.0, 1.0)], look="ideal")
    bins = measured["calibration"]["bins"]
    plot.line([(each["probability"], each["correct"]) for each in bins])
    most = max((each["answers"] for each in bins), default=1)
    for each in bins:
        says = f"{each['answers']} answers: promised {each['probability']:.2f}, right {each['correct']:.2f}"
        plot.dot((each["probability"], each["correct"]), says, size=3 + 5 * (each["answers"] / most) ** 0.5)
    return plot.svg()


def latency(measured: Plain) -> str:
    """How many questions took how long, with the median and the slowest twentieth."""
    taken = [row["milliseconds"] for row in measured["rows"]]
    wide = step(max(taken, default=1.0), SLICES)
    counts: dict[int, int] = {}
    for milliseconds in taken:
        counts[int(milliseconds / wide)] = counts.get(int(milliseconds / wide), 0) + 1
    slices, most = max(counts, default=0) + 1, max(counts.values(), default=1)
    plot = Plot("Time for a question", "milliseconds", "questions", (0, slices * wide), (0, max(5, most * 1.15)))
    for at, count in sorted(counts.items()):
        plot.bar(at * wide, (at + 1) * wide, count, f"{count} from {at * wide:g} to {(at + 1) * wide:g} ms")
    for name, value in measured["latency_ms"]["all"].items():
        if value is not None:
            plot.upright(value, name)
    return plot.svg()
