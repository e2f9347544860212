"""Builds the reply to a question from what was found, judged and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookbound.answering.draft import Draft
from bookbound.answering.writers.quotes.quote_writer import quote_closest
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, QuestionKind, Retrieval, Understanding
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Unsure
from bookbound.domain.trace import Trace
from bookbound.text import extract_terms, is_exercise

MAX_CLOSEST_SECTIONS = 3
# Below the score from which passages are read, a section is about something else.
MIN_CLOSEST_SCORE = 0.3


@dataclass(frozen=True, slots=True)
class Findings:
    """What a reply rests on: the question as it was meant, the passages and the judgement.

    The reply to a message that is no question about the content has its `sentences` and a `note` already. `candidates`
    are the passages that a language model may read if the judgement is not sure.
    """

    understanding: Understanding
    retrieval: Retrieval
    judgement: Judgement
    sentences: tuple[AnswerSentence, ...] = ()
    note: str = ""
    candidates: tuple[Passage, ...] = ()

    @property
    def may_answer(self) -> bool:
        """Whether a writer may read the passages."""
        return self.judgement.answer_present or self.judgement.is_unsure


def build_reply(found: Findings, quotable: Findings, draft: Draft, trace: Trace) -> Reply:
    """Returns an answer of what the draft shows; if that is nothing, an unsure reply or a refusal.

    `quotable` has the same passages and evidence, with what goes on in the chunks next to them.
    """
    if draft.shown:
        return _build_answer(found, draft, trace)
    understanding, judgement = found.understanding, found.judgement
    reason = judgement.refusal or (
        RefusalReason.SELECTED_TEXT_MISSING
        if understanding.question.scope is AnswerScope.SELECTION
        else RefusalReason.INSUFFICIENT_GROUNDING
    )
    # An exercise is not quoted as an answer, but it may be the closest that the book has.
    is_exercise_only = judgement.answer_present and has_only_exercises(quotable.judgement.evidence)
    # If the local reader and the language model disagree, the reader of the book decides.
    if judgement.answer_present or (judgement.is_unsure and not draft.is_denied):
        passages = quotable.retrieval.passages
        quotes = quote_closest(understanding, passages, quotable.judgement, with_exercises=is_exercise_only)
        if quotes:
            return Unsure(reason, replace(judgement, refusal=reason, is_unsure=True), trace, quotes)
    judgement = replace(judgement, refusal=reason, is_unsure=False)
    is_question = understanding.kind is QuestionKind.QUESTION
    closest = _find_closest_sections(understanding, found.retrieval) if is_question else ()
    return Refusal(reason, judgement, trace, closest)


def _build_answer(found: Findings, draft: Draft, trace: Trace) -> Answer:
    judgement, sentences = found.judgement, tuple(draft.shown)
    used = {evidence.chunk_id for sentence in sentences for evidence in sentence.evidence}
    known = {passage.chunk.id: passage for passage in (*found.retrieval.passages, *found.candidates)}
    passages = tuple(passage for name, passage in known.items() if name in used)
    names = {passage.chunk.id for passage in found.retrieval.passages}
    added = (passage for passage in passages if passage.chunk.id not in names)
    trace = replace(trace, retrieval=replace(found.retrieval, passages=(*found.retrieval.passages, *added)))
    missing = _find_missing_parts(found.understanding, judgement, sentences)
    is_partial = judgement.is_partial or draft.is_missing_part or bool(missing)
    if draft.is_by_model:
        missing = ()  # it may answer a part from other words than the evidence, so what it leaves out is not known
        if not judgement.answer_present:  # it found the answer in what the local reader was not sure of
            relevant = tuple(passage.chunk.id for passage in passages)
            judgement = replace(judgement, relevant_chunk_ids=relevant, quality="Partial")
    if is_partial:
        judgement = replace(judgement, is_partial=True, quality="Partial")
    judgement = replace(judgement, missing_parts=missing, refusal=None, is_unsure=False)
    return Answer(sentences, passages, judgement, trace)


def has_only_exercises(evidence: Sequence[Evidence]) -> bool:
    """Returns whether there is evidence, and all of it is in exercises."""
    return bool(evidence) and all(piece.chunk is not None and is_exercise(piece.chunk) for piece in evidence)


def _find_closest_sections(understanding: Understanding, retrieval: Retrieval) -> tuple[Place, ...]:
    """Returns the places of the passages near the question, one a section; a heading that shares words comes first."""
    near = [passage for passage in retrieval.passages if passage.score >= MIN_CLOSEST_SCORE]
    places = [passage.chunk.place for passage in near if passage.chunk.id != SELECTION_CHUNK_ID]
    places.sort(key=lambda place: -len(understanding.terms.intersection(extract_terms(place.section))))
    return tuple({place.link: place for place in places}.values())[:MAX_CLOSEST_SECTIONS]


def _find_missing_parts(
    understanding: Understanding, judgement: Judgement, sentences: Sequence[AnswerSentence]
) -> tuple[str, ...]:
    """Returns the parts for which the answer cites nothing, if it cites something for another part."""
    cited = [evidence for sentence in sentences for evidence in sentence.evidence]
    answered = {piece.part for piece in judgement.evidence if any(map(piece.overlaps, cited))}
    missing = (part.text for at, part in enumerate(understanding.parts) if at not in answered)
    return tuple(missing) if answered else ()
