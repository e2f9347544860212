"""Presents the report as tables and as a self-contained HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from bookbound.domain.book_ref import ALL_BOOKS, BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.trace import QueryStatus
from bookbound.evaluation import COUNT_COLUMNS, MetricsDict
from bookbound.evaluation.html_report import NO_VALUE, MetricTable, format_count_share, render_template
from bookbound.evaluation.svg_plots import MAX_TICKS, SvgPlot, count_range

MAX_GROUPS_SHOWN = 200
MIN_DAYS_WIDTH = 7
"""Fewer days do not get wider bars."""
REFUSAL_PHRASES = {
    RefusalReason.EMPTY_RETRIEVAL: "the search found nothing",
    RefusalReason.LOW_RELEVANCE: "no passage is about it",
    RefusalReason.INSUFFICIENT_GROUNDING: "passages are related, but none states it",
    RefusalReason.SELECTED_TEXT_MISSING: "not in the selected text",
}
UNSURE_PHRASE = "passages come close, but it is not sure that one states it"
NO_CHAPTER, NO_BOOK_NAME = "(no chapter)", "(without a name)"
REPORT_COLUMNS = (*COUNT_COLUMNS, "errors")


def render_report(report: MetricsDict) -> str:
    """The HTML page of the report."""
    days = report["by_day"]
    return render_template(
        "server/report/report.html.j2",
        title=report_title(report),
        introduction=f"{report_period(report)} Bookbound {report['bookbound']}. {describe_other_books(report)}",
        plots=[
            ("Questions", plot_questions(days), f"From bottom to top: {', '.join(REPORT_COLUMNS[1:])}."),
            ("Time", plot_latency(days), "The lower dots are the median, the upper ones the 95th percentile."),
        ],
        groups=report["unanswered"]["groups"][:MAX_GROUPS_SHOWN],
        uncompared=describe_uncompared(report),
        refusal_phrase=refusal_phrase,
        tables=report_tables(report),
    )


def report_title(report: MetricsDict) -> str:
    """The title with the title of the book, or else its name."""
    book_ref, book = BookRef.parse(report["book_ref"]), report["book"]
    if book_ref.book == ALL_BOOKS:
        return "What readers ask all books"
    edition = f", edition {book_ref.edition}" if book_ref.edition else ""
    return f"What readers ask {book['title'] if book else book_ref.book}".rstrip() + edition


def report_period(report: MetricsDict) -> str:
    return f"From {report['since'][:10]} to {report['until'][:10]}, in UTC."


def describe_other_books(report: MetricsDict) -> str:
    """The number of questions to other books in words; empty if there are none."""
    count = report["questions"]["of_other_books"]
    return f"Other books or editions got {count} questions. To see all: --book {ALL_BOOKS}" if count else ""


def describe_uncompared(report: MetricsDict) -> str:
    """The number of unanswered questions in no group in words; empty if there are none."""
    unanswered = report["unanswered"]
    count = unanswered["questions"] - unanswered["compared"]
    return f"{count} more questions have rarer wordings and were not compared." if count else ""


def refusal_phrase(reason: str) -> str:
    if reason == QueryStatus.UNSURE:
        return UNSURE_PHRASE
    return REFUSAL_PHRASES[RefusalReason(reason)] if reason in REFUSAL_PHRASES else reason


def format_milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.0f}"


def plot_questions(days: list[MetricsDict]) -> SvgPlot:
    """The questions of each day, with a part of the bar for each outcome."""
    plot = _plot_days("Questions by day", "questions", days, [day["asked"] for day in days])
    for at, day in enumerate(days):
        text, bottom = f"{day['day']}: {', '.join(f'{day[name]} {name}' for name in REPORT_COLUMNS)}", 0
        for name in REPORT_COLUMNS[1:]:
            if day[name]:
                plot.bar(at, at + 1, day[name], text, bottom=bottom, style=name)
            bottom += day[name]
    return plot


def plot_latency(days: list[MetricsDict]) -> SvgPlot:
    """The median and the 95th percentile of each day with a reply."""
    replied = [(at + 0.5, day) for at, day in enumerate(days) if day["p50"] is not None]
    plot = _plot_days("Time by day", "milliseconds", days, [day["p95"] for _, day in replied])
    for name, style in (("p50", "line"), ("p95", "ideal")):
        plot.line([(at, day[name]) for at, day in replied], style)
        for at, day in replied:
            plot.dot((at, day[name]), f"{day['day']}: {name} {day[name]:.0f} ms", radius=2.5)
    return plot


def _plot_days(title: str, y_label: str, days: list[MetricsDict], values: list[float]) -> SvgPlot:
    """A plot with the days from 0 on; few days are in its middle, and some of them have their date below."""
    margin = max(0, MIN_DAYS_WIDTH - len(days)) / 2
    step = ceil(len(days) / MAX_TICKS) or 1
    dates = {at + 0.5: days[at]["day"][5:] for at in range(len(days) - 1, -1, -step)}
    return SvgPlot(title, "month and day", y_label, (-margin, len(days) + margin), count_range(values), dates)


def report_tables(report: MetricsDict) -> Iterator[MetricTable]:
    """The numbers of the report except the days and the unanswered questions."""
    counts, all_books = report["questions"], report["book_ref"] == ALL_BOOKS
    rows = [(name, format_count_share(counts[name], counts["asked"])) for name in REPORT_COLUMNS[1:]]
    rows += [("of a selection", str(counts["of_a_selection"])), ("sessions", str(counts["sessions"]))]
    if counts["lost"]:
        rows.append((f"not logged{', of any book' * bool(counts['of_other_books'])}", str(counts["lost"])))
    yield MetricTable("Questions", ("", f"{counts['asked']} asked"), rows)
    if len(report["by_book"]) > 1 or all_books:
        books = [(_book_name(each), *(str(each[name]) for name in REPORT_COLUMNS)) for each in report["by_book"]]
        yield MetricTable("Books", ("", *REPORT_COLUMNS), books)
    rows = [
        (refusal_phrase(kind), format_count_share(count, counts["refused"]))
        for kind, count in report["refused_by_kind"].items()
    ]
    yield MetricTable("Refused", ("", f"{counts['refused']} refused"), rows)
    yield from _vote_tables(report["votes"])
    rows = [(name, format_milliseconds(report["latency_ms"][name])) for name in ("p50", "p95")]
    yield MetricTable("Milliseconds", ("", "a reply takes"), rows)
    yield from _chapter_tables(report["chapters"], all_books)


def _vote_tables(votes: MetricsDict) -> Iterator[MetricTable]:
    rows = [("helpful", str(votes["up"])), ("not helpful", str(votes["down"]))]
    yield MetricTable("Votes", ("", f"{votes['up'] + votes['down']} votes"), rows)
    if votes["unhelpful"]:
        rows = [(each["question"], str(each["votes"])) for each in votes["unhelpful"][:MAX_GROUPS_SHOWN]]
        yield MetricTable("Replies that did not help", ("What readers asked", "votes"), rows)


def _chapter_tables(chapters: MetricsDict, all_books: bool) -> Iterator[MetricTable]:
    removed = set(chapters["removed"] or ())
    rows = []
    for each in chapters["answered"]:
        book = f"{each['book'] or NO_BOOK_NAME}: " if all_books else ""
        note = " (no longer in the index)" if each["chapter"] in removed else ""
        rows.append((f"{book}{each['chapter'] or NO_CHAPTER}{note}", str(each["answers"])))
    yield MetricTable("Chapters that answer", ("", "answers"), rows or [("none yet", "")])
    if chapters["uncited"]:
        yield MetricTable(
            "Chapters that never answer", ("",), [(title or NO_CHAPTER,) for title in chapters["uncited"]]
        )


def _book_name(counts: MetricsDict) -> str:
    name, title = counts["book_ref"], counts["title"]
    if name == ALL_BOOKS:
        return "all books together"
    return f"{name} ({title})" if name and title else name or title or NO_BOOK_NAME
