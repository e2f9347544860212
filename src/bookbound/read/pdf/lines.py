"""The words of a printed page as lines in reading order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from bookbound.read.pdf.columns import Piece, regions
from bookbound.read.pdf.folio import Folio
from bookbound.read.pdf.pdfium import BOLD, MONOSPACED, TURNED, Word

GAP = 1.0
"""How many times their size words stand apart that belong to two cells or columns."""
_SAME_LINE, _MOSTLY = 0.4, 0.85
# Characters that stand for two or three letters.
_LIGATURES = {0xFB00 + i: letters for i, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}


class Cell(NamedTuple):
    """Words of a line that no wide gap parts."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
    """A line of a printed page: its cells, where it stands, in what type it is set, and in which column.

    `first` is the width of its first word, `pitch` that of a letter.
    """

    cells: tuple[Cell, ...]
    page: int
    base: float
    size: float
    mono: bool
    bold: bool
    first: float
    pitch: float
    column: tuple[float, float]

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return self.cells[-1].right


def lines(folio: Folio) -> list[Line]:
    """The lines of a page in reading order, and after them what is written across it."""
    found: list[Line] = []
    for turned in (0, TURNED):
        words = [word for word in folio.words if word.style & TURNED == turned]
        for region in regions(list(_pieces(words))):
            column = (min(piece.left for piece in region), max(piece.right for piece in region))
            found += [_line(row, folio.number, column) for row in _rows(region)]
    return found


def _pieces(words: Iterable[Word]) -> Iterator[Piece]:
    """Words that follow each other on one line without a wide gap."""
    held: list[Word] = []
    for word in words:
        if held and not _follows(held[-1], word):
            yield Piece.of(held)
            held = []
        held.append(word)
    if held:
        yield Piece.of(held)


def _follows(before: Word, word: Word) -> bool:
    size = max(before.size, word.size)
    near = -0.5 * size < word.left - before.right < GAP * size
    return near and (abs(word.base - before.base) < _SAME_LINE * size)


def _rows(region: list[Piece]) -> Iterator[list[Word]]:
    """The words of each line, left to right."""
    row: list[Piece] = []
    for piece in sorted(region, key=lambda piece: piece.base):
        if row and piece.base - row[0].base > _SAME_LINE * max(piece.size, row[0].size):
            yield _words(row)
            row = []
        row.append(piece)
    if row:
        yield _words(row)


def _words(row: list[Piece]) -> list[Word]:
    return [word for piece in sorted(row, key=lambda piece: piece.left) for word in piece.words]


def _line(words: list[Word], page: int, column: tuple[float, float]) -> Line:
    letters = sum(len(word.text) for word in words)
    mono = sum(len(word.text) for word in words if word.style & MONOSPACED) >= _MOSTLY * letters
    bold = sum(len(word.text) for word in words if word.style & BOLD) >= _MOSTLY * letters
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[word.size] += len(word.text)
    size = sizes.most_common(1)[0][0]
    pitch = sum(word.right - word.left for word in words) / letters
    cells = (_typed(words, pitch),) if mono else tuple(_cells(words))
    base = max(words, key=lambda word: len(word.text) * (word.size == size)).base
    return Line(cells, page, base, size, mono, bold, words[0].right - words[0].left, pitch, column)


def _cells(words: list[Word]) -> Iterator[Cell]:
    held = [words[0]]
    for before, word in pairwise(words):
        if word.left - before.right >= GAP * max(before.size, word.size):
            yield _cell(held)
            held = []
        held.append(word)
    yield _cell(held)


def _cell(words: list[Word]) -> Cell:
    text = "".join(" " * (i > 0 and not word.joined) + word.text for i, word in enumerate(words))
    return Cell(text.translate(_LIGATURES), words[0].left, words[-1].right)


def _typed(words: list[Word], pitch: float) -> Cell:
    """A line of equally wide letters: as many spaces between its words as there is room for."""
    text = words[0].text
    for before, word in pairwise(words):
        room = round((word.left - before.right) / pitch) if pitch > 0 else 1
        text += " " * min(max(room, 0 if word.joined else 1), 200) + word.text
    return Cell(text, words[0].left, words[-1].right)
