"""The strictest verifier: only the book's own words are supported by it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookbound.finding import Evidence
from bookbound.judge.planted import sober

_AROUND = re.compile(r"^(?:[-*+•]\s+|\d{1,3}[.)]\s+)|[.:;,\s]+$")


class VerbatimVerifier:
    """Finds a sentence supported where its evidence holds it word for word."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> float:
        return float(verbatim(sentence, evidence))


def verbatim(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Whether the sentence is a piece of evidence, or whole units of one, but for white space and what ends them.

    Part of a unit may say something else than the whole: "it flies" where the book has "nobody thinks it flies".
    """
    words = _bare(sentence)
    return bool(words) and any(words == _bare(piece.text) or _among_units(words, piece) for piece in evidence)


def _among_units(words: str, piece: Evidence) -> bool:
    units = sober(piece)
    for first, unit in enumerate(units):
        for last in units[first:]:
            text = _bare(piece.text[unit.start : last.end])
            if text == words:
                return True
            if len(text) > len(words):
                break
    return False


def _bare(text: str) -> str:
    return _AROUND.sub("", " ".join(text.split()))
