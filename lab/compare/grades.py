"""Grades what a system found, in the same way for all systems."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from bookbound.evaluation import MetricsDict, compute_mean
from bookbound.evaluation.metrics import compute_retrieval_metrics
from bookbound.evaluation.question_set import EvaluationQuestion
from bookbound.evaluation.quote_locations import FileSpan, QuoteSpans
from bookbound.evaluation.runner import find_evidence, find_quote_rank


class GradedQuestion(NamedTuple):
    """How one question went.

    `rank` is the position of the first passage with evidence. `score` is how sure the system is. An answer is right
    if it has words of the evidence and the required text; `is_given` is whether the system answers by itself.
    """

    answerable: bool
    has_evidence: bool
    rank: int | None
    score: float
    is_right: bool
    is_given: bool
    length: int


def grade(item: EvaluationQuestion, evidence: Sequence[QuoteSpans], reply: dict[str, Any]) -> GradedQuestion:
    passages = [FileSpan(file, start, end) for file, start, end, _ in reply["passages"]]
    ranks = [find_quote_rank(spans, passages) for spans in evidence]
    answer = reply["answer"]
    cited = [FileSpan(*place) for place in answer["places"]]
    has_evidence = any(find_evidence(cited, evidence)) or not evidence
    has_text = all(text.lower() in answer["text"].lower() for text in item.must_contain)
    return GradedQuestion(
        answerable=item.answerable,
        has_evidence=bool(evidence),
        rank=min((rank for rank in ranks if rank is not None), default=None),
        score=answer["score"],
        is_right=item.answerable and answer["is_given"] and has_evidence and has_text,
        is_given=answer["is_given"],
        length=len(answer["text"]),
    )


def summarize(graded: Sequence[GradedQuestion]) -> MetricsDict:
    """The figures of all questions together."""
    answerable = [each for each in graded if each.answerable]
    given = [each for each in graded if each.is_given]
    return {
        "questions": len(graded),
        "answerable": len(answerable),
        **compute_retrieval_metrics([each.rank for each in answerable if each.has_evidence]),
        "auc": compute_auc([each.score for each in answerable], [each.score for each in graded if not each.answerable]),
        "right": compute_mean([each.is_right for each in answerable]),
        "wrong": compute_mean([each.is_given and not each.is_right for each in graded]),
        "right_of_given": compute_mean([each.is_right for each in given]),
        "right_all": compute_mean([each.is_right or not (each.answerable or each.is_given) for each in graded]),
        "right_all_best_threshold": best_threshold_share(graded),
        "answer_characters": median([each.length for each in given]) if given else None,
    }


def compute_auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """How probably a positive one scores higher than a negative one; a tie counts half."""
    pairs = [(one > other) + 0.5 * (one == other) for one in positive for other in negative]
    return compute_mean(pairs)


def best_threshold_share(graded: Sequence[GradedQuestion]) -> float | None:
    """The share of right replies with the score threshold that is best for these very questions.

    Below the threshold there is no answer, which is right if the question is unanswerable.
    """
    if not graded:
        return None
    ordered = sorted(graded, key=lambda each: -each.score)
    right = best = sum(not each.answerable for each in ordered)
    for at, each in enumerate(ordered):
        right += int(each.is_right) - int(not each.answerable and each.is_given)
        if at + 1 == len(ordered) or ordered[at + 1].score < each.score:
            best = max(best, right)
    return best / len(graded)
