"""Draws the plots of a report as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from bookbound.evaluation.runner import MetricsDict

PLOT_WIDTH, PLOT_HEIGHT = 420, 280
LEFT_MARGIN, RIGHT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 52, 14, 14, 44
MAX_TICKS = 5
PlotPoint = tuple[float, float]
AxisRange = tuple[float, float]


class SvgPlot:
    """Two axes and what is drawn between them; `title` is for readers who hear the page."""

    def __init__(self, title: str, across: str, up: str, x: AxisRange = (0.0, 1.0), y: AxisRange = (0.0, 1.0)) -> None:
        self._title, self._x, self._y = title, x, y
        self._drawn = [*self._axes(across, up)]

    def line(self, points: Sequence[PlotPoint], look: str = "line") -> None:
        """Points joined in their order."""
        if points:
            path = " ".join(f"{self._across(x):.1f},{self._up(y):.1f}" for x, y in points)
            self._drawn.append(f'<polyline class="{look}" points="{path}"/>')

    def dot(self, point: PlotPoint, says: str, size: float = 4.0, look: str = "dot") -> None:
        """A point with words that show where a pointer rests on it."""
        x, y = self._across(point[0]), self._up(point[1])
        words = f"<title>{escape(says)}</title>"
        self._drawn.append(f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}">{words}</circle>')

    def bar(self, start: float, end: float, height: float, says: str) -> None:
        """A bar on the lower axis."""
        x, top = self._across(start), self._up(height)
        width = max(0.5, self._across(end) - x - 1)
        self._drawn.append(
            f'<rect class="bar" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{PLOT_HEIGHT - BOTTOM_MARGIN - top:.1f}"><title>{escape(says)}</title></rect>'
        )

    def upright(self, x: float, says: str) -> None:
        """A line across the whole height, with words at its top."""
        at = self._across(x)
        end = ' text-anchor="end"' if at > PLOT_WIDTH / 2 else ""
        shift = -4 if end else 4
        self._drawn.append(
            f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP_MARGIN}" y2="{PLOT_HEIGHT - BOTTOM_MARGIN}"/>'
        )
        self._drawn.append(f'<text x="{at + shift:.1f}" y="{TOP_MARGIN + 10}"{end}>{escape(says)}</text>')

    def svg(self) -> str:
        """The picture."""
        name = escape(self._title, quote=True)
        return (
            f'<svg viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" role="img" aria-label="{name}">{"".join(self._drawn)}</svg>'
        )

    def _axes(self, across: str, up: str) -> list[str]:
        right, foot = PLOT_WIDTH - RIGHT_MARGIN, PLOT_HEIGHT - BOTTOM_MARGIN
        drawn = []
        for x in compute_ticks(self._x):
            at = self._across(x)
            drawn.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP_MARGIN}" y2="{foot}"/>')
            drawn.append(f'<text x="{at:.1f}" y="{foot + 16}" text-anchor="middle">{x:g}</text>')
        for y in compute_ticks(self._y):
            at = self._up(y)
            drawn.append(f'<line class="grid" x1="{LEFT_MARGIN}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
            drawn.append(f'<text x="{LEFT_MARGIN - 6}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
        middle, height = (LEFT_MARGIN + right) / 2, (TOP_MARGIN + foot) / 2
        drawn.append(f'<text x="{middle:.0f}" y="{PLOT_HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
        drawn.append(
            f'<text x="14" y="{height:.0f}" text-anchor="middle" transform="rotate(-90 14 {height:.0f})">'
            f"{escape(up)}</text>"
        )
        return drawn

    def _across(self, x: float) -> float:
        low, high = self._x
        return LEFT_MARGIN + (min(max(x, low), high) - low) / (high - low) * (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN)

    def _up(self, y: float) -> float:
        low, high = self._y
        return (
            PLOT_HEIGHT
            - BOTTOM_MARGIN
            - (min(max(y, low), high) - low) / (high - low) * (PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN)
        )


def choose_tick_step(span: float, most: int = MAX_TICKS) -> float:
    """A round distance (1, 2 or 5 and noughts) that goes into `span` about `most` times at the most."""
    least = span / most
    power: float = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def compute_ticks(over: AxisRange) -> list[float]:
    """Round numbers from one end of a range to the other."""
    low, high = over
    by = choose_tick_step(high - low)
    return [round(i * by, 10) for i in range(ceil(low / by - 1e-9), floor(high / by + 1e-9) + 1)]


MAX_HISTOGRAM_BARS = 24


def plot_risk_coverage(measured: MetricsDict, answered: float) -> str:
    """The share of wrong answers at each coverage, with the operating point in force."""
    rows = [row for row in measured["curve"] if row["precision"] is not None and row["coverage"] is not None]
    plot = SvgPlot("Risk against coverage", "answerable questions answered", "wrong of the answers given")
    points = [(row["coverage"], 1 - row["precision"]) for row in rows]
    plot.line(points)
    for row, point in zip(rows, points, strict=True):
        says = f"from {row['answered']:.2f} on: {point[0]:.0%} answered, {point[1]:.0%} of the answers wrong"
        plot.dot(point, says, size=2.0)
    held = [(row, point) for row, point in zip(rows, points, strict=True) if row["answered"] <= answered]
    if held:
        plot.dot(held[-1][1], f"the operating point, {answered:.2f}", size=6.0, look="here")
    return plot.svg()


def plot_reliability(measured: MetricsDict) -> str:
    """What was promised against what was kept, in tenths; on the diagonal they are the same."""
    plot = SvgPlot("Reliability", "probability given", "answers that are right")
    plot.line([(0.0, 0.0), (1.0, 1.0)], look="ideal")
    bins = measured["calibration"]["bins"]
    plot.line([(each["probability"], each["correct"]) for each in bins])
    most = max((each["answers"] for each in bins), default=1)
    for each in bins:
        says = f"{each['answers']} answers: promised {each['probability']:.2f}, right {each['correct']:.2f}"
        plot.dot((each["probability"], each["correct"]), says, size=3 + 5 * (each["answers"] / most) ** 0.5)
    return plot.svg()


def plot_latency(measured: MetricsDict) -> str:
    """How many questions took how long, with the median and the slowest twentieth."""
    taken = [row["milliseconds"] for row in measured["rows"]]
    wide = choose_tick_step(max(taken, default=1.0), MAX_HISTOGRAM_BARS)
    counts: dict[int, int] = {}
    for milliseconds in taken:
        counts[int(milliseconds / wide)] = counts.get(int(milliseconds / wide), 0) + 1
    slices, most = max(counts, default=0) + 1, max(counts.values(), default=1)
    plot = SvgPlot("Time for a question", "milliseconds", "questions", (0, slices * wide), (0, max(5, most * 1.15)))
    for at, count in sorted(counts.items()):
        plot.bar(at * wide, (at + 1) * wide, count, f"{count} from {at * wide:g} to {(at + 1) * wide:g} ms")
    for name, value in measured["latency_ms"]["all"].items():
        if value is not None:
            plot.upright(value, name)
    return plot.svg()
