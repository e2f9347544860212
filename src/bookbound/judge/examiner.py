"""The examiner that reads: each passage with the question, and with each thing the question asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookbound.book import Passage
from bookbound.finding import Examination, Reading
from bookbound.judge.features import placed, probability, question_features
from bookbound.judge.parts import parts
from bookbound.judge.pointing import places, pointed
from bookbound.judge.reader import Reader
from bookbound.judge.spans import MOST

FIRST, ENOUGH, FOR_PARTS = 6, 0.5, 8
"""Passages that are always read; the probability of one of them from which on no more need be; those read for parts."""

UNREAD = Reading(0.0)


class ReadingExaminer:
    """Examines by reading question and passage together with a network, the passages in the order they are given."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        if meant := pointed(question, passages):
            return meant
        readings = await self._readings(question, passages, range(FIRST))
        if max(reading.probability for reading in readings) < ENOUGH:
            readings += await self._readings(question, passages, range(FIRST, len(passages)))
        readings += (UNREAD,) * (len(passages) - len(readings))
        whole = Examination(self._answered(question, passages, readings), readings)
        asked = parts(question)
        return whole if len(asked) < 2 else await self._in_parts(asked, passages, whole)

    async def _readings(self, question: str, passages: Sequence[Passage], chosen: Sequence[int]) -> tuple[Reading, ...]:
        """Those of the passages that are chosen, read, each reading weighed by its passage's place in the search."""
        chosen = [i for i in chosen if i < len(passages)]
        found = await self._reader.read(question, [passages[i].chunk for i in chosen])
        weights, at = self._reader.constants.place, places(passages)
        return tuple(placed(weights, reading, at[i]) for i, reading in zip(chosen, found, strict=True))

    def _answered(self, question: str, passages: Sequence[Passage], readings: Sequence[Reading]) -> float:
        """How probably the question is answered, by all that was read for it."""
        return probability(self._reader.constants.question, question_features(question, passages, readings))

    async def _in_parts(self, asked: Sequence[str], passages: Sequence[Passage], whole: Examination) -> Examination:
        """The likeliest passages read again for each part: a part's words are its own, not the whole question's."""
        order = sorted(range(len(passages)), key=lambda i: -whole.readings[i].probability)
        chosen = sorted(order[:FOR_PARTS])
        found = [await self._readings(part, passages, chosen) for part in asked]
        readings = list(whole.readings)
        for at, i in enumerate(chosen):
            readings[i] = _together(readings[i], [each[at] for each in found])
        alone = [dict(zip(chosen, each, strict=True)) for each in found]
        answered = [
            self._answered(part, passages, [each.get(i, UNREAD) for i in range(len(passages))])
            for part, each in zip(asked, alone, strict=True)
        ]
        return Examination(whole.probability, tuple(readings), tuple(answered))


def _together(whole: Reading, parts: Sequence[Reading]) -> Reading:
    """A passage answers as probably as it answers the whole question or any part, with the words for the parts."""
    spans = [replace(span, part=part) for part, reading in enumerate(parts) for span in reading.spans]
    best = max(whole.probability, *(reading.probability for reading in parts))
    return Reading(best, tuple(sorted(spans, key=lambda span: -span.probability)[: MOST * len(parts)]))
