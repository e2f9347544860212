"""Detects the headings of a PDF by font size, weight and spacing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from bookbound.sources.pdf.line_layout import TextLine

MIN_HEADING_SIZE_RATIO, MAX_HEADING_LENGTH, MAX_BOLD_HEADING_LENGTH, MAX_HEADING_LINES, MAX_LEADING_RATIO = (
    1.12,
    200,
    80,
    4,
    1.25,
)
_NUMBERING = re.compile(r"(?:(?:chapter|part|appendix|section)\s+)?(?:[\divxlc]+|[a-z])(?:\.\d+)*[\s.:)–—-]+", re.I)
_WORD = re.compile(r"\w+")


class Typography(NamedTuple):
    """What a book is set in: the size of its text, and from one line to the next for each size."""

    size: float
    leading: dict[float, float]
    typed: bool

    def follows(self, before: TextLine, line: TextLine) -> bool:
        """Whether a line stands under another as near as the lines of a paragraph do."""
        usual = self.leading.get(line.size, 1.25 * line.size)
        return before.page == line.page and 0 < line.base - before.base <= MAX_LEADING_RATIO * usual + 0.5


class PdfHeading(NamedTuple):
    """Lines `start` to `end` are a heading, of a level once that is known."""

    start: int
    end: int
    text: str
    size: float
    level: int = 0


def measure_typography(lines: Sequence[TextLine]) -> Typography:
    """The type of most letters; where all are equally wide, that does not tell code from text."""
    letters: Counter[tuple[float, bool]] = Counter()
    for line in lines:
        letters[line.size, line.mono] += len(line.text)
    typed = sum(count for (_, mono), count in letters.items() if mono) > 0.8 * letters.total()
    sizes: Counter[float] = Counter()
    for (size, mono), count in letters.items():
        sizes[size] += count * (typed or not mono)
    steps: dict[float, Counter[float]] = {}
    for before, line in pairwise(lines):
        step = line.base - before.base
        if before.size == line.size and 0.8 * line.size < step < 2.5 * line.size:
            steps.setdefault(line.size, Counter())[round(step * 2) / 2] += 1
    leading = {size: found.most_common(1)[0][0] for size, found in steps.items()}
    return Typography(max(sizes, key=lambda size: sizes[size], default=0.0), leading, typed)


def find_headings(lines: Sequence[TextLine], face: Typography) -> list[PdfHeading]:
    """The headings in reading order: what is larger than the text, or bold and by itself."""
    found: list[PdfHeading] = []
    at = 0
    while at < len(lines):
        end = at + 1
        if not _is_large_line(lines[at], face) and not _is_bold_heading(lines, at, face):
            at = end
            continue
        while end < len(lines) and end - at < MAX_HEADING_LINES and _continues_heading(lines[end - 1], lines[end]):
            end += 1
        text = " ".join(line.text for line in lines[at:end])
        if len(text) <= MAX_HEADING_LENGTH and _WORD.search(text):
            found.append(PdfHeading(at, end, text, lines[at].size))
        at = end
    return found


def assign_levels(found: Iterable[PdfHeading]) -> list[PdfHeading]:
    """Each heading with a level: that of the outline, else one below that of the next larger type."""
    known: dict[float, Counter[int]] = {}
    for title in found:
        known.setdefault(title.size, Counter())[title.level] += 1
    level, by_size = 0, dict[float, int]()
    for size in sorted(known, reverse=True):
        named = Counter({level: count for level, count in known[size].items() if level})
        level = by_size[size] = max(level, named.most_common(1)[0][0]) if named else level + 1
    return [title._replace(level=title.level or by_size[title.size]) for title in found]


@lru_cache(maxsize=1 << 16)
def normalize_title(text: str) -> str:
    """A title's words without its number, so that outline and page agree on them."""
    lowered = " ".join(text.casefold().split())
    return " ".join(_WORD.findall(_NUMBERING.sub("", lowered, count=1) or lowered))


def _is_large_line(line: TextLine, face: Typography) -> bool:
    return line.size >= MIN_HEADING_SIZE_RATIO * face.size and len(line.text) <= MAX_HEADING_LENGTH


def _is_bold_heading(lines: Sequence[TextLine], at: int, face: Typography) -> bool:
    """Whether a line is bold, short, apart from the text above, and followed by some that is not bold."""
    line = lines[at]
    if (
        not line.bold
        or line.mono
        or line.size < face.size
        or len(line.cells) > 1
        or len(line.text) > MAX_BOLD_HEADING_LENGTH
    ):
        return False
    below = lines[at + 1] if at + 1 < len(lines) else line
    apart = not at or not face.follows(lines[at - 1], line)
    return apart and not below.bold and not line.text.endswith((".", ",", ";", ":"))


def _continues_heading(before: TextLine, line: TextLine) -> bool:
    same = before.size == line.size and before.bold == line.bold and before.page == line.page
    return same and 0 < line.base - before.base < 1.6 * line.size
