"""Pages of a PDF that only say what stands on the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bookbound.read.pdf.folio import Entry
from bookbound.read.pdf.lines import Line
from bookbound.read.pdf.titles import key

FEWEST, MOSTLY = 4, 0.6
_LEADERS = re.compile(r"(?:\.\s?|…\s?){3,}(?:\d+|[ivxlc]+)$")


def contents(pages: Mapping[int, Sequence[Line]], outline: Sequence[Entry]) -> set[int]:
    """The numbers of the pages of which most lines are titles of the outline, or lead to a page number with dots."""
    known = {key(entry.title) for entry in outline} - {""}
    return {number for number, lines in pages.items() if _is_listing(lines, known)}


def _is_listing(lines: Sequence[Line], known: set[str]) -> bool:
    listed = sum(bool(_LEADERS.search(line.text)) or key(line.cells[0].text) in known for line in lines)
    return listed >= max(FEWEST, MOSTLY * len(lines))
