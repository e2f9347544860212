"""Asks every question of a set and grades the replies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import AnswerabilityModel
from bookbound.domain.question import MAX_PASSAGES, Question
from bookbound.domain.reply import Answer, Reply
from bookbound.evaluation.question_set import EvaluationQuestion
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP, FileSpan, QuoteLocator, QuoteSpans

MIN_QUOTE_SHARE = 0.5
FALSE_PREMISE_KIND = "false_premise"
ARTICLES = {"a", "an", "the"}
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class GradedReply:
    """A reply held against what is known of its question."""

    reply: Reply
    holding: tuple[bool, ...]
    verbatim: tuple[bool, ...]
    covered: float
    contained: bool
    token_f1: float

    @property
    def answered(self) -> bool:
        """Whether there is an answer without the reservation that it may be none."""
        return isinstance(self.reply, Answer) and self.reply.judgement.sure

    @property
    def cited(self) -> bool:
        """Whether a citation holds words of the evidence."""
        return any(self.holding)


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What became of one question: at the operating point, and when every question is dared that can be.

    `ranks` says for each piece of evidence which of the passages, counted from 0, is the first to hold it.
    """

    item: EvaluationQuestion
    ranks: tuple[int | None, ...]
    given: GradedReply
    dared: GradedReply
    milliseconds: float

    def right(self, marks: GradedReply) -> bool:
        """Whether a reply is as good as it can be.

        An answer is right where the question has one, a citation holds evidence and the words that must be are there.
        What has no answer must be refused; to correct a false premise, where the set says with which evidence, is as
        good.
        """
        if self.item.answerable:
            return marks.answered and marks.cited and marks.contained
        return not marks.answered or (self.item.kind == FALSE_PREMISE_KIND and marks.cited)

    @property
    def probability(self) -> float:
        return self.dared.reply.judgement.probability


async def run_questions(
    pipeline: Pipeline, items: Sequence[EvaluationQuestion], tick: Callable[[], None] = lambda: None
) -> list[QuestionOutcome]:
    """Every question of a set, put to the book at the operating point of the pipeline, and once more if refused."""
    places = QuoteLocator(pipeline.index)
    evidence = [await places.of(item) for item in items]
    if items:
        # Wakes the models, and is not remembered: the first question, too, is read while its time is taken.
        await pipeline.ask(Question(items[0].question))
    pipeline = replace(pipeline, examiner=CachedAnswerabilityModel(pipeline.examiner))
    outcomes = []
    for item, stands in zip(items, evidence, strict=True):
        outcomes.append(await _run_question(pipeline, item, stands, places))
        tick()
    return outcomes


class CachedAnswerabilityModel:
    """An examiner that knows its last examination: a question is put more than once, and only the first time counts."""

    def __init__(self, examiner: AnswerabilityModel) -> None:
        self._examiner = examiner
        self._last: tuple[tuple[str, tuple[Passage, ...]], Assessment] | None = None

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        asked = (question, tuple(passages))
        if self._last is None or self._last[0] != asked:
            self._last = (asked, await self._examiner.examine(question, passages))
        return self._last[1]


