from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import answered, item, refused

from bookbound import testing
from bookbound.evaluation import svg_plots
from bookbound.evaluation.html_report import QUESTION_COLUMNS, render_evaluation_report
from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.runner import MetricsDict, QuestionOutcome
from bookbound.evaluation.svg_plots import PLOT_HEIGHT, PLOT_WIDTH, SvgPlot, compute_ticks

HOSTILE = "</title></style><script>alert(1)</script><img src=https://x.example/y onerror='a()'> \"&amp;"


def measured(*outcomes: QuestionOutcome, title: str = "A Book") -> MetricsDict:
    return {
        "bookbound": "1.2.3",
        "index": {"title": title, "generation": "g1", "embedder": "scripted", "chunks": 3},
        "operating_point": {"answered": 0.5, "relevant": 0.3, "origin": "default"},
        **compute_metrics(outcomes),
    }


class Seen(HTMLParser):
    """The tags and the words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_words_of_book_and_questions_are_shown_and_never_taken_for_markup() -> None:
    asked = item(question=HOSTILE, answer=HOSTILE)
    silent = item(answerable=False, kind=HOSTILE, question=HOSTILE, why=HOSTILE)
    first = answered(0.9, asked=asked)
    quoted = replace(first.given, reply=testing.make_answer([(HOSTILE, testing.make_passage(HOSTILE))]))
    outcomes = (replace(first, given=quoted), answered(0.4, asked=silent))
    seen = Seen(render_evaluation_report(measured(*outcomes, title=HOSTILE)))
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "img", "link", "iframe", "object"}
    assert "".join(seen.words).count("<script>alert(1)</script>") == 9
    assert not any(name.startswith("on") for _, attributes in seen.tags for name in attributes)


def test_the_page_loads_nothing() -> None:
    html = render_evaluation_report(measured(answered(0.9), refused(0.1)))
    seen = Seen(html)
    assert not any({"src", "href"} & set(attributes) for _, attributes in seen.tags)
    assert "url(" not in html
    assert "@import" not in html
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in seen.tags
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html


def test_each_question_has_a_row_with_what_was_expected_got_and_thought_of_it() -> None:
    html = render_evaluation_report(
        measured(answered(0.875, asked=item(answer="A gait.")), refused(0.1, answerable=True, kind="fact"))
    )
    rows = re.findall(r"<tr>(<td data-of.*?)</tr>", html, re.DOTALL)
    assert len(rows) == 2
    first, second = ([*map(str.strip, Seen(row).words)] for row in rows)
    assert first == [
        "What is a trot?",
        "q1, fact",
        "A gait.",
        "A trot moves diagonal legs together.",
        "right",
        "0.88",
    ]
    assert second[-2:] == ["wrongly refused", "0.10"]
    assert all(f'data-of="{name}"' in rows[0] for name in QUESTION_COLUMNS)


@pytest.mark.parametrize("outcomes", [[], [refused(0.2)], [answered(0.0)], [answered(1.0), refused(0.4)]])
def test_plots_are_well_formed_and_stay_within_their_frame(outcomes: list[QuestionOutcome]) -> None:
    found = measured(*outcomes)
    for svg in (
        svg_plots.plot_risk_coverage(found, 0.5),
        svg_plots.plot_reliability(found),
        svg_plots.plot_latency(found),
    ):
        for shape in ElementTree.fromstring(svg).iter():
            for name, size in (
                ("x", PLOT_WIDTH),
                ("cx", PLOT_WIDTH),
                ("x1", PLOT_WIDTH),
                ("y", PLOT_HEIGHT),
                ("cy", PLOT_HEIGHT),
            ):
                assert 0 <= float(shape.get(name, "0")) <= size
    assert render_evaluation_report(found).endswith("</html>\n")


def test_the_operating_point_is_ringed_on_the_curve() -> None:
    found = measured(answered(0.9), answered(0.3, right=False))
    assert 'class="here"' in svg_plots.plot_risk_coverage(found, 0.5)


def test_words_in_a_plot_are_escaped() -> None:
    plot = SvgPlot(HOSTILE, HOSTILE, HOSTILE)
    plot.dot((0.5, 0.5), HOSTILE)
    plot.bar(0, 1, 1, HOSTILE)
    plot.upright(0.5, HOSTILE)
    assert {each.tag for each in ElementTree.fromstring(plot.svg()).iter()} == {
        "svg",
        "line",
        "text",
        "circle",
        "rect",
        "title",
    }


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_within_the_range(low: float, span: float) -> None:
    found = compute_ticks((low, low + span))
    assert len(found) <= 7
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in found)
    assert found == sorted(set(found))
