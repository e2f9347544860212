"""Small plots as inline SVG, drawn in the colours of the page they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 44
TICKS = 5
Point = tuple[float, float]
Range = tuple[float, float]


class Plot:
    """Two axes and what is drawn between them; `title` is for readers who hear the page."""

    def __init__(self, title: str, across: str, up: str, x: Range = (0.0, 1.0), y: Range = (0.0, 1.0)) -> None:
        self._title, self._x, self._y = title, x, y
        self._drawn = [*self._axes(across, up)]

    def line(self, points: Sequence[Point], look: str = "line") -> None:
        """Points joined in their order."""
        if points:
            path = " ".join(f"{self._across(x):.1f},{self._up(y):.1f}" for x, y in points)
            self._drawn.append(f'<polyline class="{look}" points="{path}"/>')

    def dot(self, point: Point, says: str, size: float = 4.0, look: str = "dot") -> None:
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
            f'height="{HEIGHT - BOTTOM - top:.1f}"><title>{escape(says)}</title></rect>'
        )

    def upright(self, x: float, says: str) -> None:
        """A line across the whole height, with words at its top."""
        at = self._across(x)
        end = ' text-anchor="end"' if at > WIDTH / 2 else ""
        shift = -4 if end else 4
        self._drawn.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        self._drawn.append(f'<text x="{at + shift:.1f}" y="{TOP + 10}"{end}>{escape(says)}</text>')

    def svg(self) -> str:
        """The picture."""
        name = escape(self._title, quote=True)
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{"".join(self._drawn)}</svg>'

    def _axes(self, across: str, up: str) -> list[str]:
        right, foot = WIDTH - RIGHT, HEIGHT - BOTTOM
        drawn = []
        for x in ticks(self._x):
            at = self._across(x)
            drawn.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{foot}"/>')
            drawn.append(f'<text x="{at:.1f}" y="{foot + 16}" text-anchor="middle">{x:g}</text>')
        for y in ticks(self._y):
            at = self._up(y)
            drawn.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
            drawn.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
        middle, height = (LEFT + right) / 2, (TOP + foot) / 2
        drawn.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
        drawn.append(
            f'<text x="14" y="{height:.0f}" text-anchor="middle" transform="rotate(-90 14 {height:.0f})">'
            f"{escape(up)}</text>"
        )
        return drawn

    def _across(self, x: float) -> float:
        low, high = self._x
        return LEFT + (min(max(x, low), high) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def _up(self, y: float) -> float:
        low, high = self._y
        return HEIGHT - BOTTOM - (min(max(y, low), high) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def step(span: float, most: int = TICKS) -> float:
    """A round distance (1, 2 or 5 and noughts) that goes into `span` about `most` times at the most."""
    least = span / most
    power: float = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def ticks(over: Range) -> list[float]:
    """Round numbers from one end of a range to the other."""
    low, high = over
    by = step(high - low)
    return [round(i * by, 10) for i in range(ceil(low / by - 1e-9), floor(high / by + 1e-9) + 1)]
