"""Renders metrics as tables and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bookbound.evaluation import MetricsDict, svg_plots

if TYPE_CHECKING:
    from jinja2 import Environment

NO_VALUE = "–"
VERDICT_STYLES = {"right": "good", "unsure": "fair", "wrongly refused": "fair", "incomplete": "fair"}
ANSWER_METRICS = {
    "evidence_found": "evidence cited",
    "token_f1": "token F1 with the evidence",
    "must_contain": "contain the required words",
    "correct_and_cited": "correct and cited",
}


class MetricTable(NamedTuple):
    """A title, the names of the columns, and the cells of each row."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@cache
def _environment() -> Environment:
    # Only pages need Jinja, which takes 60 ms to import.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("bookbound", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_template(path: str, **values: Any) -> str:
    """Fills a template of the package; values are escaped, so that no text is taken for markup."""
    return _environment().get_template(path).render(**values)


def render_evaluation_report(metrics: MetricsDict) -> str:
    """The HTML page of an evaluation."""
    index, point, questions = metrics["index"], metrics["operating_point"], metrics["questions"]
    return render_template(
        "evaluation/templates/evaluation.html.j2",
        title=f"Bookbound on {index['title']}",
        introduction=(
            f"{questions['all']} questions, {questions['answerable']} of them answerable. Answers from a probability "
            f"of {point['answered']:.2f} ({point['origin']}), unsure replies from {point['unsure']:.2f}. "
            f"Index {index['generation']}, embedder {index['embedder']}, Bookbound {metrics['bookbound']}."
        ),
        tables=build_metric_tables(metrics),
        plots=[
            (
                "Risk and coverage",
                svg_plots.plot_risk_coverage(metrics, point["answered"]),
                "Each point is a threshold; the ring is the one in force.",
            ),
            (
                "Reliability",
                svg_plots.plot_reliability(metrics),
                f"Expected calibration error {format_share(metrics['calibration']['ece'])}. "
                "A larger dot has more answers.",
            ),
            ("Time", svg_plots.plot_latency(metrics), "How long the questions took."),
        ],
        rows=metrics["rows"],
        verdict_styles=VERDICT_STYLES,
    )


def build_metric_tables(metrics: MetricsDict) -> Iterator[MetricTable]:
    """All metrics of a question set except the curve and the questions."""
    by_question, by_evidence = metrics["retrieval"]["by_question"], metrics["retrieval"]["by_evidence"]
    rows: list[tuple[str, ...]] = [
        (name.replace("mrr", "MRR"), format_share(by_question[name]), format_share(by_evidence[name]))
        for name in by_question
    ]
    yield MetricTable("Retrieval", ("", "any evidence of a question", "each piece of evidence"), rows)
    yield _build_answers_table(metrics["answers"])
    yield _build_unsure_table(metrics["unsure"])
    yield _build_refusals_table(metrics["refusals"])
    citations = metrics["citations"]
    rows = [
        ("contain words of the evidence", format_share(citations["hold_evidence"])),
        ("evidence that they cover", format_share(citations["evidence_covered"])),
        ("verbatim at their offsets", format_share(citations["verbatim"])),
    ]
    yield MetricTable("Citations", ("", f"{citations['citations']} in all"), rows)
    times = {"total": metrics["latency_ms"]["all"], **metrics["latency_ms"]["by_stage"]}
    rows = [(stage, *(_format_milliseconds(time[name]) for name in ("p50", "p95"))) for stage, time in times.items()]
    yield MetricTable("Milliseconds", ("", "p50", "p95"), rows)


def _build_answers_table(answers: MetricsDict) -> MetricTable:
    answered = answers["where_answered"]
    rows = [("answered", format_share(answers["answered"]), "")]
    for name, label in ANSWER_METRICS.items():
        rows.append((label, format_share(answers[name]), format_share(answered[name])))
    rows.append((f"correct of the {answers['given']} answers given", "", format_share(answers["precision"])))
    return MetricTable("Answers", ("", "of the answerable", "of the answered"), rows)


def _build_unsure_table(unsure: MetricsDict) -> MetricTable:
    rows = [
        ("of all questions", format_share(unsure["all"])),
        ("of the answerable", format_share(unsure["answerable"])),
        ("of the unanswerable", format_share(unsure["unanswerable"])),
        ("answerable, with evidence in the closest passages", format_share(unsure["hold_evidence"])),
    ]
    return MetricTable("Unsure replies, which also count as refused", ("", "share"), rows)


def _build_refusals_table(refusals: MetricsDict) -> MetricTable:
    kinds = {"all unanswerable": refusals, **refusals["by_kind"]}
    rows = [
        (kind, f"{each['refused']} of {each['questions']}", *map(format_share, (each["recall"], each["precision"])))
        for kind, each in kinds.items()
    ]
    if refusals["corrected"]:
        rows.append(("corrected instead", f"{refusals['corrected']} of {refusals['questions']}", "", ""))
    wrong = refusals["wrongly_refused"].values()
    refused, questions = (sum(each[name] for each in wrong) for name in ("refused", "questions"))
    rows.append(("answerable, wrongly", f"{refused} of {questions}", "", ""))
    return MetricTable("Refusals", ("", "refused", "recall", "precision"), rows)


def format_share(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.3f}"


def _format_milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}"
