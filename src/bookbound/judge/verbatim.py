"""The strictest verifier: only the book's own words are supported by it."""

from __future__ import annotations

from collections.abc import Sequence

from bookbound.finding import Evidence


class VerbatimVerifier:
    """Finds a sentence supported where its evidence holds it word for word."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> float:
        return float(verbatim(sentence, evidence))


def verbatim(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Whether a piece of evidence holds the sentence, but for white space."""
    words = " ".join(sentence.split())
    return bool(words) and any(words in " ".join(piece.text.split()) for piece in evidence)
