"""Renders metrics as tables and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bookbound.domain.judgement import describe_ranges
from bookbound.evaluation import COUNT_COLUMNS, MetricsDict, svg_plots

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
    ranges = describe_ranges(point["answered"], point["unsure"])
    return render_template(
        "evaluation/templates/evaluation.html.j2",
        title=f"Bookbound on {index['title']}",
        introduction=(
            f"{questions['all']} questions, {questions['answerable']} of them answerable. By probability: "
            f"{', '.join(f'{status} {words}' for status, words in ranges.items())} ({point['origin']}). "
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
    yield _build_replies_table(metrics["replies"])
    yield _build_answers_table(metrics["answers"])
    citations = metrics["citations"]
    rows = [
        ("contain words of the evidence", format_share(citations["hold_evidence"])),
        ("evidence that they cover", format_share(citations["evidence_covered"])),
        ("verbatim at their offsets", format_share(citations["verbatim"])),
        ("unsure replies that show evidence", format_share(metrics["replies"]["closest_with_evidence"])),
    ]
    yield MetricTable("Citations", ("", f"{citations['citations']} in all"), rows)
    times = {"total": metrics["latency_ms"]["all"], **metrics["latency_ms"]["by_stage"]}
    rows = [(stage, *(format_share(time[name], 1) for name in ("p50", "p95"))) for stage, time in times.items()]
    yield MetricTable("Milliseconds", ("", "p50", "p95"), rows)


def _build_replies_table(replies: MetricsDict) -> MetricTable:
    groups = {
        "all questions": replies["all"],
        "answerable": replies["answerable"],
        "unanswerable": replies["unanswerable"],
        **{f"  {name}": each for name, each in replies["by_type"].items()},
    }
    rows = [
        (name, str(each["asked"]), *(format_count_share(each[status], each["asked"]) for status in COUNT_COLUMNS[1:]))
        for name, each in groups.items()
    ]
    if replies["corrected"]:
        rows.append(("  with the false premise corrected", "", str(replies["corrected"]), "", ""))
    return MetricTable("Replies", ("", *COUNT_COLUMNS), rows)


def _build_answers_table(answers: MetricsDict) -> MetricTable:
    answered = answers["where_answered"]
    rows = [("answered", format_share(answers["answered"]), "")]
    for name, label in ANSWER_METRICS.items():
        rows.append((label, format_share(answers[name]), format_share(answered[name])))
    rows.append((f"correct of the {answers['given']} answers given", "", format_share(answers["precision"])))
    return MetricTable("Answers", ("", "of the answerable", "of the answered"), rows)


def format_count_share(count: int, total: int) -> str:
    return f"{count} ({count / total:.0%})" if total else str(count)


def format_share(value: float | None, places: int = 3) -> str:
    return NO_VALUE if value is None else f"{value:.{places}f}"
