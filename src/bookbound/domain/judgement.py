"""Defines evidence, assessments of passages, and the judgement whether they answer a question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import floor
from typing import Literal, NamedTuple

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind

RetrievalQuality = Literal["Good", "Partial", "Poor"]


class ReplyStatus(StrEnum):
    """How a reply is counted, in the order in which counts are shown."""

    ANSWERED = "answered"
    UNSURE = "unsure"
    REFUSED = "refused"


class RefusalReason(StrEnum):
    """The reason why there is no answer."""

    EMPTY_RETRIEVAL = "empty_retrieval"
    LOW_RELEVANCE = "low_relevance"
    INSUFFICIENT_GROUNDING = "insufficient_grounding"
    SELECTED_TEXT_MISSING = "selected_text_missing"  # the selected text does not answer the question


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Characters `start` to `end` of a passage, and the probability that they answer part `part` of the question."""

    start: int
    end: int
    probability: float
    part: int = 0


@dataclass(frozen=True, slots=True)
class PassageAssessment:
    """The probability that one passage answers, and the words that answer, best first."""

    probability: float
    spans: tuple[AnswerSpan, ...] = ()

    def scaled_to(self, probability: float) -> PassageAssessment:
        """Returns the reading with another probability, of which the words keep their shares."""
        share = probability / self.probability if self.probability else 0.0
        spans = (replace(span, probability=min(span.probability * share, probability)) for span in self.spans)
        return PassageAssessment(probability, tuple(spans))


@dataclass(frozen=True, slots=True)
class Assessment:
    """The probability that the passages together answer, the reading of each, and the probability for each part.

    `is_off_topic`: all passages are so far from the question that none was read.
    """

    probability: float
    readings: tuple[PassageAssessment, ...]
    parts: tuple[float, ...] = ()
    is_off_topic: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Verbatim words of the book with their exact place; with `chunk` they can be narrowed to some units."""

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
    def from_chunk(cls, chunk: Chunk, start: int, end: int, probability: float, part: int = 0) -> Evidence:
        """Cites characters `start` to `end`; the kind is that of code in them, or else of their first unit."""
        place = chunk.place_of(start, end)
        kinds = [unit.kind for unit in chunk.units if start <= unit.start and unit.end <= end]
        kinds.sort(key=lambda kind: kind not in ("code", "formula"))
        kind: UnitKind = kinds[0] if kinds else "sentence"
        return cls(chunk.id, chunk.text[start:end], place, start, end, probability, kind, part, chunk)

    @property
    def units(self) -> tuple[QuotableUnit, ...]:
        """The units within these words, counted from their start, or the words as one unit."""
        units = self.chunk.units if self.chunk else ()
        inside = [unit for unit in units if self.start <= unit.start and unit.end <= self.end]
        moved = tuple(unit._replace(start=unit.start - self.start, end=unit.end - self.start) for unit in inside)
        return moved or (QuotableUnit(self.kind, 0, len(self.text)),)

    def narrow(self, start: int, end: int) -> Evidence:
        """Cites characters `start` to `end` of these words, or all of them if the chunk is unknown."""
        if self.chunk is None:
            return self
        return Evidence.from_chunk(self.chunk, self.start + start, self.start + end, self.probability, self.part)

    def overlaps(self, other: Evidence) -> bool:
        one, two = self.place, other.place
        return one.file == two.file and one.start < two.end and two.start < one.end


class SupportLabel(StrEnum):
    """How surely the book supports a sentence of a language model."""

    SUPPORTED = "supported"
    UNVERIFIED = "unverified"  # plausible, but not proved
    UNSUPPORTED = "unsupported"  # contradicted, or foreign to the book


class Claim(NamedTuple):
    """What a sentence says, the sentence before it if it needs it, and the question if it says yes or no."""

    words: str
    context: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """How surely the evidence supports a sentence, and the words that do, or that are closest to it."""

    label: SupportLabel
    probability: float = 0.0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision whether the passages answer, on which every reply rests.

    With a `refusal` there is no answer; if it `is_unsure` too, the passages may answer. `is_partial`: only part of the
    question is answered, and `missing_parts` are the questions that are not. `unsure_parts` may be answered by their
    evidence, which is not sure enough to be quoted. `unread_parts` counts the last parts of a question with too
    many of them; nothing was searched for these. `is_off_topic`: nothing near the question was found, so that not even
    a language model is asked. `is_about_book`: the passages are what the book says about itself. The thresholds are
    those that the probability was compared with.
    """

    probability: float
    relevant_chunk_ids: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    quality: RetrievalQuality
    refusal: RefusalReason | None = None
    is_partial: bool = False
    is_unsure: bool = False
    unsure_parts: tuple[int, ...] = ()
    missing_parts: tuple[str, ...] = ()
    unread_parts: int = 0
    is_off_topic: bool = False
    is_about_book: bool = False
    answer_threshold: float = 0.0
    unsure_threshold: float = 0.0

    @property
    def answer_present(self) -> bool:
        return self.refusal is None

    def explain(self, status: ReplyStatus) -> str:
        """The probability and its range in words, and whether something else led to the status of the reply."""
        is_answered, is_refused = self.probability >= self.answer_threshold, self.probability < self.unsure_threshold
        expected = ReplyStatus.ANSWERED if is_answered else ReplyStatus.REFUSED if is_refused else ReplyStatus.UNSURE
        shown = floor(self.probability * 100) / 100  # rounded down, so that it never seems to reach a threshold
        words = describe_ranges(self.answer_threshold, self.unsure_threshold)[expected]
        other = f", but {status} for another reason" if status is not expected else ""
        return f"probability {shown:.2f}, {expected} {words}{other}"


def describe_ranges(answer_threshold: float, unsure_threshold: float) -> dict[ReplyStatus, str]:
    """The probabilities that lead to each kind of reply in words; if no reply can be unsure, it is left out."""
    answer, unsure = f"{answer_threshold:.2f}", f"{unsure_threshold:.2f}"
    ranges = {
        ReplyStatus.ANSWERED: f"from {answer}",
        ReplyStatus.UNSURE: f"from {unsure} to {answer}",
        ReplyStatus.REFUSED: f"below {unsure}",
    }
    if unsure_threshold >= answer_threshold:
        del ranges[ReplyStatus.UNSURE]
    return ranges
