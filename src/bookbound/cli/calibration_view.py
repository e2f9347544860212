"""Formats a calibration: the curve, and the points before and after."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from bookbound.cli.terminal import BLANK_LINE, StyledLine, format_grid, styled
from bookbound.domain.judgement import ReplyStatus
from bookbound.evaluation.html_report import NO_VALUE, format_count_share, format_share
from bookbound.evaluation.threshold_curve import CurvePoint, PointResult, find_most_precise_threshold

BAR_WIDTH_CHARS, SHOWN_ROW_STEP = 20, 5


def format_comparison(in_use: PointResult | None, chosen: PointResult | None) -> Iterator[StyledLine]:
    """The replies at the point in use and at the new one, side by side."""
    results = {"in use": in_use, "new": chosen}
    known = {name: result for name, result in results.items() if result}
    if not known:
        return
    columns = ("", *(f"{name}: {result.point.answer_threshold:.2f}" for name, result in known.items()))
    cells = [_format_result(result) for result in known.values()]
    yield from format_grid(columns, [(name, *(each[name] for each in cells)) for name in cells[0]], "Before and after")


def _format_result(result: PointResult) -> dict[str, str]:
    rows: dict[str, str] = {}
    for group, counts in (("answerable", result.answerable), ("unanswerable", result.unanswerable)):
        for status in ReplyStatus:
            rows[f"{group}: {status}"] = format_count_share(counts[status.value], counts["asked"])
            if group == "answerable" and status is ReplyStatus.ANSWERED:
                rows["  of these right"] = format_count_share(result.right_answerable, counts["answered"])
    precision = result.precision
    return rows | {"answers that are right": NO_VALUE if precision is None else f"{precision:.0%}"}


def describe_coverage_loss(in_use: PointResult, chosen: PointResult) -> str:
    return (
        f"The new threshold {chosen.point.answer_threshold:.2f} answers clearly fewer questions: "
        f"{chosen.answerable['answered']} of {chosen.answerable['asked']} answerable ones, while "
        f"{in_use.point.answer_threshold:.2f}, which is in use, answers {in_use.answerable['answered']}. To answer "
        "more, lower --min-precision."
    )


def describe_unreached_precision(rows: Sequence[CurvePoint], wanted: float) -> str:
    best = find_most_precise_threshold(rows)
    if best is None:
        return "No question of the set is answered at any threshold, so nothing was written."
    return (
        f"No threshold makes {wanted:.0%} of the answers right, so nothing was written. The best is "
        f"{best.precision:.1%} at the threshold {best.threshold:.2f}, which answers "
        f"{best.coverage:.0%} of the answerable questions."
    )


def format_curve(rows: Sequence[CurvePoint], choice: CurvePoint | None) -> Iterator[StyledLine]:
    """Some rows of the curve, with a bar on a terminal, and what the choice does not answer."""
    has_bars = sys.stdout.isatty()
    cells = [
        (
            f"{row.threshold:.2f}" + " *" * (row is choice),
            str(row.answer_count),
            format_share(row.coverage),
            format_share(row.precision),
            format_share(row.refused_all),
            *(
                [("█" * round((row.precision or 0.0) * BAR_WIDTH_CHARS)).ljust(BAR_WIDTH_CHARS, "·")]
                if has_bars
                else []
            ),
        )
        for i, row in enumerate(rows)
        if i % SHOWN_ROW_STEP == 0 or row is choice
    ]
    yield styled(("What each answer threshold gives, with a mark (*) at the choice:", "dim"))
    yield from format_grid(("threshold", "answers", "coverage", "precision", "not answered", *([""] * has_bars)), cells)
    if choice and choice.refused:
        yield BLANK_LINE
        not_answered = [(kind, format_share(share)) for kind, share in choice.refused.items()]
        yield from format_grid(("unanswerable", f"not answered at {choice.threshold:.2f}"), not_answered)
