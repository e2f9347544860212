"""Plots of an evaluation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import make_answered, make_refused
from tests.evaluation.pages import HOSTILE_TEXT, is_within_frame, render_svg

from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.runner import QuestionOutcome
from bookbound.evaluation.svg_plots import (
    SvgPlot,
    compute_ticks,
    plot_latency,
    plot_reliability,
    plot_risk_coverage,
)


@pytest.mark.parametrize(
    "outcomes", [[], [make_refused(0.2)], [make_answered(0.0)], [make_answered(1.0), make_refused(0.4)]]
)
def test_plots_are_well_formed_and_within_their_frame(outcomes: list[QuestionOutcome]) -> None:
    metrics = compute_metrics(outcomes)
    for plot in (plot_risk_coverage(metrics, 0.5), plot_reliability(metrics), plot_latency(metrics)):
        assert is_within_frame(render_svg(plot))


def test_the_operating_point_has_a_ring_on_the_curve() -> None:
    metrics = compute_metrics([make_answered(0.9), make_answered(0.3, right=False)])
    assert [shape for shape in plot_risk_coverage(metrics, 0.5).shapes if shape.get("style") == "here"]


def test_text_in_a_plot_is_escaped() -> None:
    plot = SvgPlot(HOSTILE_TEXT, HOSTILE_TEXT, HOSTILE_TEXT)
    plot.dot((0.5, 0.5), HOSTILE_TEXT)
    plot.bar(0, 1, 1, HOSTILE_TEXT)
    plot.mark(0.5, HOSTILE_TEXT)
    tags = {shape.tag for shape in render_svg(plot).iter()}
    assert tags == {"svg", "line", "text", "circle", "rect", "title"}


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_within_the_axis(low: float, span: float) -> None:
    ticks = compute_ticks((low, low + span))
    assert len(ticks) <= 7
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in ticks)
    assert ticks == sorted(set(ticks))
