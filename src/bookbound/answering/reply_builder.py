"""Builds the reply to a question from what was found, judged and written."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from bookbound.answering.writers.quotes.quote_writer import quote_closest
from bookbound.domain.chunk import Place
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.ports import Verifier
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, QuestionKind, Retrieval, Understanding
from bookbound.domain.reply import (
    SUPPORT_THRESHOLD,
    Answer,
    AnswerSentence,
    MissingPart,
    Refusal,
    Reply,
    Unsure,
    WriterEvent,
)
from bookbound.domain.trace import StageClock, TokenUsage, Trace
from bookbound.text import extract_terms, is_exercise

MAX_CLOSEST_SECTIONS = 3
# Below the score from which passages are read, a section is about something else.
MIN_CLOSEST_SCORE = 0.3


@dataclass(frozen=True, slots=True)
class Findings:
    """What a reply rests on: the question as it was meant, the passages and the judgement.

    The reply to a message that is no question about the content has its `sentences` and a `note` already.
    """

    understanding: Understanding
    retrieval: Retrieval
    judgement: Judgement
    sentences: tuple[AnswerSentence, ...] = ()
    note: str = ""

    @property
    def may_answer(self) -> bool:
        """Whether a writer may read the passages."""
        return self.judgement.answer_present or self.judgement.is_unsure


@dataclass(slots=True)
class Draft:
    """What a writer wrote: the supported sentences, how many it drafted, and what it said about them.

    `can_refuse`: the writer read the passages and may find that they do not answer. `is_degraded`: a language model
    failed to write the answer, or to finish it.
    """

    writer: str
    can_refuse: bool = False
    sentences: list[AnswerSentence] = field(default_factory=list)
    drafted: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    is_missing_part: bool = False
    is_degraded: bool = False

    async def count_sentences(self, events: AsyncGenerator[WriterEvent]) -> AsyncGenerator[WriterEvent]:
        """Yields the events of a writer and counts its sentences, supported or not."""
        async with aclosing(events):
            async for event in events:
                self.drafted += isinstance(event, AnswerSentence)
                yield event

    def add(self, event: WriterEvent) -> AnswerSentence | None:
        """Adds an event that passed the verifier, and returns it if it is a sentence."""
        if isinstance(event, TokenUsage):
            self.usage += event
        elif isinstance(event, MissingPart):
            self.is_missing_part = True
        else:
            self.sentences.append(event)
            return event
        return None


async def keep_supported(
    draft: AsyncGenerator[WriterEvent], verifier: Verifier, clock: StageClock | None = None
) -> AsyncGenerator[WriterEvent]:
    """Yields the sentences of a draft that their evidence supports, each citing only the words that support it."""
    clock = clock or StageClock()
    async with aclosing(draft):
        while True:
            with clock.measure("write"):
                event = await anext(draft, None)
            if event is None:
                return
            if isinstance(event, AnswerSentence):
                with clock.measure("verify"):
                    support = await verifier.support(event.text, event.evidence)
                # Not "below the threshold", which is also false for a probability that is not a number.
                if not (support.evidence and support.probability >= SUPPORT_THRESHOLD):
                    continue
                event = replace(event, evidence=support.evidence, support=support.probability)
            yield event


def build_reply(found: Findings, quotable: Findings, draft: Draft, trace: Trace) -> Reply:
    """Returns an answer of the supported sentences; if there are none, an unsure reply or a refusal.

    `quotable` has the same passages and evidence, with what goes on in the chunks next to them.
    """
    if draft.sentences:
        return _build_answer(found, draft, trace)
    understanding, judgement = found.understanding, found.judgement
    reason = judgement.refusal or (
        RefusalReason.SELECTED_TEXT_MISSING
        if understanding.question.scope is AnswerScope.SELECTION
        else RefusalReason.INSUFFICIENT_GROUNDING
    )
    # An exercise is not quoted as an answer, but it may be the closest that the book has.
    is_exercise_only = judgement.answer_present and has_only_exercises(quotable.judgement.evidence)
    # A draft without a supported sentence does not show that the book says nothing; a writer who says so does.
    is_denied = draft.is_missing_part and not draft.drafted
    if judgement.is_unsure or is_exercise_only or (judgement.answer_present and not is_denied):
        passages = quotable.retrieval.passages
        quotes = quote_closest(understanding, passages, quotable.judgement, with_exercises=is_exercise_only)
        if quotes:
            return Unsure(reason, replace(judgement, refusal=reason, is_unsure=True), trace, quotes)
    judgement = replace(judgement, refusal=reason, is_unsure=False)
    is_question = understanding.kind is QuestionKind.QUESTION
    closest = _find_closest_sections(understanding, found.retrieval) if is_question else ()
    return Refusal(reason, judgement, trace, closest)


def _build_answer(found: Findings, draft: Draft, trace: Trace) -> Answer:
    judgement = found.judgement
    used = {evidence.chunk_id for sentence in draft.sentences for evidence in sentence.evidence}
    passages = tuple(passage for passage in found.retrieval.passages if passage.chunk.id in used)
    missing = _find_missing_parts(found.understanding, judgement, draft.sentences)
    is_partial = judgement.is_partial or draft.is_missing_part or bool(missing)
    # A language model may answer a part from other words than the evidence, so what it leaves out is not known.
    missing = () if draft.can_refuse else missing
    # An unsure judgement only leads to sentences if a language model read the passages and found the answer.
    judgement = replace(judgement, is_partial=is_partial, missing_parts=missing, refusal=None, is_unsure=False)
    return Answer(tuple(draft.sentences), passages, judgement, trace)


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
