"""Two texts as the rows of word pieces that a network reads; a long second text takes several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST, LONGEST_FIRST, OVERLAP = 320, 64, 64


class Window(NamedTuple):
    """A row of word pieces: the first text, what stands over the second, and a stretch of the second.

    The stretch begins in the row at `at`, and with the second text's piece `piece`.
    """

    ids: list[int]
    second: int
    at: int
    piece: int

    @property
    def types(self) -> list[int]:
        return [0] * self.second + [1] * (len(self.ids) - self.second)


def windows(
    marks: tuple[int, int], first: Sequence[int], over: Sequence[int], second: Sequence[int]
) -> Iterator[Window]:
    """Rows that hold every piece of the second text; neighbours share some, so that what one cuts another has whole.

    The first text is read up to `LONGEST_FIRST` pieces.
    """
    opening, closing = marks
    asked = [opening, *first[:LONGEST_FIRST], closing]
    room = LONGEST - len(asked) - len(over) - 1
    shared = min(OVERLAP, room // 2)
    for start in range(0, max(len(second) - shared, 1), room - shared) if second else ():
        piece = max(min(start, len(second) - room), 0)
        ids = [*asked, *over, *second[piece : piece + room], closing]
        yield Window(ids, len(asked), len(asked) + len(over), piece)
