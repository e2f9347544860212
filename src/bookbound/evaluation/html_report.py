"""Renders metrics as tables and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from bookbound.evaluation import svg_plots
from bookbound.evaluation.runner import MetricsDict

NO_VALUE = "–"


class MetricTable(NamedTuple):
    """A heading, the names of the columns, and the cells of each row."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def build_metric_tables(measured: MetricsDict) -> Iterator[MetricTable]:
    """All that is measured of a question set, but for the curve and the questions."""
    yield _build_retrieval_table(measured["retrieval"])
    yield _build_answers_table(measured["answers"])
    yield _build_refusals_table(measured["refusals"])
    citations = measured["citations"]
    yield MetricTable(
        "Citations",
        ("", f"{citations['citations']} in all"),
        [
            ("hold words of the evidence", format_share(citations["hold_evidence"])),
            ("evidence that they cover", format_share(citations["evidence_covered"])),
            ("verbatim at their offsets", format_share(citations["verbatim"])),
        ],
    )
    times = {"the whole": measured["latency_ms"]["all"], **measured["latency_ms"]["by_stage"]}
    rows = [
        (stage, _format_milliseconds(taken["p50"]), _format_milliseconds(taken["p95"]))
        for stage, taken in times.items()
    ]
    yield MetricTable("Milliseconds", ("", "p50", "p95"), rows)


def format_share(value: float | None) -> str:
    """A share with three places, or that there is none."""
    return NO_VALUE if value is None else f"{value:.3f}"


def _build_retrieval_table(retrieval: MetricsDict) -> MetricTable:
    questions, pieces = retrieval["by_question"], retrieval["by_evidence"]
    rows = [
        (name.replace("mrr", "MRR"), format_share(questions[name]), format_share(pieces[name])) for name in questions
    ]
    return MetricTable("Retrieval", ("", "any evidence of a question", "each piece of evidence"), rows)


def _build_answers_table(answers: MetricsDict) -> MetricTable:
    where = answers["where_answered"]
    words = {
        "evidence_found": "evidence cited",
        "token_f1": "token F1 with the evidence",
        "must_contain": "hold what they must",
        "correct_and_cited": "correct and cited",
    }
    rows = [("answered", format_share(answers["answered"]), "")]
    rows += [(told, format_share(answers[name]), format_share(where[name])) for name, told in words.items()]
    rows.append((f"correct of the {answers['given']} answers given", "", format_share(answers["precision"])))
    return MetricTable("Answers", ("", "of the answerable", "where answered"), rows)


def _build_refusals_table(refusals: MetricsDict) -> MetricTable:
    named = {"all that should be": refusals, **refusals["by_kind"]}
    rows = [
        (kind, f"{of['refused']} of {of['questions']}", format_share(of["recall"]), format_share(of["precision"]))
        for kind, of in named.items()
    ]
    wrong = refusals["wrongly_refused"].values()
    refused, questions = sum(of["refused"] for of in wrong), sum(of["questions"] for of in wrong)
    if refusals["corrected"]:
        rows.append(("corrected instead", f"{refusals['corrected']} of {refusals['questions']}", "", ""))
    rows.append(("answerable, wrongly", f"{refused} of {questions}", "", ""))
    return MetricTable("Refusals", ("", "refused", "recall", "precision"), rows)


def _format_milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}"


REPORT_CSS = """
:root { color-scheme: light dark; --ink: #1d2530; --soft: #5d6875; --paper: #fff; --line: #d9dee5; --tint: #f4f6f8;
  --blue: #2563c9; --red: #b3261e; --green: #1b7a43; --amber: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e9ee; --soft: #9aa6b3; --paper: #14181d; --line: #323a44;
  --tint: #1c2229; --blue: #7fb0ff; --red: #ff8a80; --green: #6fd39b; --amber: #f0b95a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.2rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
p { margin: .3rem 0 1rem; color: var(--soft); }
.grid-of { display: grid; gap: 1.6rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr));
  margin: 1.6rem 0; }
section { min-width: 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .4rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: break-word; } .asked td { overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); }
.figures th + th, .figures td + td { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.figures th + th { white-space: normal; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 12px; fill: var(--soft); }
.grid { stroke: var(--line); } .mark { stroke: var(--red); stroke-dasharray: 4 3; }
.line { fill: none; stroke: var(--blue); stroke-width: 2; }
.ideal { fill: none; stroke: var(--soft); stroke-dasharray: 4 4; }
.dot { fill: var(--blue); } .bar { fill: var(--blue); opacity: .8; }
.here { fill: none; stroke: var(--red); stroke-width: 2.5; }
.bad { color: var(--red); } .good { color: var(--green); } .fair { color: var(--amber); }
.asked td:nth-child(-n+3) { width: 28%; white-space: pre-wrap; } .asked td:nth-child(3) div { max-height: 12rem;
  overflow: auto; }
.asked small { display: block; color: var(--soft); white-space: normal; }
@media (max-width: 44rem) {
  .asked thead { display: none; } .asked, .asked tbody, .asked tr, .asked td { display: block; }
  .asked tr { padding: .7rem 0; border-bottom: 2px solid var(--line); }
  .asked td, .asked td:nth-child(-n+3) { border: 0; padding: .15rem 0; width: auto; }
  .asked td::before { content: attr(data-of) ": "; color: var(--soft); }
}
"""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
QUESTION_COLUMNS = ("Question", "Expected", "Got", "Verdict", "Probability")
VERDICT_CSS_CLASSES = {"right": "good", "wrongly refused": "fair", "incomplete": "fair"}


