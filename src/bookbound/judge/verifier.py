"""The verifier that reads: the network's opinion, which no exact check may contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from bookbound.finding import Evidence, Support
from bookbound.judge.features import odds, probability
from bookbound.judge.reader import Reader
from bookbound.judge.verbatim import verbatim
from bookbound.language import is_english

FREEST = 0.15
"""The share of a sentence's terms up to which they may be other than the evidence's."""

LONGEST = 1000
"""The most characters of a sentence in words of its own."""


class Checked(NamedTuple):
    """A sentence that no check contradicts: its liberties, the words that carry it, and what to read it against."""

    liberties: dict[str, float]
    carriers: tuple[Evidence, ...]
    premises: tuple[str, ...]


class ReadingVerifier:
    """Finds a sentence supported by its evidence where it is in it word for word, or follows from it.

    What follows says the same numbers, names and identifiers of the same things, and denies what the evidence denies.
    It is the surer the closer it keeps to the words it comes from. The checks know English: of what is written in
    another language, only the book's own words are supported.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> Support:
        found = await asyncio.to_thread(_found, sentence, evidence)
        if isinstance(found, Support):
            return found
        weighed = await self.weighed(sentence, found)
        return Support(probability(self._reader.constants.retold, weighed), found.carriers)

    async def weighed(self, sentence: str, checked: Checked) -> dict[str, float]:
        """What speaks for a sentence in words of its own: its liberties, and the odds that it is read as supported."""
        read = await asyncio.gather(*(self._reader.support(sentence, premise) for premise in checked.premises))
        return {**checked.liberties, "read": sum(map(odds, read)) / len(read)}


def _found(sentence: str, evidence: Sequence[Evidence]) -> Support | Checked:
    """All that the words alone tell: whether they are the book's, are contradicted, or must be read."""
    quoted = verbatim(sentence, evidence)
    return Support(1.0, quoted) if quoted else checked(sentence, evidence) or Support(0.0)


def checked(sentence: str, evidence: Sequence[Evidence]) -> Checked | None:
    """A sentence in words of its own beside the words that carry it; none where a check contradicts it."""
    if len(sentence) > LONGEST or not all(is_english(piece.text) for piece in evidence):
        return None
    # What quotes the book never needs these.
    from bookbound.judge.exact import agrees
    from bookbound.judge.narrowed import carrying
    from bookbound.judge.relations import liberties, wrongly_related
    from bookbound.judge.retold import Retelling

    retelling = Retelling(sentence, evidence)
    taken, carriers = liberties(retelling), carrying(retelling)
    if not carriers or taken["new"] > FREEST or not agrees(retelling) or wrongly_related(retelling):
        return None
    return Checked(taken, carriers, (retelling.text, "\n".join(piece.text for piece in carriers)))
