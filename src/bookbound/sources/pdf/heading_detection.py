"""Detects the headings of a PDF by font size, weight and spacing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from bookbound.sources.pdf.line_layout import TextLine

MIN_HEADING_SIZE_RATIO = 1.12
MAX_HEADING_LENGTH = 200
MAX_BOLD_HEADING_LENGTH = 80
MAX_HEADING_LINES = 4
MAX_LEADING_RATIO = 1.25
_MIN_TYPEWRITER_SHARE = 0.8
_NUMBERING = re.compile(r"(?:(?:chapter|part|appendix|section)\s+)?(?:[\divxlc]+|[a-z])(?:\.\d+)*[\s.:)–—-]+", re.I)
_WORD = re.compile(r"\w+")


class Typography(NamedTuple):
    """The font size of a book's text and the line spacing of each size."""

    size: float
    leading: dict[float, float]
    is_typewritten: bool

    def follows(self, before: TextLine, line: TextLine) -> bool:
        """Whether a line is as close below another as the lines of a paragraph."""
        usual = self.leading.get(line.size, 1.25 * line.size)
        return before.page == line.page and 0 < line.baseline - before.baseline <= MAX_LEADING_RATIO * usual + 0.5


class PdfHeading(NamedTuple):
    """A heading on lines `start` to `end`; its level is 0 until it is known."""

    start: int
    end: int
    text: str
    size: float
    level: int = 0


def measure_typography(lines: Sequence[TextLine]) -> Typography:
    """Measure the typography of most letters; in a typewritten book monospaced text is not code."""
    letters: Counter[tuple[float, bool]] = Counter()
    for line in lines:
        letters[line.size, line.is_monospaced] += len(line.text)
    monospaced = sum(count for (_, mono), count in letters.items() if mono)
    is_typewritten = monospaced > _MIN_TYPEWRITER_SHARE * letters.total()
    sizes: Counter[float] = Counter()
    for (size, mono), count in letters.items():
        sizes[size] += count * (is_typewritten or not mono)
    steps: dict[float, Counter[float]] = {}
    for before, line in pairwise(lines):
        step = line.baseline - before.baseline
        if before.size == line.size and 0.8 * line.size < step < 2.5 * line.size:
            steps.setdefault(line.size, Counter())[round(step * 2) / 2] += 1
    leading = {size: counts.most_common(1)[0][0] for size, counts in steps.items()}
    return Typography(max(sizes, key=lambda size: sizes[size], default=0.0), leading, is_typewritten)


def find_headings(lines: Sequence[TextLine], typography: Typography) -> Iterator[PdfHeading]:
    """Yield the lines that are larger than the text, or bold and separate from it."""
    at = 0
    while at < len(lines):
        end = at + 1
        is_large = lines[at].size >= MIN_HEADING_SIZE_RATIO * typography.size
        is_large = is_large and len(lines[at].text) <= MAX_HEADING_LENGTH
        if is_large or _is_bold_heading(lines, at, typography):
            while end < len(lines) and end - at < MAX_HEADING_LINES and _continues_heading(lines[end - 1], lines[end]):
                end += 1
            text = " ".join(line.text for line in lines[at:end])
            if len(text) <= MAX_HEADING_LENGTH and _WORD.search(text):
                yield PdfHeading(at, end, text, lines[at].size)
        at = end


def assign_levels(headings: Iterable[PdfHeading]) -> list[PdfHeading]:
    """Give each heading the level of the outline, or one below that of the next larger size."""
    known: dict[float, Counter[int]] = {}
    for heading in headings:
        known.setdefault(heading.size, Counter())[heading.level] += 1
    level, by_size = 0, dict[float, int]()
    for size in sorted(known, reverse=True):
        named = Counter({level: count for level, count in known[size].items() if level})
        level = by_size[size] = max(level, named.most_common(1)[0][0]) if named else level + 1
    return [heading._replace(level=heading.level or by_size[heading.size]) for heading in headings]


@lru_cache(maxsize=1 << 16)
def normalize_title(text: str) -> str:
    """Reduce a title to its words without its number, so that outline and page agree on it."""
    lowered = " ".join(text.casefold().split())
    return " ".join(_WORD.findall(_NUMBERING.sub("", lowered, count=1) or lowered))


def _is_bold_heading(lines: Sequence[TextLine], at: int, typography: Typography) -> bool:
    """Whether a bold, short line is separate from the text above it and text that is not bold follows it."""
    line = lines[at]
    if not line.is_bold or line.is_monospaced or line.size < typography.size or len(line.cells) > 1:
        return False
    below = lines[at + 1] if at + 1 < len(lines) else line
    if below.is_bold or len(line.text) > MAX_BOLD_HEADING_LENGTH or line.text.endswith((".", ",", ";", ":")):
        return False
    return not at or not typography.follows(lines[at - 1], line)


def _continues_heading(before: TextLine, line: TextLine) -> bool:
    same = before.size == line.size and before.is_bold == line.is_bold and before.page == line.page
    return same and 0 < line.baseline - before.baseline < 1.6 * line.size
