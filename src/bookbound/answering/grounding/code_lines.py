"""Compares a block of code of a draft with the code of the book, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookbound.domain.judgement import Evidence, SentenceSupport, SupportLabel
from bookbound.text import drop_injected_units

_PROMPT = re.compile(r"^(?:[$>]|>>>|\.\.\.|PS [^>]*>)\s+")  # a line that begins with # or % may be a comment
_COMMENT = re.compile(r"(?:#|//|--)\s.*")
_NAME = re.compile(r"[\w.-]+")
MIN_KNOWN_SHARE = 0.75
"""From this share of known names on, code that the book has not so may be a combination of its lines."""


def verify_code(code: str, evidence: Sequence[Evidence]) -> SentenceSupport:
    """Returns code as supported if the book has its lines in this order, and as plausible if it has most of its names.

    A comment is part of its line, because it may say anything; the names in it do not count.
    """
    lines = [line for each in code.splitlines() if (line := _PROMPT.sub("", each.strip()))]
    found = {piece: _find_in_order(lines, piece) for piece in evidence}
    missing, quoted = set(range(len(lines))), list[Evidence]()
    for piece in sorted(evidence, key=lambda piece: -len(found[piece])):
        if not missing.isdisjoint(found[piece]):
            quoted.append(_narrow(piece, [*found[piece].values()]))
            missing.difference_update(found[piece])
    if lines and not missing:
        return SentenceSupport(SupportLabel.SUPPORTED, 1.0, tuple(quoted))
    names = set(_NAME.findall(_COMMENT.sub("", "\n".join(lines))))
    known = names.intersection(_NAME.findall(" ".join(piece.text for piece in evidence)))
    if not names or len(known) < MIN_KNOWN_SHARE * len(names):
        return SentenceSupport(SupportLabel.UNSUPPORTED, 0.0, tuple(quoted))
    return SentenceSupport(SupportLabel.UNVERIFIED, 0.0, tuple(quoted) or tuple(evidence[:1]))


def _find_in_order(lines: Sequence[str], piece: Evidence) -> dict[int, re.Match[str]]:
    """Returns where a piece has lines as whole words, each after the one before; as a sentence has a command."""
    found, end, units = dict[int, re.Match[str]](), 0, drop_injected_units(piece)
    for number, line in enumerate(lines):
        words = r"\s+".join(map(re.escape, line.split()))
        pattern = re.compile(rf"(?<![\w-]){words}(?![\w-])")
        matches = (pattern.search(piece.text, max(end, unit.start), unit.end) for unit in units)
        if match := next(filter(None, matches), None):
            found[number], end = match, match.end()
    return found


def _narrow(piece: Evidence, found: Sequence[re.Match[str]]) -> Evidence:
    """Returns the units of a piece from the first to the last of the lines."""
    touched = [unit for unit in piece.units if unit.start < found[-1].end() and found[0].start() < unit.end]
    return piece.narrow(touched[0].start, touched[-1].end)
