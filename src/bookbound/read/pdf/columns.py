"""The columns of a printed page, in the order they are read."""

from __future__ import annotations

from math import inf
from typing import NamedTuple, Self

from bookbound.read.pdf.pdfium import Word

GUTTER = 0.9
"""How many times the size of its letters the space between two columns is wide at the least."""
FEWEST_LINES, FULL, MOSTLY_FULL, NARROWEST = 3, 0.7, 0.5, 9
APART = 4
"""How many times its size a piece stands below all others where columns end."""
MOST_PIECES, MOST_STRIPS, MOST_EFFORT = 400, 8, 8_000
"""How many pieces and gaps of a page columns are looked for among, and how long; what has more is a drawing."""

Strip = tuple[float, float]


class Piece(NamedTuple):
    """Words of one line without a wide gap among them."""

    words: tuple[Word, ...]
    left: float
    right: float
    base: float
    size: float

    @classmethod
    def of(cls, words: list[Word]) -> Self:
        size = max(word.size for word in words)
        base = max(words, key=lambda word: word.size).base
        return cls(tuple(words), words[0].left, max(word.right for word in words), base, size)


def regions(pieces: list[Piece], depth: int = 0) -> list[list[Piece]]:
    """The pieces of a page by region: columns one after the other, what runs across them before or after."""
    pieces = sorted(pieces, key=lambda piece: (piece.base, piece.left))
    if not pieces or len(pieces) > MOST_PIECES or depth > 2 or not _may_part(pieces):
        return [pieces] if pieces else []
    found: list[list[Piece]] = []
    across: list[Piece] = []
    at, effort = 0, MOST_EFFORT
    while at < len(pieces):
        left, right, after = _columns(pieces, at) if effort > 0 else ([], [], at)
        if not left:
            effort -= after - at
            across.append(pieces[at])
            at += 1
            continue
        found += [across] if across else []
        found += [*regions(left, depth + 1), *regions(right, depth + 1)]
        across, at = [], after
    return [*found, across] if across else found


def _may_part(pieces: list[Piece]) -> bool:
    """Whether enough pieces begin so far to the right that they could be a column."""
    third = min(piece.left for piece in pieces) + _width(pieces) / 3
    return sum(piece.left >= third for piece in pieces) >= FEWEST_LINES


def _columns(pieces: list[Piece], start: int) -> tuple[list[Piece], list[Piece], int]:
    """The columns that begin at a piece, and where they end; none where there are none, and how far was looked."""
    strips: list[Strip] = [(min(piece.left for piece in pieces), max(piece.right for piece in pieces))]
    gutter, end = (0.0, 0.0), start
    first_end, last_start = inf, -inf
    for at in range(start, len(pieces)):
        piece = pieces[at]
        if at > start and piece.base - pieces[at - 1].base > APART * piece.size:
            break
        strips = [part for strip in strips for part in _beside(strip, piece)]
        if not strips:
            break
        strips = sorted(strips, key=lambda strip: strip[0] - strip[1])[:MOST_STRIPS]
        first_end, last_start = min(first_end, piece.right), max(last_start, piece.left)
        inner = [strip for strip in strips if first_end <= strip[0] and strip[1] <= last_start]
        if inner:
            gutter, end = inner[0], at + 1
    left = [piece for piece in pieces[start:end] if piece.right <= gutter[0]]
    right = [piece for piece in pieces[start:end] if piece.left >= gutter[1]]
    if _is_column(left) and _is_column(right) and _width(left) < 2 * _width(right) < 4 * _width(left):
        return left, right, end
    return [], [], at


def _beside(strip: Strip, piece: Piece) -> list[Strip]:
    """What a piece leaves free of a strip, where that is wide enough."""
    parts = (strip[0], min(strip[1], piece.left)), (max(strip[0], piece.right), strip[1])
    return [part for part in dict.fromkeys(parts) if part[1] - part[0] >= GUTTER * piece.size]


def _width(pieces: list[Piece]) -> float:
    return max(piece.right for piece in pieces) - min(piece.left for piece in pieces)


def _is_column(pieces: list[Piece]) -> bool:
    """Whether pieces are running text: most of them as wide as the widest, and that wider than a cell of a table."""
    if len(pieces) < FEWEST_LINES:
        return False
    width = _width(pieces)
    full = sum(piece.right - piece.left >= FULL * width for piece in pieces)
    return full >= MOSTLY_FULL * len(pieces) and width >= NARROWEST * pieces[0].size