def render_evaluation_report(measured: MetricsDict) -> str:
    """The whole page; every word of book and questions is shown as it is and never taken for markup."""
    return render_html_document(
        _report_title(measured),
        *_render_header(measured),
        '<div class="grid-of">',
        *map(render_table_section, build_metric_tables(measured)),
        "</div>\n",
        *_render_plots(measured),
        *_render_questions(measured),
    )


def render_html_document(title: str, *pieces: str) -> str:
    """A page of pieces that are markup already."""
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">',
            f"<title>{escape(title)}</title><style>{REPORT_CSS}</style></head><body>\n",
            *pieces,
            "</body></html>\n",
        ]
    )


def render_table_section(table: MetricTable) -> str:
    """A table of figures with its heading."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<section><h2>{escape(table.title)}</h2><table class="figures"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></section>\n"
    )


def render_plot_sections(drawn: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Plots side by side, each with its heading and the words below it."""
    yield '<div class="grid-of">'
    for title, (picture, words) in drawn.items():
        yield f"<section><h2>{title}</h2>{picture}<p>{escape(words)}</p></section>\n"
    yield "</div>\n"


def _report_title(measured: MetricsDict) -> str:
    return f"Bookbound on {measured['index']['title']}"


def _render_header(measured: MetricsDict) -> Iterator[str]:
    index, point, asked = measured["index"], measured["operating_point"], measured["questions"]
    yield f"<h1>{escape(_report_title(measured))}</h1>"
    words = (
        f"{asked['all']} questions, {asked['answerable']} of them answerable. Answered from a probability of "
        f"{point['answered']:.2f} on ({point['origin']}). Index {index['generation']}, embedder {index['embedder']}, "
        f"Bookbound {measured['bookbound']}."
    )
    yield f"<p>{escape(words)}</p>\n"


def _render_plots(measured: MetricsDict) -> Iterator[str]:
    ece = format_share(measured["calibration"]["ece"])
    drawn = {
        "Risk and coverage": (
            svg_plots.plot_risk_coverage(measured, measured["operating_point"]["answered"]),
            "Each point is a threshold; the ring is the one in force.",
        ),
        "Reliability": (
            svg_plots.plot_reliability(measured),
            f"Expected calibration error {ece}. A larger dot has more answers.",
        ),
        "Time": (svg_plots.plot_latency(measured), "How long the questions took."),
    }
    return render_plot_sections(drawn)


def _render_questions(measured: MetricsDict) -> Iterator[str]:
    yield '<section><h2>Questions</h2><table class="asked"><thead><tr>'
    yield "".join(f"<th>{name}</th>" for name in QUESTION_COLUMNS)
    yield "</tr></thead><tbody>\n"
    for row in measured["rows"]:
        look = VERDICT_CSS_CLASSES.get(row["verdict"], "bad")
        cells = (
            f"{escape(row['question'])}<small>{escape(row['id'])}, {escape(row['type'])}</small>",
            escape(row["expected"]),
            f"<div>{escape(row['got'])}</div>",
            f'<span class="{look}">{escape(row["verdict"])}</span>',
            f"{row['probability']:.2f}",
        )
        told = zip(QUESTION_COLUMNS, cells, strict=True)
        yield "<tr>" + "".join(f'<td data-of="{name}">{cell}</td>' for name, cell in told) + "</tr>\n"
    yield "</tbody></table></section>"
