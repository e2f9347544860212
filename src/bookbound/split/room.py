"""How much of an embedder's budget the words of a section take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bookbound.book import Chunk, Place
from bookbound.errors import BadSetup

Span = tuple[int, int]
_NEAR = 1_000


class Room:
    """What the budget leaves for the words of one place, beside the heading path that goes before them."""

    def __init__(self, text: str, place: Place, count: Callable[[str], int], budget: int) -> None:
        self._text, self._place, self._count, self._budget = text, place, count, budget
        self._empty = count("")
        self.taken = count(Chunk("", "", place, 0).embedded)
        self.left = budget - self.taken

    def size(self, start: int, end: int) -> int:
        """About how many tokens these words add to a chunk."""
        return max(1, self._count(self._text[start:end]) - self._empty)

    def fits(self, start: int, end: int) -> bool:
        """Whether these words seem to fit into a chunk by themselves."""
        return self.size(start, end) <= self.left

    def confirmed(self, spans: list[Span]) -> Iterator[Span]:
        """The stretch of all spans as one, once it is sure to fit; in halves where the sum of the parts misled."""
        start, end = spans[0][0], spans[-1][1]
        if self._count(Chunk("", self._text[start:end], self._place, 0).embedded) <= self._budget:
            yield start, end
            return
        parts = spans if len(spans) > 1 else list(halves(self._text, start, end))
        if parts == [(start, end)]:
            raise BadSetup("The embedder reads too few tokens for a heading and a word: choose one that reads 256.")
        middle = len(parts) // 2
        for half in (parts[:middle], parts[middle:]):
            yield from self.confirmed(half) if half else ()


def halves(text: str, start: int, end: int) -> Iterator[Span]:
    """A span in two at the space nearest its middle, or in its middle where none is near; what is blank goes."""
    middle = (start + end) // 2
    near = min(middle - start, _NEAR)
    spaces = (at for step in range(near) for at in (middle - step, middle + step) if text[at].isspace())
    cut = next(spaces, middle)
    yield from ((a, b) for a, b in ((start, cut), (cut + text[cut].isspace(), end)) if text[a:b].strip())
