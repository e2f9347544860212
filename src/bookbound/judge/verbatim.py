"""The strictest verifier: only the book's own words are supported by it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookbound.finding import Evidence, Support
from bookbound.judge.planted import sober

_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_ENDS = ".:;, "


class VerbatimVerifier:
    """Finds a sentence supported where its evidence holds it word for word."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> Support:
        found = verbatim(sentence, evidence)
        return Support(float(bool(found)), found)


def verbatim(sentence: str, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The pieces of evidence that the sentence is, or whole units of them, but for white space and what ends them.

    Part of a unit may say something else than the whole: "it flies" where the book has "nobody thinks it flies".
    """
    words = _bare(sentence)
    found = (_held(words, piece) for piece in evidence) if words else ()
    return tuple(piece for piece in found if piece)


def _held(words: str, piece: Evidence) -> Evidence | None:
    if words == _bare(piece.text):
        return piece
    units = sober(piece)
    for first, unit in enumerate(units):
        for last in units[first:]:
            text = _bare(piece.text[unit.start : last.end])
            if text == words:
                return piece.narrowed(unit.start, last.end)
            if len(text) > len(words):
                break
    return None


def _bare(text: str) -> str:
    words = " ".join(text.split())
    item = _ITEM.match(words)
    return words[item.end() if item else 0 :].rstrip(_ENDS)
