"""Defines evidence, assessments of passages, and the judgement whether they answer a question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit, UnitKind

RetrievalQuality = Literal["Good", "Partial", "Poor"]


class RefusalReason(StrEnum):
    """Why no answer is given."""

    EMPTY_RETRIEVAL = "empty_retrieval"
    LOW_RELEVANCE = "low_relevance"
    INSUFFICIENT_GROUNDING = "insufficient_grounding"
    SELECTED_TEXT_MISSING = "selected_text_missing"


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Characters `start` to `end` of a passage's text, how probably they hold the answer, and to which part of it."""

    start: int
    end: int
    probability: float
    part: int = 0


@dataclass(frozen=True, slots=True)
class PassageAssessment:
    """What an examiner found in one passage: how probably it answers, and with which words, best first."""

    probability: float
    spans: tuple[AnswerSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    """What an examiner found: how probably the passages together answer, and a reading of each.

    A question that asks for several things has as many `parts`, each with how probably it is answered.
    """

    probability: float
    readings: tuple[PassageAssessment, ...]
    parts: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of the book, verbatim, with the passage they come from and their own exact place.

    With the `chunk` at hand they know their units, and can be narrowed to some of them.
    """

    chunk_id: str
    text: str
    place: Place
    start: int
    end: int
    probability: float
    kind: UnitKind = "sentence"
    part: int = 0
    chunk: Chunk | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, passage: Passage, start: int, end: int, probability: float, part: int = 0) -> Evidence:
        """Characters `start` to `end` of a passage; their kind is that of the code in them, or of their first unit."""
        return cls._of(passage.chunk, start, end, probability, part)

    @classmethod
    def _of(cls, chunk: Chunk, start: int, end: int, probability: float, part: int) -> Evidence:
        first, last = chunk.span(start, end)
        place = replace(chunk.place, start=first, end=last)
        kinds = [unit.kind for unit in chunk.units if start <= unit.start and unit.end <= end]
        kinds.sort(key=lambda kind: kind not in ("code", "formula"))
        kind: UnitKind = kinds[0] if kinds else "sentence"
        return cls(chunk.id, chunk.text[start:end], place, start, end, probability, kind, part, chunk)

    @property
    def units(self) -> tuple[QuotableUnit, ...]:
        """What can be quoted whole within these words, counted from their start; without any, the words as one."""
        held = self.chunk.units if self.chunk else ()
        inside = [unit for unit in held if self.start <= unit.start and unit.end <= self.end]
        moved = tuple(unit._replace(start=unit.start - self.start, end=unit.end - self.start) for unit in inside)
        return moved or (QuotableUnit(self.kind, 0, len(self.text)),)

    def narrowed(self, start: int, end: int) -> Evidence:
        """Characters `start` to `end` of these words; without the passage at hand, all of them."""
        if self.chunk is None:
            return self
        return Evidence._of(self.chunk, self.start + start, self.start + end, self.probability, self.part)

    def shares(self, other: Evidence) -> bool:
        """Whether some characters of the book are in both."""
        one, two = self.place, other.place
        return one.file == two.file and one.start < two.end and two.start < one.end


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """How probably a sentence says no more than its evidence does, and the words of it that carry the sentence."""

    probability: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the passages answer: the finding that every reply rests on.

    `partial` when only part is in the book; not `sure` when the words come near and may not be the answer.
    """

    probability: float
    relevant: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    quality: RetrievalQuality
    refusal: RefusalReason | None = None
    partial: bool = False
    sure: bool = True

    @property
    def answer_present(self) -> bool:
        return self.refusal is None
