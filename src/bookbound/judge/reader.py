"""The network that reads two texts together: does this passage answer, with which words, is this claim supported?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from bookbound.book import Chunk
from bookbound.finding import Reading, Span
from bookbound.judge.features import probability
from bookbound.judge.spans import MOST, characters, stretches
from bookbound.judge.windows import LONGEST_FIRST, Window, windows
from bookbound.models import CONSTANTS, READER, damaged
from bookbound.models.onnx import Models, Pieces

AS_READ: Mapping[str, float] = {"read": 1.0}
"""A sentence is as surely supported as it is read to be."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a logit of the network becomes a probability."""

    scale: float
    shift: float

    def probability(self, logit: float) -> float:
        return probability({"logit": self.scale, "constant": self.shift}, {"logit": logit})


@dataclass(frozen=True, slots=True)
class Constants:
    """What was fitted after the network: its scales, what a search adds to a reading and to a whole question, and how
    the liberties of a sentence weigh against the reading of it."""

    answers: Scale
    supported: Scale
    place: Mapping[str, float]
    question: Mapping[str, float]
    retold: Mapping[str, float]

    @classmethod
    def of(cls, models: Models) -> Self:
        """The constants that come with the network."""
        kept = models.constants(CONSTANTS)
        try:
            scales = Scale(**kept["answers"]), Scale(**kept["supported"])
            return cls(*scales, kept["place"], kept["question"], kept.get("retold", AS_READ))
        except (KeyError, TypeError) as trouble:
            raise damaged(CONSTANTS) from trouble


class Reader:
    """Reads pairs of texts, each by itself, so that what is found in one never depends on what else is read."""

    def __init__(self, models: Models | None = None) -> None:
        self._models = models or Models()
        self._network = self._models.network(READER)
        self.constants = Constants.of(self._models)

    async def read(self, question: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """How probably each passage answers the question, and with which words."""
        first = await self._models.run(self._models.ids, question)
        return tuple(await asyncio.gather(*(self._reading(first, chunk) for chunk in chunks)))

    async def support(self, claim: str, premise: str) -> float:
        """How probably the premise supports the claim; a claim too long for one row is read piece by piece."""
        first, second = await self._models.run(lambda: (self._models.ids(claim), self._models.ids(premise)))
        pieces = [first[i : i + LONGEST_FIRST] for i in range(0, len(first), LONGEST_FIRST)]
        return min(await asyncio.gather(*(self._support(piece, second) for piece in pieces)), default=0.0)

    async def _reading(self, question: Sequence[int], chunk: Chunk) -> Reading:
        pieces, rows = await self._models.run(self._rows, question, chunk)
        looks = await asyncio.gather(*(self._models.run(self._look, row, chunk.text, pieces) for row in rows))
        spans = sorted((span for look in looks for span in look.spans), key=lambda span: -span.probability)
        return Reading(max((look.probability for look in looks), default=0.0), _apart(spans))

    def _rows(self, question: Sequence[int], chunk: Chunk) -> tuple[Pieces, list[Window]]:
        pieces = self._models.pieces(chunk.text)
        path = self._models.ids(chunk.embedded.removesuffix(chunk.text))
        return pieces, list(windows(self._models.marks, question, path, pieces.ids))

    def _look(self, window: Window, text: str, pieces: Pieces) -> Reading:
        """What one row says of the stretch of the passage in it."""
        said = self._network.read(window.ids, token_type_ids=window.types)
        probability = self.constants.answers.probability(float(said["answers"]))
        inside = slice(window.at, len(window.ids) - 1)
        words = pieces.words[window.piece : window.piece + inside.stop - inside.start]
        spans = []
        for first, last, share in stretches(said["start"][inside], said["end"][inside], words):
            start, end = pieces.spans[window.piece + first][0], pieces.spans[window.piece + last][1]
            spans.append(Span(*characters(text, start, end), probability * share))
        return Reading(probability, tuple(spans))

    async def _support(self, claim: Sequence[int], premise: Sequence[int]) -> float:
        rows = windows(self._models.marks, claim, (), premise)
        return max(await asyncio.gather(*(self._models.run(self._judge, row) for row in rows)), default=0.0)

    def _judge(self, window: Window) -> float:
        said = self._network.read(window.ids, token_type_ids=window.types)
        return self.constants.supported.probability(float(said["supported"]))


def _apart(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The first few spans that touch none before them: neighbouring rows read some words twice."""
    kept: list[Span] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(kept[:MOST])
