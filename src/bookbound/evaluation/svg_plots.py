"""Lays out the plots of a report, which a template draws as inline SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from bookbound.evaluation import MetricsDict

PLOT_WIDTH, PLOT_HEIGHT = 420, 280
MAX_TICKS, MAX_HISTOGRAM_BARS = 5, 24
HEADROOM, MIN_AXIS_MAXIMUM = 1.15, 5
PlotPoint = tuple[float, float]
AxisRange = tuple[float, float]


class SvgPlot:
    """Two axes and the shapes between them, in pixels; screen readers announce the title."""

    width, height = PLOT_WIDTH, PLOT_HEIGHT
    frame = (52, PLOT_WIDTH - 14, 14, PLOT_HEIGHT - 44)  # left, right, top, bottom; the labels are left and below

    def __init__(
        self,
        title: str,
        x_label: str,
        y_label: str,
        x_range: AxisRange = (0, 1),
        y_range: AxisRange = (0, 1),
        x_ticks: Mapping[float, str] | None = None,
    ) -> None:
        """Round numbers are the ticks of the x axis unless it has its own."""
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self._x_range, self._y_range = x_range, y_range
        ticks = {tick: f"{tick:g}" for tick in compute_ticks(x_range)} if x_ticks is None else x_ticks
        self.x_ticks = [(self._x(tick), label) for tick, label in ticks.items()]
        self.y_ticks = [(self._y(tick), f"{tick:g}") for tick in compute_ticks(y_range)]
        self.shapes: list[dict[str, Any]] = []

    def line(self, points: Sequence[PlotPoint], style: str = "line") -> None:
        """A line through the points; a single point is not drawn."""
        if len(points) > 1:
            self._add("line", style=style, points=" ".join(f"{self._x(x)},{self._y(y)}" for x, y in points))

    def dot(self, point: PlotPoint, text: str, radius: float = 4.0, style: str = "dot") -> None:
        """A point whose text appears under the pointer."""
        self._add("dot", style=style, x=self._x(point[0]), y=self._y(point[1]), radius=round(radius, 1), text=text)

    def bar(
        self, start: float, end: float, height: float, text: str, *, bottom: float = 0.0, style: str = "bar"
    ) -> None:
        x, y = self._x(start), self._y(bottom + height)
        width = round(max(0.5, self._x(end) - x - 1), 1)
        self._add("bar", style=style, x=x, y=y, width=width, height=round(self._y(bottom) - y, 1), text=text)

    def mark(self, x: float, text: str) -> None:
        """A vertical line with a label at its top."""
        self._add("mark", x=self._x(x), text=text)

    def _add(self, kind: str, **values: Any) -> None:
        self.shapes.append({"kind": kind, **values})

    def _x(self, value: float) -> float:
        left, right = self.frame[:2]
        return round(left + _position(value, self._x_range) * (right - left), 1)

    def _y(self, value: float) -> float:
        top, bottom = self.frame[2:]
        return round(bottom - _position(value, self._y_range) * (bottom - top), 1)


def _position(value: float, axis: AxisRange) -> float:
    low, high = axis
    return (min(max(value, low), high) - low) / (high - low)


def choose_tick_step(span: float, count: int = MAX_TICKS) -> float:
    """The smallest round number (1, 2 or 5 times a power of ten) that divides a span into about `count` steps."""
    least = span / count
    power: float = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def compute_ticks(axis: AxisRange) -> list[float]:
    """Round numbers from one end of an axis to the other."""
    low, high = axis
    step = choose_tick_step(high - low)
    return [round(i * step, 10) for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def count_range(counts: Sequence[float]) -> AxisRange:
    """An axis for counts, with some space above the greatest."""
    return (0, max(MIN_AXIS_MAXIMUM, max(counts, default=0) * HEADROOM))


def plot_risk_coverage(metrics: MetricsDict, threshold: float) -> SvgPlot:
    """The share of wrong answers at each coverage, with a ring at the threshold in force."""
    rows = [row for row in metrics["curve"] if row["precision"] is not None and row["coverage"] is not None]
    plot = SvgPlot("Risk against coverage", "answerable questions answered", "wrong answers of all answers")
    points = [(row["coverage"], 1 - row["precision"]) for row in rows]
    plot.line(points)
    for row, (coverage, risk) in zip(rows, points, strict=True):
        text = f"from {row['answered']:.2f}: {coverage:.0%} answered, {risk:.0%} of the answers wrong"
        plot.dot((coverage, risk), text, radius=2.0)
    if current := [point for row, point in zip(rows, points, strict=True) if row["answered"] <= threshold]:
        plot.dot(current[-1], f"the operating point, {threshold:.2f}", radius=6.0, style="here")
    return plot


def plot_reliability(metrics: MetricsDict) -> SvgPlot:
    """The share of right answers for each tenth of probability; on the diagonal both are equal."""
    plot = SvgPlot("Reliability", "probability", "right answers")
    plot.line([(0.0, 0.0), (1.0, 1.0)], style="ideal")
    bins = metrics["calibration"]["bins"]
    plot.line([(each["probability"], each["correct"]) for each in bins])
    most = max((each["answers"] for each in bins), default=1)
    for each in bins:
        text = f"{each['answers']} answers: probability {each['probability']:.2f}, right {each['correct']:.2f}"
        plot.dot((each["probability"], each["correct"]), text, radius=3 + 5 * (each["answers"] / most) ** 0.5)
    return plot


def plot_latency(metrics: MetricsDict) -> SvgPlot:
    """A histogram of the time per question, with marks at the median and the 95th percentile."""
    times = [row["milliseconds"] for row in metrics["rows"]]
    step = choose_tick_step(max(times, default=1.0), MAX_HISTOGRAM_BARS)
    counts = Counter(int(time / step) for time in times)
    x_range = (0, (max(counts, default=0) + 1) * step)
    plot = SvgPlot("Time for a question", "milliseconds", "questions", x_range, count_range([*counts.values()]))
    for bar, count in sorted(counts.items()):
        start, end = bar * step, (bar + 1) * step
        plot.bar(start, end, count, f"{count} from {start:g} to {end:g} ms")
    for name, value in metrics["latency_ms"]["all"].items():
        if value is not None:
            plot.mark(value, name)
    return plot
