"""Pages of a PDF that only say what stands on the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookbound.read.pdf.folio import Entry
from bookbound.read.pdf.lines import Line
from bookbound.read.pdf.titles import key

FEWEST, MOSTLY = 4, 0.6
_LEADERS = re.compile(r"(?:\.\s?|…\s?){3,}(?:\d+|[ivxlc]+)$")


def is_contents(lines: Sequence[Line], outline: Sequence[Entry]) -> bool:
    """Whether most lines of a page are titles of the outline, or lead to a page number with dots."""
    known = {key(entry.title) for entry in outline} - {""}
    listed = sum(bool(_LEADERS.search(line.text)) or key(line.cells[0].text) in known for line in lines)
    return listed >= max(FEWEST, MOSTLY * len(lines))