def remove_answer_threshold(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the lowest threshold: it refuses only where no passage is relevant."""
    return replace(pipeline, point=replace(pipeline.point, answered=0.0))


async def _run_question(
    pipeline: Pipeline, item: EvaluationQuestion, evidence: tuple[QuoteSpans, ...], places: QuoteLocator
) -> QuestionOutcome:
    question = Question(item.question)
    start = perf_counter()
    reply = await pipeline.ask(question)
    took = (perf_counter() - start) * 1000
    given = dared = await _grade_reply(item, reply, evidence, places)
    if not given.answered and pipeline.point.answered > 0:
        dared = await _grade_reply(item, await remove_answer_threshold(pipeline).ask(question), evidence, places)
    deep = await pipeline.search(replace(question, k=MAX_PASSAGES))
    found = [FileSpan(place.file, place.start, place.end) for place in (each.chunk.place for each in deep.passages)]
    return QuestionOutcome(item, tuple(_find_quote_rank(stands, found) for stands in evidence), given, dared, took)


async def _grade_reply(
    item: EvaluationQuestion, reply: Reply, evidence: tuple[QuoteSpans, ...], places: QuoteLocator
) -> GradedReply:
    answered = isinstance(reply, Answer) and reply.sure
    citations = reply.citations if answered else ()
    cited = [FileSpan(each.place.file, each.place.start, each.place.end) for each in citations]
    return GradedReply(
        reply=reply,
        holding=tuple(any(stand.shared(each) for stands in evidence for stand in stands) for each in cited),
        verbatim=tuple([await places.is_verbatim(citation) for citation in citations]),
        covered=sum(_compute_coverage(stands, cited) for stands in evidence) / len(evidence) if evidence else 0.0,
        contained=answered and all(words.lower() in reply.text.lower() for words in item.must_contain),
        token_f1=compute_token_f1(reply.text, " ".join(quote.text for quote in item.evidence)) if answered else 0.0,
    )


def _find_quote_rank(stands: QuoteSpans, passages: Sequence[FileSpan]) -> int | None:
    """The first passage that holds at least half of a quote."""
    held = (rank for rank, passage in enumerate(passages) if any(_holds_enough(stand, passage) for stand in stands))
    return next(held, None)


def _holds_enough(stand: FileSpan, passage: FileSpan) -> bool:
    return stand.shared(passage) >= max(1, MIN_QUOTE_SHARE * (stand.end - stand.start))


def _compute_coverage(stands: QuoteSpans, cited: Sequence[FileSpan]) -> float:
    """The share of a quote's characters, where it stands best, that the citations hold."""
    shares = []
    for file, start, end in stands:
        held = (range(max(start, each.start), min(end, each.end)) for each in cited if each.file == file)
        shares.append(len(set().union(*held)) / (end - start))
    return max(shares)


def compute_token_f1(answer: str, evidence: str) -> float:
    """How far the words of an answer are those of the evidence: the harmonic mean of precision and recall."""
    said, wanted = _count_tokens(answer), _count_tokens(HIDDEN_MARKUP.sub(" ", evidence))
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


def _count_tokens(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text.casefold()) if word not in ARTICLES)


MetricsDict = dict[str, Any]


def build_result_row(outcome: QuestionOutcome) -> MetricsDict:
    """What became of one question."""
    item, reply = outcome.item, outcome.given.reply
    return {
        "line": item.line,
        "id": item.id,
        "type": item.kind,
        "answerable": item.answerable,
        "question": item.question,
        "expected": describe_expected_answer(outcome),
        "status": "answered" if isinstance(reply, Answer) else str(reply.kind.value),
        "got": reply.text,
        "verdict": describe_verdict(outcome),
        "probability": reply.judgement.probability,
        "ranks": [None if rank is None else rank + 1 for rank in outcome.ranks],
        "evidence_found": outcome.given.cited,
        "must_contain": outcome.given.contained,
        "token_f1": outcome.given.token_f1,
        "milliseconds": outcome.milliseconds,
    }


def describe_expected_answer(outcome: QuestionOutcome) -> str:
    """The answer that the set has, its evidence where it has none, or that there is none and why."""
    item = outcome.item
    if item.answerable:
        return item.answer or "\n".join(quote.text for quote in item.evidence)
    return f"A refusal: {item.why}" if item.why else "A refusal"


def describe_verdict(outcome: QuestionOutcome) -> str:
    """`right`, or what is wrong, in a few words."""
    marks, item = outcome.given, outcome.item
    if outcome.right(marks):
        return "right"
    if not item.answerable:
        return "should be refused"
    if not marks.answered:
        return "wrongly refused"
    return "other evidence" if not marks.cited else "incomplete"
