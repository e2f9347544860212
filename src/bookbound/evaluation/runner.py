"""Asks every question of a set and grades the replies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Assessment, ReplyStatus
from bookbound.domain.ports import Assessor
from bookbound.domain.question import MAX_PASSAGES, NO_DEADLINE, Deadline, Question, QuestionPart
from bookbound.domain.reply import Answer, Reply, Unsure
from bookbound.evaluation import MetricsDict
from bookbound.evaluation.question_set import EvaluationQuestion
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP, FileSpan, QuoteLocator, QuoteSpans

MIN_QUOTE_SHARE = 0.5
FALSE_PREMISE_KIND = "false_premise"
ARTICLES = {"a", "an", "the"}  # left out as the token F1 of SQuAD does
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class GradedReply:
    """A reply compared with what the question set knows about its question.

    `closest_with_evidence` has for each closest quote of an unsure reply whether it contains evidence.
    """

    reply: Reply
    citations_with_evidence: tuple[bool, ...] = ()
    verbatim_citations: tuple[bool, ...] = ()
    evidence_coverage: float = 0.0
    has_required_text: bool = False
    token_f1: float = 0.0
    closest_with_evidence: tuple[bool, ...] = ()

    @property
    def status(self) -> ReplyStatus:
        return self.reply.status

    @property
    def is_answered(self) -> bool:
        return self.status is ReplyStatus.ANSWERED

    @property
    def is_unsure(self) -> bool:
        return self.status is ReplyStatus.UNSURE

    @property
    def cites_evidence(self) -> bool:
        return any(self.citations_with_evidence)


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The result of one question at the operating point, and without an answer threshold.

    `ranks` has for each evidence quote the position, from 0, of the first passage that contains it.
    """

    item: EvaluationQuestion
    ranks: tuple[int | None, ...]
    result: GradedReply
    result_without_threshold: GradedReply
    milliseconds: float

    def is_right(self, result: GradedReply) -> bool:
        """Whether a result is what the question set expects.

        An answer is right if the question is answerable, a citation has evidence, if any is given, and the required
        text is there. A refusal or an unsure reply is right if the question is unanswerable; so is an answer that
        corrects a false premise with evidence.
        """
        if self.item.answerable:
            cites_evidence = result.cites_evidence or not self.item.evidence
            return result.is_answered and cites_evidence and result.has_required_text
        return not result.is_answered or (self.item.kind == FALSE_PREMISE_KIND and result.cites_evidence)

    @property
    def probability(self) -> float:
        return self.result_without_threshold.reply.judgement.probability


async def run_questions(
    pipeline: Pipeline, items: Sequence[EvaluationQuestion], on_result: Callable[[], None] = lambda: None
) -> list[QuestionOutcome]:
    """Asks each question at the operating point, and again without a threshold if it was not answered."""
    locator = QuoteLocator(pipeline.book.index)
    evidence = [await locator.locate(item) for item in items]
    if items:
        await pipeline.ask(Question(items[0].question))  # loads the models before times are measured
    engine = replace(pipeline.engine, assessor=CachedAssessor(pipeline.engine.assessor))
    outcomes = []
    for item, quotes in zip(items, evidence, strict=True):
        outcomes.append(await _run_question(Pipeline(engine, pipeline.book), item, quotes, locator))
        on_result()
    return outcomes


class CachedAssessor:
    """Remembers assessments, because each question is asked several times."""

    def __init__(self, assessor: Assessor) -> None:
        self._assessor = assessor
        self._known: dict[tuple[QuestionPart, tuple[Passage, ...]], Assessment] = {}

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        key = (part, tuple(passages))
        if key not in self._known:
            self._known[key] = await self._assessor.assess(part, passages, deadline)
        return self._known[key]


