"""The lines of a text, as far as docutils can be trusted with them."""

from __future__ import annotations

from docutils.statemachine import string2lines

_TAB = 8
_LONGEST = 10_000
# What follows a list or a paragraph is copied for each of them, and the cells of a table are looked for among all.
_MOST_LINES = 50_000
_MOST_COLUMNS = 200
# Python breaks lines where no editor does, and docutils marks with a null what was escaped.
_ODD = {**dict.fromkeys(map(ord, "\x1c\x1d\x1e\x85\u2028\u2029"), " "), 0: "\ufffd"}


def trusted_lines(text: str) -> list[str] | None:
    """The lines of a text, with spaces for tabs; nothing where docutils would take too long over them."""
    lines = string2lines(text.translate(_ODD), _TAB, convert_whitespace=True) if text else []
    wide = any(len(line) > _LONGEST or _columns(line) > _MOST_COLUMNS for line in lines)
    return None if wide or len(lines) > _MOST_LINES else lines


def _columns(line: str) -> int:
    """How many columns the edge of a drawn table has; none for any other line."""
    return 0 if line.strip(" +-=|") else line.count("+")
