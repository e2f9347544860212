"""The verifier that reads: the network's opinion, which no exact check may contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bookbound.finding import Evidence
from bookbound.judge.reader import Reader
from bookbound.judge.verbatim import verbatim


class ReadingVerifier:
    """Finds a sentence supported by its evidence where it is in it word for word, or follows from it.

    What follows says the same numbers, names and identifiers, and denies what the evidence denies.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> float:
        if verbatim(sentence, evidence):
            return 1.0
        from bookbound.judge.exact import agrees  # what quotes the book never needs it

        if not sentence.strip() or not agrees(sentence, _words(evidence), _headings(evidence)):
            return 0.0
        premises = {_words(evidence), *(piece.text for piece in evidence)}
        return max(await asyncio.gather(*(self._reader.support(sentence, premise) for premise in premises)))


def _words(evidence: Sequence[Evidence]) -> str:
    return "\n".join(piece.text for piece in evidence)


def _headings(evidence: Sequence[Evidence]) -> str:
    """The names under which the evidence stands: a sentence may call its subject by them."""
    return "\n".join(name for piece in evidence for name in piece.place.path)
