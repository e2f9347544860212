"""Groups the words of a PDF page into columns and lines in reading order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import inf
from typing import NamedTuple, Self, TypeVar

from bookbound.sources.pdf.pdfium import BOLD, MONOSPACED, ROTATED, PdfWord
from bookbound.sources.pdf.reader_process import PdfPage

# Lengths are multiples of the font size.
MIN_GUTTER = 0.9
MIN_COLUMN_WIDTH = 9
COLUMN_END_GAP = 4
CELL_GAP = 1.0
_BASELINE_TOLERANCE = 0.4
MIN_COLUMN_LINES = 3
FULL_LINE_RATIO = 0.7
MIN_FULL_LINE_SHARE = 0.5
_MIN_STYLE_SHARE = 0.85
# A page with more fragments or gaps is a drawing, and the search for its columns would take long.
MAX_FRAGMENTS = 400
MAX_STRIPS = 8
MAX_STEPS = 8_000
_LIGATURES = {0xFB00 + i: letters for i, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}

VerticalStrip = tuple[float, float]
T = TypeVar("T")


class TextFragment(NamedTuple):
    """Words of one line without a wide gap between them."""

    words: list[PdfWord]
    left: float
    right: float
    baseline: float
    size: float

    @classmethod
    def of(cls, words: list[PdfWord]) -> Self:
        largest = max(words, key=lambda word: word.size)
        return cls(words, words[0].left, max(word.right for word in words), largest.baseline, largest.size)


class TextCell(NamedTuple):
    """The text between two wide gaps of a line."""

    text: str
    left: float
    right: float


class TextLine(NamedTuple):
    """A printed line; positions are in points from the top left corner of the page."""

    cells: tuple[TextCell, ...]
    page: int
    baseline: float
    size: float
    is_monospaced: bool
    is_bold: bool
    first_word_width: float
    letter_width: float
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


def extract_lines(page: PdfPage) -> list[TextLine]:
    """Return the lines of a page in reading order, rotated text last."""
    lines: list[TextLine] = []
    for rotation in (0, ROTATED):
        words = [word for word in page.words if word.style & ROTATED == rotation]
        fragments = [TextFragment.of(group) for group in _group_while(words, _is_same_fragment)]
        for region in split_regions(fragments):
            column = (min(each.left for each in region), max(each.right for each in region))
            lines += [_build_line(row, page.number, column) for row in _group_rows(region)]
    return lines


def _group_while(items: Iterable[T], belongs: Callable[[T, T], bool]) -> Iterator[list[T]]:
    """Group neighbours as long as each belongs to the one before it."""
    group: list[T] = []
    for item in items:
        if group and not belongs(group[-1], item):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def split_regions(fragments: list[TextFragment], depth: int = 0) -> list[list[TextFragment]]:
    """Split a page into regions: columns one after the other, text across them before or after."""
    fragments = sorted(fragments, key=lambda each: (each.baseline, each.left))
    if not fragments:
        return []
    third = min(each.left for each in fragments) + _width(fragments) / 3
    may_have_columns = sum(each.left >= third for each in fragments) >= MIN_COLUMN_LINES
    if len(fragments) > MAX_FRAGMENTS or depth > 2 or not may_have_columns:
        return [fragments]
    regions: list[list[TextFragment]] = []
    across: list[TextFragment] = []
    at, steps = 0, MAX_STEPS
    while at < len(fragments):
        left, right, end = _find_columns(fragments, at) if steps > 0 else ([], [], at)
        if not left:
            steps -= end - at
            across.append(fragments[at])
            at += 1
            continue
        regions += [across] if across else []
        regions += [*split_regions(left, depth + 1), *split_regions(right, depth + 1)]
        across, at = [], end
    return [*regions, across] if across else regions


def _find_columns(fragments: list[TextFragment], start: int) -> tuple[list[TextFragment], list[TextFragment], int]:
    """Return two columns from `start` on and their end, or no columns and how far the search went."""
    strips: list[VerticalStrip] = [(min(each.left for each in fragments), max(each.right for each in fragments))]
    gutter, end = (0.0, 0.0), start
    first_end, last_start = inf, -inf
    for at in range(start, len(fragments)):
        fragment = fragments[at]
        if at > start and fragment.baseline - fragments[at - 1].baseline > COLUMN_END_GAP * fragment.size:
            break
        strips = [part for strip in strips for part in _remaining_strips(strip, fragment)]
        if not strips:
            break
        strips = sorted(strips, key=lambda strip: strip[0] - strip[1])[:MAX_STRIPS]
        first_end, last_start = min(first_end, fragment.right), max(last_start, fragment.left)
        inner = [strip for strip in strips if first_end <= strip[0] and strip[1] <= last_start]
        if inner:
            gutter, end = inner[0], at + 1
    left = [each for each in fragments[start:end] if each.right <= gutter[0]]
    right = [each for each in fragments[start:end] if each.left >= gutter[1]]
    if _is_column(left) and _is_column(right) and _width(left) < 2 * _width(right) < 4 * _width(left):
        return left, right, end
    return [], [], at


def _remaining_strips(strip: VerticalStrip, fragment: TextFragment) -> list[VerticalStrip]:
    """Return the parts of a strip next to a fragment that are wide enough for a gutter."""
    parts = (strip[0], min(strip[1], fragment.left)), (max(strip[0], fragment.right), strip[1])
    return [part for part in dict.fromkeys(parts) if part[1] - part[0] >= MIN_GUTTER * fragment.size]


def _width(fragments: list[TextFragment]) -> float:
    return max(each.right for each in fragments) - min(each.left for each in fragments)


def _is_column(fragments: list[TextFragment]) -> bool:
    """Whether most fragments are full lines and wider than a table cell."""
    if len(fragments) < MIN_COLUMN_LINES:
        return False
    width = _width(fragments)
    full = sum(each.right - each.left >= FULL_LINE_RATIO * width for each in fragments)
    return full >= MIN_FULL_LINE_SHARE * len(fragments) and width >= MIN_COLUMN_WIDTH * fragments[0].size


def _is_same_fragment(before: PdfWord, word: PdfWord) -> bool:
    size = max(before.size, word.size)
    near = -0.5 * size < word.left - before.right < CELL_GAP * size
    return near and abs(word.baseline - before.baseline) < _BASELINE_TOLERANCE * size


def _group_rows(region: list[TextFragment]) -> Iterator[list[PdfWord]]:
    """Yield the words of each line from left to right."""
    rows: list[list[TextFragment]] = []
    for fragment in sorted(region, key=lambda each: each.baseline):
        first = rows[-1][0] if rows else fragment
        if not rows or fragment.baseline - first.baseline > _BASELINE_TOLERANCE * max(fragment.size, first.size):
            rows.append([])
        rows[-1].append(fragment)
    for row in rows:
        yield [word for fragment in sorted(row, key=lambda each: each.left) for word in fragment.words]


def _build_line(words: list[PdfWord], page: int, column: tuple[float, float]) -> TextLine:
    letters = sum(len(word.text) for word in words)
    is_monospaced, is_bold = (
        sum(len(word.text) for word in words if word.style & style) >= _MIN_STYLE_SHARE * letters
        for style in (MONOSPACED, BOLD)
    )
    size = Counter(word.size for word in words for _ in word.text).most_common(1)[0][0]
    letter_width = sum(word.right - word.left for word in words) / letters
    if is_monospaced:
        cells = [_build_monospaced_cell(words, letter_width)]
    else:
        cells = [_build_cell(group) for group in _group_while(words, _is_same_cell)]
    baseline = max(words, key=lambda word: len(word.text) * (word.size == size)).baseline
    first_width = words[0].right - words[0].left
    return TextLine(tuple(cells), page, baseline, size, is_monospaced, is_bold, first_width, letter_width, column)


def _is_same_cell(before: PdfWord, word: PdfWord) -> bool:
    return word.left - before.right < CELL_GAP * max(before.size, word.size)


def _build_cell(words: list[PdfWord]) -> TextCell:
    text = "".join(" " * (i > 0 and not word.is_joined) + word.text for i, word in enumerate(words))
    return TextCell(text.translate(_LIGATURES), words[0].left, words[-1].right)


def _build_monospaced_cell(words: list[PdfWord], letter_width: float) -> TextCell:
    """Put as many spaces between the words as the gaps have room for."""
    text = words[0].text
    for before, word in pairwise(words):
        spaces = round((word.left - before.right) / letter_width) if letter_width > 0 else 1
        text += " " * min(max(spaces, 0 if word.is_joined else 1), 200) + word.text
    return TextCell(text, words[0].left, words[-1].right)
