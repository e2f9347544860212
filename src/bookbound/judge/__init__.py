"""May we answer? Passages and an examination become a judgement."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID, Question, Retrieval, Scope
from bookbound.finding import Evidence, Examination, Judgement, Quality, Reading, RefusalKind

EVIDENCE = 8


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The probabilities from which on a question counts as surely answered, and a passage as relevant.

    `drafted` is from where on there is a reply at all: a language model is asked, which may find that there is no
    answer, or the book's own words are offered with a reservation. Without it there is none below `answered`.
    """

    answered: float
    relevant: float
    drafted: float | None = None

    @property
    def offered(self) -> float:
        return self.answered if self.drafted is None else min(self.drafted, self.answered)


def judge(question: Question, retrieval: Retrieval, examination: Examination, point: OperatingPoint) -> Judgement:
    """Whether the passages answer, which of them matter, and the words of the book that say so.

    A question of several parts is answered where any of them is, and in part where another is not: then only the words
    for what is answered are evidence.
    """
    read = list(zip(retrieval.passages, examination.readings, strict=True))
    relevant = [(passage, reading) for passage, reading in read if reading.probability >= point.relevant]
    probability = max(examination.probability, *examination.parts, 0.0)
    refusal = _refusal(question, retrieval.passages, bool(relevant), probability >= point.offered)
    said = {part for part, chance in enumerate(examination.parts) if chance >= point.offered}
    # Where no part reaches the point by itself, it is the question as a whole that does.
    partial = refusal is None and 0 < len(said) < len(examination.parts)
    mean = sum(reading.probability for _, reading in relevant) / len(relevant) if relevant else 0.0
    return Judgement(
        probability=probability,
        relevant=tuple(passage.chunk.id for passage, _ in relevant),
        evidence=tuple(_evidence(relevant, said if partial else None)),
        quality=_quality(len(relevant), mean, refusal is None),
        refusal=refusal,
        partial=partial,
        sure=probability >= point.answered,
    )


def _refusal(question: Question, passages: Sequence[Passage], relevant: bool, answered: bool) -> RefusalKind | None:
    if not passages:
        return RefusalKind.EMPTY_RETRIEVAL
    if question.scope is Scope.SELECTION:
        return None if relevant and answered else RefusalKind.SELECTED_TEXT_MISSING
    # A selection's score is given, not measured: what is compared with the threshold is the book's own.
    best = max((passage.score for passage in passages if passage.chunk.id != SELECTION_ID), default=0.0)
    # Whoever gives a threshold says with it what low relevance is; otherwise the examiner does.
    if best < question.threshold or not (relevant or question.threshold):
        return RefusalKind.LOW_RELEVANCE
    if relevant and answered:
        return None
    return RefusalKind.INSUFFICIENT_GROUNDING


def _quality(relevant: int, mean: float, answered: bool) -> Quality:
    if relevant >= 2 and answered and mean >= 0.6:
        return "Good"
    return "Poor" if not relevant or mean < 0.3 else "Partial"


def _evidence(relevant: Sequence[tuple[Passage, Reading]], parts: Set[int] | None) -> list[Evidence]:
    """The likeliest words of the relevant passages, verbatim, best first; the best for each part is among them."""
    found = [
        Evidence.of(passage, span.start, span.end, span.probability, span.part)
        for passage, reading in relevant
        for span in reading.spans
        if parts is None or span.part in parts
    ]
    found.sort(key=lambda evidence: -evidence.probability)
    best = {evidence.part: evidence for evidence in reversed(found)}.values()
    found.sort(key=lambda evidence: evidence not in best)
    return sorted(found[:EVIDENCE], key=lambda evidence: -evidence.probability)
