"""Ranks the passages that were read, decides whether they answer the question, and builds the reply."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.reading.question_parts import count_unread_parts, split_question
from bookbound.answering.run_state import RunState
from bookbound.answering.selection import can_answer_alone
from bookbound.answering.writers.quotes.quote_writer import quote_closest
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import (
    Assessment,
    Evidence,
    Judgement,
    PassageAssessment,
    RefusalReason,
    RetrievalQuality,
)
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Unsure
from bookbound.domain.trace import Trace
from bookbound.text.exercises import is_exercise
from bookbound.text.tokens import extract_terms

MAX_EVIDENCE, MAX_CLOSEST_SECTIONS, MIN_CLOSEST_SCORE = 8, 3, 0.3
SHOWN_PART_SHARE = 0.5
"""The share of the answer threshold that a part needs to be shown with the others if the question is answered."""
UNSURE_REASONS = (RefusalReason.INSUFFICIENT_GROUNDING, RefusalReason.SELECTED_TEXT_MISSING)


def decide(question: Question, retrieval: Retrieval, assessment: Assessment, point: OperatingPoint) -> Judgement:
    """Decides whether the passages answer, which of them are relevant, and which words are the evidence.

    If a part of the question surely is not answered, the answer is partial, and only the words for the other parts are
    evidence.
    """
    read = list(zip(retrieval.passages, assessment.readings, strict=True))
    is_from_selection = question.scope is AnswerScope.SELECTION
    # The reader chose a selection, so no search has to prove that it is relevant.
    least = 0.0 if is_from_selection else point.relevance_threshold
    relevant = [(passage, reading) for passage, reading in read if reading.probability >= least]
    can_answer = not is_from_selection or can_answer_alone(question.text, question.selection or "")
    probability = assessment.probability if can_answer else 0.0
    refusal = _choose_refusal(question, retrieval.passages, bool(relevant), probability >= point.answer_threshold)
    is_unsure = bool(relevant) and refusal in UNSURE_REASONS and probability >= point.unsure_threshold
    possible, shown = (
        {part for part, chance in enumerate(assessment.parts) if chance >= threshold}
        for threshold in (point.unsure_threshold, SHOWN_PART_SHARE * point.answer_threshold)
    )
    is_missing_part = (refusal is None or is_unsure) and 0 < len(possible) < len(assessment.parts)
    unread_parts = count_unread_parts(question.text)
    mean = sum(reading.probability for _, reading in relevant) / len(relevant) if relevant else 0.0
    return Judgement(
        probability=probability,
        relevant_chunk_ids=tuple(passage.chunk.id for passage, _ in relevant),
        evidence=tuple(_collect_evidence(relevant, possible if is_missing_part else None)),
        quality=_rate_quality(len(relevant), mean, refusal is None),
        refusal=refusal,
        is_partial=is_missing_part or (unread_parts > 0 and (refusal is None or is_unsure)),
        is_unsure=is_unsure,
        unread_parts=unread_parts,
        unsure_parts=tuple(sorted(possible - shown)) if shown and refusal is None else (),
        answer_threshold=point.answer_threshold,
        unsure_threshold=point.unsure_threshold,
    )


def _choose_refusal(
    question: Question, passages: Sequence[Passage], has_relevant: bool, is_answered: bool
) -> RefusalReason | None:
    if not passages:
        return RefusalReason.EMPTY_RETRIEVAL
    if question.scope is AnswerScope.SELECTION:
        return None if has_relevant and is_answered else RefusalReason.SELECTED_TEXT_MISSING
    # The reader chose the selection, so the threshold applies to the passages of the book.
    best = max((passage.score for passage in passages if passage.chunk.id != SELECTION_CHUNK_ID), default=0.0)
    # A threshold in the question defines low relevance; otherwise the assessor does.
    if best < question.threshold or not (has_relevant or question.threshold):
        return RefusalReason.LOW_RELEVANCE
    return None if has_relevant and is_answered else RefusalReason.INSUFFICIENT_GROUNDING


def _rate_quality(relevant_count: int, mean: float, is_answered: bool) -> RetrievalQuality:
    if relevant_count >= 2 and is_answered and mean >= 0.6:
        return "Good"
    return "Poor" if not relevant_count or mean < 0.3 else "Partial"


def _collect_evidence(relevant: Sequence[tuple[Passage, PassageAssessment]], parts: Set[int] | None) -> list[Evidence]:
    """Returns the most probable words of the relevant passages, best first, and at least the best for each part."""
    found = [
        Evidence.from_chunk(passage.chunk, span.start, span.end, span.probability, span.part)
        for passage, reading in relevant
        for span in reading.spans
        if parts is None or span.part in parts
    ]
    found.sort(key=lambda evidence: -evidence.probability)
    best = {evidence.part: evidence for evidence in reversed(found)}.values()
    found.sort(key=lambda evidence: evidence not in best)
    return sorted(found[:MAX_EVIDENCE], key=lambda evidence: -evidence.probability)


def rank_passages(question: Question, retrieval: Retrieval, assessment: Assessment) -> tuple[Retrieval, Assessment]:
    """Returns the `k` best passages as they were read, with their readings, after the selection.

    If the question has several parts, the best passage for each part comes before the second best.
    """
    found = [i for i, passage in enumerate(retrieval.passages) if passage.chunk.id != SELECTION_CHUNK_ID]
    first = [i for i in range(len(retrieval.passages)) if i not in found]
    ranks = [_rank_by_probability(assessment.readings, found, part) for part in range(len(assessment.parts))]
    whole = _rank_by_probability(assessment.readings, found)
    best = sorted(found, key=lambda i: (min((rank[i] for rank in ranks), default=0), whole[i]))
    kept = [*first, *best[: question.k]]
    return (
        replace(retrieval, passages=tuple(retrieval.passages[i] for i in kept)),
        replace(assessment, readings=tuple(assessment.readings[i] for i in kept)),
    )


def _rank_by_probability(
    readings: Sequence[PassageAssessment], found: Sequence[int], part: int | None = None
) -> dict[int, int]:
    """Returns the rank of each passage, for the whole question or for one part of it."""

    def probability(i: int) -> float:
        if part is None:
            return readings[i].probability
        return max((span.probability for span in readings[i].spans if span.part == part), default=0.0)

    return {i: rank for rank, i in enumerate(sorted(found, key=lambda i: -probability(i)))}


def build_reply(retrieval: Retrieval, judgement: Judgement, run: RunState, trace: Trace) -> Reply:
    """Returns an answer of the supported sentences; if there are none, an unsure reply or a refusal."""
    if not run.sentences:
        reason = judgement.refusal or (
            RefusalReason.SELECTED_TEXT_MISSING
            if run.question.scope is AnswerScope.SELECTION
            else RefusalReason.INSUFFICIENT_GROUNDING
        )
        found, evidenced = run.quotable or (retrieval, judgement)
        # An exercise is not quoted as an answer, but it may be the closest that the book has.
        is_exercise_only = judgement.answer_present and has_only_exercises(evidenced.evidence)
        # A draft without a supported sentence does not show that the book says nothing; a writer who says so does.
        is_denied = run.is_missing_part and not run.has_draft
        if judgement.is_unsure or is_exercise_only or (judgement.answer_present and not is_denied):
            quotes = quote_closest(run.question, found.passages, evidenced, with_exercises=is_exercise_only)
            if quotes:
                return Unsure(reason, replace(judgement, refusal=reason, is_unsure=True), trace, quotes)
        judgement = replace(judgement, refusal=reason, is_unsure=False)
        return Refusal(reason, judgement, trace, () if trace.note else _find_closest_sections(run.question, retrieval))
    used = {evidence.chunk_id for sentence in run.sentences for evidence in sentence.evidence}
    passages = tuple(passage for passage in retrieval.passages if passage.chunk.id in used)
    missing = _find_missing_parts(run.question, judgement, run.sentences)
    is_partial = judgement.is_partial or run.is_missing_part or bool(missing)
    # A language model may answer a part from other words than the evidence, so what it leaves out is not known.
    missing = () if run.can_refuse else missing
    # An unsure judgement only leads to sentences if a language model read the passages and found the answer.
    judgement = replace(judgement, is_partial=is_partial, missing_parts=missing, refusal=None, is_unsure=False)
    return Answer(tuple(run.sentences), passages, judgement, trace)


def has_only_exercises(evidence: Sequence[Evidence]) -> bool:
    """Returns whether there is evidence, and all of it is in exercises."""
    return bool(evidence) and all(piece.chunk is not None and is_exercise(piece.chunk) for piece in evidence)


def _find_closest_sections(question: Question, retrieval: Retrieval) -> tuple[Place, ...]:
    """Returns the places of the passages near the question, one a section; a heading that shares words comes first."""
    near = [passage for passage in retrieval.passages if passage.score >= MIN_CLOSEST_SCORE]
    places = [passage.chunk.place for passage in near if passage.chunk.id != SELECTION_CHUNK_ID]
    words = set(extract_terms(question.text))
    places.sort(key=lambda place: -len(words.intersection(extract_terms(place.section))))
    return tuple({place.link: place for place in places}.values())[:MAX_CLOSEST_SECTIONS]


def _find_missing_parts(
    question: Question, judgement: Judgement, sentences: Sequence[AnswerSentence]
) -> tuple[str, ...]:
    """Returns the parts for which the answer cites nothing, if it cites something for another part."""
    parts = split_question(question.text)
    cited = [evidence for sentence in sentences for evidence in sentence.evidence]
    answered = {piece.part for piece in judgement.evidence if any(map(piece.overlaps, cited))}
    return tuple(text for part, text in enumerate(parts) if part not in answered) if answered else ()
