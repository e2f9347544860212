"""The page of an evaluation."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.evaluation.outcomes import make_answered, make_item, make_refused, make_unsure
from tests.evaluation.pages import HOSTILE_TEXT, ParsedPage

from bookbound import testing
from bookbound.evaluation import COUNT_COLUMNS, MetricsDict
from bookbound.evaluation.html_report import render_evaluation_report
from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.runner import QuestionOutcome


def make_report(*outcomes: QuestionOutcome, title: str = "A Book") -> MetricsDict:
    return {
        "bookbound": "1.2.3",
        "index": {"title": title, "generation": "g1", "embedder": "scripted", "chunks": 3},
        "operating_point": {"answered": 0.5, "relevant": 0.3, "unsure": 0.2, "origin": "default"},
        **compute_metrics(outcomes),
    }


def test_no_text_of_book_or_questions_is_taken_for_markup() -> None:
    item = make_item(question=HOSTILE_TEXT, answer=HOSTILE_TEXT)
    unanswerable = make_item(answerable=False, kind=HOSTILE_TEXT, question=HOSTILE_TEXT, why=HOSTILE_TEXT)
    outcome = make_answered(0.9, item=item)
    reply = testing.make_answer([(HOSTILE_TEXT, testing.make_passage(HOSTILE_TEXT))])
    outcomes = (replace(outcome, result=replace(outcome.result, reply=reply)), make_answered(0.4, item=unanswerable))
    page = ParsedPage(render_evaluation_report(make_report(*outcomes, title=HOSTILE_TEXT)))
    assert not page.tags & {"script", "img", "link", "iframe", "object"}
    assert page.text.count("<script>alert(1)</script>") == 9
    assert not any(name.startswith("on") for name in page.attributes)


def test_the_page_loads_nothing() -> None:
    html = render_evaluation_report(make_report(make_answered(0.9), make_refused(0.1)))
    assert not ParsedPage(html).attributes & {"src", "href"}
    assert "url(" not in html
    assert "@import" not in html
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html


def test_each_question_has_a_row_with_expected_and_actual_reply_and_verdict() -> None:
    outcomes = (make_answered(0.875, item=make_item(answer="A gait.")), make_refused(0.1, answerable=True, kind="fact"))
    html = render_evaluation_report(make_report(*outcomes))
    rows = re.findall(r"<tr>\s*(<td data-of.*?)</tr>", html, re.DOTALL)
    assert len(rows) == 2
    first, second = ([text.strip() for text in ParsedPage(row).texts if text.strip()] for row in rows)
    assert first == [
        "What is a trot?",
        "q1, fact",
        "A gait.",
        "A trot moves diagonal legs together.",
        "right",
        "0.88",
    ]
    assert second[-2:] == ["wrongly refused", "0.10"]
    columns = re.findall(r"<th>(\w+)</th>", html)[-5:]
    assert all(f'data-of="{name}"' in rows[0] for name in columns)


def test_the_page_counts_replies_in_the_order_answered_unsure_refused() -> None:
    page = ParsedPage(render_evaluation_report(make_report(make_answered(0.9), make_unsure(0.4))))
    texts = [text.strip() for text in page.texts if text.strip()]
    assert "answered from 0.50, unsure from 0.20 to 0.50, refused below 0.20 (default)" in page.text
    start = texts.index("Replies")
    assert texts[start + 1 : start + 10] == [*COUNT_COLUMNS, "all questions", "2", "1 (50%)", "1 (50%)", "0 (0%)"]


@pytest.mark.parametrize(
    "outcomes", [[], [make_refused(0.2)], [make_answered(0.0)], [make_answered(1.0), make_refused(0.4)]]
)
def test_every_set_has_a_page(outcomes: list[QuestionOutcome]) -> None:
    html = render_evaluation_report(make_report(*outcomes))
    assert html.count("<svg") == 3
    assert html.endswith("</html>\n")
