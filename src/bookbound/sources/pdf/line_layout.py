"""Groups the words of a PDF page into columns and lines in reading order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf
from typing import NamedTuple, Self

from bookbound.sources.pdf.pdfium import BOLD, MONOSPACED, ROTATED, PdfWord
from bookbound.sources.pdf.reader_process import PdfPage

MIN_GUTTER = 0.9
"""How many times the size of its letters the space between two columns is wide at the least."""
MIN_COLUMN_LINES, FULL_LINE_RATIO, MIN_FULL_LINE_SHARE, MIN_COLUMN_WIDTH = 3, 0.7, 0.5, 9
COLUMN_END_GAP = 4
"""How many times its size a piece stands below all others where columns end."""
MAX_FRAGMENTS, MAX_STRIPS, MAX_STEPS = 400, 8, 8_000
"""How many pieces and gaps of a page columns are looked for among, and how long; what has more is a drawing."""
VerticalStrip = tuple[float, float]


class TextFragment(NamedTuple):
    """Words of one line without a wide gap among them."""

    words: tuple[PdfWord, ...]
    left: float
    right: float
    base: float
    size: float

    @classmethod
    def of(cls, words: list[PdfWord]) -> Self:
        size = max(word.size for word in words)
        base = max(words, key=lambda word: word.size).base
        return cls(tuple(words), words[0].left, max(word.right for word in words), base, size)


def split_regions(pieces: list[TextFragment], depth: int = 0) -> list[list[TextFragment]]:
    """The pieces of a page by region: columns one after the other, what runs across them before or after."""
    pieces = sorted(pieces, key=lambda piece: (piece.base, piece.left))
    if not pieces or len(pieces) > MAX_FRAGMENTS or depth > 2 or not _may_have_columns(pieces):
        return [pieces] if pieces else []
    found: list[list[TextFragment]] = []
    across: list[TextFragment] = []
    at, effort = 0, MAX_STEPS
    while at < len(pieces):
        left, right, after = _find_columns(pieces, at) if effort > 0 else ([], [], at)
        if not left:
            effort -= after - at
            across.append(pieces[at])
            at += 1
            continue
        found += [across] if across else []
        found += [*split_regions(left, depth + 1), *split_regions(right, depth + 1)]
        across, at = [], after
    return [*found, across] if across else found


def _may_have_columns(pieces: list[TextFragment]) -> bool:
    """Whether enough pieces begin so far to the right that they could be a column."""
    third = min(piece.left for piece in pieces) + _width(pieces) / 3
    return sum(piece.left >= third for piece in pieces) >= MIN_COLUMN_LINES


def _find_columns(pieces: list[TextFragment], start: int) -> tuple[list[TextFragment], list[TextFragment], int]:
    """The columns that begin at a piece, and where they end; none where there are none, and how far was looked."""
    strips: list[VerticalStrip] = [(min(piece.left for piece in pieces), max(piece.right for piece in pieces))]
    gutter, end = (0.0, 0.0), start
    first_end, last_start = inf, -inf
    for at in range(start, len(pieces)):
        piece = pieces[at]
        if at > start and piece.base - pieces[at - 1].base > COLUMN_END_GAP * piece.size:
            break
        strips = [part for strip in strips for part in _remaining_strips(strip, piece)]
        if not strips:
            break
        strips = sorted(strips, key=lambda strip: strip[0] - strip[1])[:MAX_STRIPS]
        first_end, last_start = min(first_end, piece.right), max(last_start, piece.left)
        inner = [strip for strip in strips if first_end <= strip[0] and strip[1] <= last_start]
        if inner:
            gutter, end = inner[0], at + 1
    left = [piece for piece in pieces[start:end] if piece.right <= gutter[0]]
    right = [piece for piece in pieces[start:end] if piece.left >= gutter[1]]
    if _is_column(left) and _is_column(right) and _width(left) < 2 * _width(right) < 4 * _width(left):
        return left, right, end
    return [], [], at


def _remaining_strips(strip: VerticalStrip, piece: TextFragment) -> list[VerticalStrip]:
    """What a piece leaves free of a strip, where that is wide enough."""
    parts = (strip[0], min(strip[1], piece.left)), (max(strip[0], piece.right), strip[1])
    return [part for part in dict.fromkeys(parts) if part[1] - part[0] >= MIN_GUTTER * piece.size]


def _width(pieces: list[TextFragment]) -> float:
    return max(piece.right for piece in pieces) - min(piece.left for piece in pieces)


def _is_column(pieces: list[TextFragment]) -> bool:
    """Whether pieces are running text: most of them as wide as the widest, and that wider than a cell of a table."""
    if len(pieces) < MIN_COLUMN_LINES:
        return False
    width = _width(pieces)
    full = sum(piece.right - piece.left >= FULL_LINE_RATIO * width for piece in pieces)
    return full >= MIN_FULL_LINE_SHARE * len(pieces) and width >= MIN_COLUMN_WIDTH * pieces[0].size


CELL_GAP = 1.0
"""How many times their size words stand apart that belong to two cells or columns."""
_BASELINE_TOLERANCE, _MIN_STYLE_SHARE = 0.4, 0.85
# Characters that stand for two or three letters.
_LIGATURES = {0xFB00 + i: letters for i, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}


class TextCell(NamedTuple):
    """Words of a line that no wide gap parts."""

    text: str
    left: float
    right: float


class TextLine(NamedTuple):
    """A line of a printed page: its cells, where it stands, in what type it is set, and in which column.

    `first` is the width of its first word, `pitch` that of a letter.
    """

    cells: tuple[TextCell, ...]
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


def extract_lines(folio: PdfPage) -> list[TextLine]:
    """The lines of a page in reading order, and after them what is written across it."""
    found: list[TextLine] = []
    for turned in (0, ROTATED):
        words = [word for word in folio.words if word.style & ROTATED == turned]
        for region in split_regions(list(_split_fragments(words))):
            column = (min(piece.left for piece in region), max(piece.right for piece in region))
            found += [_build_line(row, folio.number, column) for row in _group_rows(region)]
    return found


def _split_fragments(words: Iterable[PdfWord]) -> Iterator[TextFragment]:
    """Words that follow each other on one line without a wide gap."""
    held: list[PdfWord] = []
    for word in words:
        if held and not _is_same_fragment(held[-1], word):
            yield TextFragment.of(held)
            held = []
        held.append(word)
    if held:
        yield TextFragment.of(held)


def _is_same_fragment(before: PdfWord, word: PdfWord) -> bool:
    size = max(before.size, word.size)
    near = -0.5 * size < word.left - before.right < CELL_GAP * size
    return near and (abs(word.base - before.base) < _BASELINE_TOLERANCE * size)


def _group_rows(region: list[TextFragment]) -> Iterator[list[PdfWord]]:
    """The words of each line, left to right."""
    row: list[TextFragment] = []
    for piece in sorted(region, key=lambda piece: piece.base):
        if row and piece.base - row[0].base > _BASELINE_TOLERANCE * max(piece.size, row[0].size):
            yield _row_words(row)
            row = []
        row.append(piece)
    if row:
        yield _row_words(row)


def _row_words(row: list[TextFragment]) -> list[PdfWord]:
    return [word for piece in sorted(row, key=lambda piece: piece.left) for word in piece.words]


def _build_line(words: list[PdfWord], page: int, column: tuple[float, float]) -> TextLine:
    letters = sum(len(word.text) for word in words)
    mono = sum(len(word.text) for word in words if word.style & MONOSPACED) >= _MIN_STYLE_SHARE * letters
    bold = sum(len(word.text) for word in words if word.style & BOLD) >= _MIN_STYLE_SHARE * letters
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[word.size] += len(word.text)
    size = sizes.most_common(1)[0][0]
    pitch = sum(word.right - word.left for word in words) / letters
    cells = (_build_monospaced_cell(words, pitch),) if mono else tuple(_split_cells(words))
    base = max(words, key=lambda word: len(word.text) * (word.size == size)).base
    return TextLine(cells, page, base, size, mono, bold, words[0].right - words[0].left, pitch, column)


def _split_cells(words: list[PdfWord]) -> Iterator[TextCell]:
    held = [words[0]]
    for before, word in pairwise(words):
        if word.left - before.right >= CELL_GAP * max(before.size, word.size):
            yield _build_cell(held)
            held = []
        held.append(word)
    yield _build_cell(held)


def _build_cell(words: list[PdfWord]) -> TextCell:
    text = "".join(" " * (i > 0 and not word.joined) + word.text for i, word in enumerate(words))
    return TextCell(text.translate(_LIGATURES), words[0].left, words[-1].right)


def _build_monospaced_cell(words: list[PdfWord], pitch: float) -> TextCell:
    """A line of equally wide letters: as many spaces between its words as there is room for."""
    text = words[0].text
    for before, word in pairwise(words):
        room = round((word.left - before.right) / pitch) if pitch > 0 else 1
        text += " " * min(max(room, 0 if word.joined else 1), 200) + word.text
    return TextCell(text, words[0].left, words[-1].right)
