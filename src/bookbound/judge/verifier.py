"""The verifier that reads: the network's opinion, which no exact check may contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bookbound.finding import Evidence
from bookbound.judge.features import odds, probability
from bookbound.judge.reader import Reader
from bookbound.judge.verbatim import verbatim

FREEST = 0.15
"""The share of a sentence's terms up to which they may be other than the evidence's."""


class ReadingVerifier:
    """Finds a sentence supported by its evidence where it is in it word for word, or follows from it.

    What follows says the same numbers, names and identifiers of the same things, and denies what the evidence denies.
    It is the surer the closer it keeps to the words it comes from.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> float:
        if verbatim(sentence, evidence):
            return 1.0
        weighed = await self.weighed(sentence, evidence)
        return probability(self._reader.constants.retold, weighed) if weighed else 0.0

    async def weighed(self, sentence: str, evidence: Sequence[Evidence]) -> dict[str, float]:
        """What speaks for a sentence in words of its own: its liberties, and the odds that it is read as supported.

        Nothing where a check contradicts it.
        """
        taken, premises = await asyncio.to_thread(_checked, sentence, evidence)
        found = await asyncio.gather(*(self._reader.support(sentence, premise) for premise in premises))
        return {**taken, "read": sum(map(odds, found)) / len(found)} if found else {}


def _checked(sentence: str, evidence: Sequence[Evidence]) -> tuple[dict[str, float], tuple[str, ...]]:
    """The liberties of a sentence, and what to read it against: all of its evidence, and the words that carry it."""
    # What quotes the book never needs these.
    from bookbound.judge.exact import agrees
    from bookbound.judge.narrowed import carrying
    from bookbound.judge.relations import liberties, wrongly_related
    from bookbound.judge.retold import Retelling

    retelling = Retelling(sentence, evidence)
    taken, carriers = liberties(retelling), carrying(retelling)
    if not carriers or taken["new"] > FREEST or not agrees(retelling) or wrongly_related(retelling):
        return {}, ()
    return taken, (retelling.text, "\n".join(piece.text for piece in carriers))