def remove_answer_threshold(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the lowest threshold: it refuses only if no passage is relevant."""
    point = replace(pipeline.book.operating_point, answer_threshold=0.0)
    return replace(pipeline, book=replace(pipeline.book, operating_point=point))


async def _run_question(
    pipeline: Pipeline, item: EvaluationQuestion, quotes: Sequence[QuoteSpans], locator: QuoteLocator
) -> QuestionOutcome:
    question = Question(item.question)
    start = perf_counter()
    reply = await pipeline.ask(question)
    milliseconds = (perf_counter() - start) * 1000
    result = without_threshold = await _grade_reply(item, reply, quotes, locator)
    if not result.is_answered and pipeline.book.operating_point.answer_threshold > 0:
        reply = await remove_answer_threshold(pipeline).ask(question)
        without_threshold = await _grade_reply(item, reply, quotes, locator)
    retrieval = await pipeline.search(replace(question, k=MAX_PASSAGES))
    passages = [_to_span(passage.chunk.place) for passage in retrieval.passages]
    ranks = tuple(find_quote_rank(spans, passages) for spans in quotes)
    return QuestionOutcome(item, ranks, result, without_threshold, milliseconds)


async def _grade_reply(
    item: EvaluationQuestion, reply: Reply, quotes: Sequence[QuoteSpans], locator: QuoteLocator
) -> GradedReply:
    if isinstance(reply, Unsure):
        closest = [_to_span(evidence.place) for evidence in reply.closest]
        return GradedReply(reply, closest_with_evidence=find_evidence(closest, quotes))
    if not isinstance(reply, Answer):
        return GradedReply(reply)
    cited = [_to_span(citation.place) for citation in reply.citations]
    return GradedReply(
        reply,
        citations_with_evidence=find_evidence(cited, quotes),
        verbatim_citations=tuple([await locator.is_verbatim(citation) for citation in reply.citations]),
        evidence_coverage=sum(_compute_coverage(spans, cited) for spans in quotes) / len(quotes) if quotes else 0.0,
        has_required_text=all(text.lower() in reply.words.lower() for text in item.must_contain),
        token_f1=compute_token_f1(reply.words, " ".join(quote.text for quote in item.evidence)),
    )


def find_evidence(places: Sequence[FileSpan], quotes: Sequence[QuoteSpans]) -> tuple[bool, ...]:
    """For each place, whether it contains words of the evidence."""
    return tuple(any(span.overlap(place) for spans in quotes for span in spans) for place in places)


def _to_span(place: Place) -> FileSpan:
    return FileSpan(place.file, place.start, place.end)


def find_quote_rank(spans: QuoteSpans, passages: Sequence[FileSpan]) -> int | None:
    """The position of the first passage that contains at least half of a quote."""
    for rank, passage in enumerate(passages):
        if any(span.overlap(passage) >= max(1, MIN_QUOTE_SHARE * (span.end - span.start)) for span in spans):
            return rank
    return None


def _compute_coverage(spans: QuoteSpans, cited: Sequence[FileSpan]) -> float:
    """The share of a quote's characters that the citations contain; of several places the best covered one counts."""
    shares = []
    for file, start, end in spans:
        covered = (range(max(start, each.start), min(end, each.end)) for each in cited if each.file == file)
        shares.append(len(set().union(*covered)) / (end - start))
    return max(shares)


def compute_token_f1(answer: str, evidence: str) -> float:
    """The harmonic mean of precision and recall between the words of an answer and the evidence."""
    actual, expected = _count_tokens(answer), _count_tokens(HIDDEN_MARKUP.sub(" ", evidence))
    shared = (actual & expected).total()
    return 2 * shared / (actual.total() + expected.total()) if shared else 0.0


def _count_tokens(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text.casefold()) if word not in ARTICLES)


def build_result_row(outcome: QuestionOutcome) -> MetricsDict:
    """The result of one question as JSON."""
    item, result = outcome.item, outcome.result
    reply = result.reply
    shown = [each.text for each in reply.closest] if isinstance(reply, Unsure) else []
    return {
        "line": item.line,
        "id": item.id,
        "type": item.kind,
        "answerable": item.answerable,
        "question": item.question,
        "expected": describe_expected_answer(item),
        "status": result.status.value,
        "reason": reply.kind and reply.kind.value,
        "got": reply.words if isinstance(reply, Answer) else "\n".join([reply.text, *shown]),
        "verdict": describe_verdict(outcome),
        "probability": reply.judgement.probability,
        "ranks": [None if rank is None else rank + 1 for rank in outcome.ranks],
        "evidence_found": result.cites_evidence,
        "must_contain": result.has_required_text,
        "token_f1": result.token_f1,
        "milliseconds": outcome.milliseconds,
    }


def describe_expected_answer(item: EvaluationQuestion) -> str:
    """The expected answer or its evidence, or that a refusal is expected and why."""
    if item.answerable:
        return item.answer or "\n".join(quote.text for quote in item.evidence) or "An answer"
    return f"A refusal: {item.why}" if item.why else "A refusal"


def describe_verdict(outcome: QuestionOutcome) -> str:
    """`right`, or a few words about what is wrong."""
    if outcome.is_right(outcome.result):
        return "right"
    if not outcome.item.answerable:
        return "should be refused"
    if not outcome.result.is_answered:
        return "unsure" if outcome.result.is_unsure else "wrongly refused"
    return "other evidence" if outcome.item.evidence and not outcome.result.cites_evidence else "incomplete"
