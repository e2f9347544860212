"""The figures of a question set, as plain values under names that stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from bookbound.dialogue import Answer
from bookbound.measure.curve import calibration_error, curve, reliability
from bookbound.measure.outcome import Outcome
from bookbound.measure.statistic import percentile, rounded, share

DEPTHS = (1, 5, 20)
FORMAT = 1
Plain = dict[str, Any]
Ranks = Sequence[int | None]


def figures(outcomes: Sequence[Outcome]) -> Plain:
    """Everything that is measured; a figure that nothing speaks for is null."""
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    bins = reliability(outcomes)
    measured: Plain = {
        "format": FORMAT,
        "questions": {
            "all": len(outcomes),
            "answerable": len(answerable),
            "unanswerable": len(outcomes) - len(answerable),
        },
        "retrieval": {
            "by_question": _retrieval([_first(outcome.ranks) for outcome in answerable]),
            "by_evidence": _retrieval([rank for outcome in answerable for rank in outcome.ranks]),
        },
        "answers": _answers(outcomes, answerable),
        "refusals": _refusals(outcomes),
        "citations": _citations(answerable, outcomes),
        "latency_ms": _latency(outcomes),
        "calibration": {"ece": calibration_error(bins), "bins": [asdict(each) for each in bins]},
        "curve": [row.plain() for row in curve(outcomes)],
        "rows": [row(outcome) for outcome in outcomes],
    }
    return rounded(measured)


def row(outcome: Outcome) -> Plain:
    """What became of one question."""
    item, reply = outcome.item, outcome.given.reply
    return {
        "line": item.line,
        "id": item.id,
        "type": item.kind,
        "answerable": item.answerable,
        "question": item.question,
        "expected": expected(outcome),
        "status": "answered" if isinstance(reply, Answer) else str(reply.kind.value),
        "got": reply.text,
        "verdict": verdict(outcome),
        "probability": reply.judgement.probability,
        "ranks": [None if rank is None else rank + 1 for rank in outcome.ranks],
        "evidence_found": outcome.given.cited,
        "must_contain": outcome.given.contained,
        "token_f1": outcome.given.token_f1,
        "milliseconds": outcome.milliseconds,
    }


def expected(outcome: Outcome) -> str:
    """The answer that the set has, its evidence where it has none, or that there is none and why."""
    item = outcome.item
    if item.answerable:
        return item.answer or "\n".join(quote.text for quote in item.evidence)
    return f"A refusal: {item.why}" if item.why else "A refusal"


def verdict(outcome: Outcome) -> str:
    """`right`, or what is wrong, in a few words."""
    marks, item = outcome.given, outcome.item
    if outcome.right(marks):
        return "right"
    if not item.answerable:
        return "should be refused"
    if not marks.answered:
        return "wrongly refused"
    return "other evidence" if not marks.cited else "incomplete"


def _first(ranks: Ranks) -> int | None:
    return min((rank for rank in ranks if rank is not None), default=None)


def _retrieval(ranks: Ranks) -> Plain:
    recall = {f"recall@{depth}": share([rank is not None and rank < depth for rank in ranks]) for depth in DEPTHS}
    return {**recall, "mrr": share([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])}


def _answers(outcomes: Sequence[Outcome], answerable: Sequence[Outcome]) -> Plain:
    """Over all answerable questions, where one that is refused counts nothing, and over those that were answered."""
    given = [outcome for outcome in outcomes if outcome.given.answered]
    measures: dict[str, Callable[[Outcome], bool | float]] = {
        "evidence_found": lambda outcome: outcome.given.cited,
        "token_f1": lambda outcome: outcome.given.token_f1,
        "must_contain": lambda outcome: outcome.given.contained,
        "correct_and_cited": lambda outcome: outcome.right(outcome.given),
    }
    answered = [outcome for outcome in answerable if outcome.given.answered]
    return {
        "given": len(given),
        "answered": share([outcome.given.answered for outcome in answerable]),
        **{name: share([measure(each) for each in answerable]) for name, measure in measures.items()},
        "precision": share([outcome.right(outcome.given) for outcome in given]),
        "where_answered": {name: share([measure(each) for each in answered]) for name, measure in measures.items()},
    }


def _refusals(outcomes: Sequence[Outcome]) -> Plain:
    """Recall: how many that should be refused are. Precision: how many of the refused should be.

    The precision of a kind is that of its refusals together with the wrong ones of answerable questions. A false
    premise that is corrected is right and not refused, so it counts beside them.
    """
    kinds: dict[bool, dict[str, list[Outcome]]] = {True: defaultdict(list), False: defaultdict(list)}
    for outcome in outcomes:
        kinds[outcome.item.answerable][outcome.item.kind].append(outcome)
    wrong = sum(_refused(asked) for asked in kinds[True].values())
    every = [outcome for asked in kinds[False].values() for outcome in asked]
    return {
        **_precise(every, wrong),
        "by_kind": {kind: _precise(asked, wrong) for kind, asked in sorted(kinds[False].items())},
        "wrongly_refused": {
            kind: {"questions": len(asked), "refused": _refused(asked)} for kind, asked in sorted(kinds[True].items())
        },
    }


def _precise(asked: Sequence[Outcome], wrong: int) -> Plain:
    refused = _refused(asked)
    return {
        "questions": len(asked),
        "refused": refused,
        "corrected": sum(outcome.given.answered and outcome.right(outcome.given) for outcome in asked),
        "precision": refused / (refused + wrong) if refused + wrong else None,
        "recall": refused / len(asked) if asked else None,
    }


def _refused(asked: Sequence[Outcome]) -> int:
    return sum(not outcome.given.answered for outcome in asked)


def _citations(answerable: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Plain:
    answered = [outcome.given for outcome in answerable if outcome.given.answered]
    verbatim = [is_it for outcome in outcomes for is_it in outcome.given.verbatim]
    return {
        "citations": len(verbatim),
        "hold_evidence": share([holds for marks in answered for holds in marks.holding]),
        "evidence_covered": share([marks.covered for marks in answered]),
        "verbatim": share(verbatim),
    }


def _latency(outcomes: Sequence[Outcome]) -> Plain:
    stages: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        trace = outcome.given.reply.trace
        parts = {"embed": trace.retrieval.embed_ms, "search": trace.retrieval.search_ms, **trace.timings}
        for stage, milliseconds in parts.items():
            stages[stage].append(milliseconds)
    return {
        "all": _times([outcome.milliseconds for outcome in outcomes]),
        "by_stage": {stage: _times(taken) for stage, taken in stages.items()},
    }


def _times(taken: Sequence[float]) -> Plain:
    return {"p50": percentile(taken, 0.5), "p95": percentile(taken, 0.95)}
