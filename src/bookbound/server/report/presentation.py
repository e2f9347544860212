"""Presents the report as tables and as a self-contained HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from bookbound.domain.book_ref import ALL_BOOKS, BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.evaluation.html_report import (
    NO_VALUE,
    MetricTable,
    render_html_document,
    render_plot_sections,
    render_table_section,
)
from bookbound.evaluation.runner import MetricsDict
from bookbound.evaluation.svg_plots import SvgPlot

MAX_GROUPS_SHOWN = 200
GROUP_COLUMNS = ("What readers asked", "asked", "wordings", "last", "because")


def render_report(reported: MetricsDict) -> str:
    """The whole page; every word of readers and book is shown as it is and never taken for markup."""
    days = reported["by_day"]
    drawn = {
        "Questions": (plot_questions(days), "Bars are what was asked; the line is what was answered."),
        "Time": (plot_latency(days), "The median is drawn through, the slowest twentieth is dashed."),
    }
    return render_html_document(
        report_title(reported),
        f"<h1>{escape(report_title(reported))}</h1>",
        f"<p>{escape(report_period(reported))} Bookbound {escape(reported['bookbound'])}. {escape(describe_other_books(reported))}</p>\n",
        *render_plot_sections(drawn),
        *_unanswered_section(reported),
        '<div class="grid-of">',
        *map(render_table_section, report_tables(reported)),
        "</div>\n",
    )


def report_title(reported: MetricsDict) -> str:
    """What the report is on, by the title of the book or else by its name."""
    volume, book = BookRef.named(reported["volume"]), reported["book"]
    if volume.book == ALL_BOOKS:
        return "What readers ask all books"
    edition = f", edition {volume.edition}" if volume.edition else ""
    return f"What readers ask {book['title'] if book else volume.book}".rstrip() + edition


def report_period(reported: MetricsDict) -> str:
    """From when to when, in words."""
    return f"From {reported['since'][:10]} to {reported['until'][:10]}, in UTC."


def _unanswered_section(reported: MetricsDict) -> Iterator[str]:
    groups = reported["unanswered"]["groups"]
    yield "<section><h2>What readers could not get answered</h2>"
    if not groups:
        yield "<p>Nothing in this time.</p></section>\n"
        return
    yield f"<p>Questions that ask for the same stand together. {escape(describe_uncompared(reported))}</p>"
    yield '<table class="figures"><thead><tr>'
    yield "".join(f"<th>{name}</th>" for name in GROUP_COLUMNS)
    yield "</tr></thead><tbody>\n"
    for group in groups[:MAX_GROUPS_SHOWN]:
        cells = (
            str(group["asked"]),
            str(len(group["wordings"])),
            group["last"],
            refusal_phrase(next(iter(group["kinds"]))),
        )
        rest = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f"<tr><td>{_question_cell(group)}</td>{rest}</tr>\n"
    yield "</tbody></table></section>\n"


def _question_cell(group: MetricsDict) -> str:
    """The typical wording, and the others to unfold below it."""
    others = [words for words in group["wordings"] if words != group["typical"]]
    if not others:
        return escape(group["typical"])
    listed = "".join(f"<li>{escape(words)}</li>" for words in others)
    return f"<details><summary>{escape(group['typical'])}</summary><ul>{listed}</ul></details>"


HEADROOM, MIN_AXIS_MAXIMUM = 1.15, 5


def plot_questions(days: list[MetricsDict]) -> str:
    """How many were asked on each day, and how many of them were answered."""
    most = max((day["asked"] for day in days), default=0)
    plot = SvgPlot(
        "Questions by day",
        _axis_label(days),
        "questions",
        _day_range(days),
        (0, max(MIN_AXIS_MAXIMUM, most * HEADROOM)),
    )
    for at, day in _position_days(days):
        told = f"{day['asked']} asked, {day['answered']} answered, {day['refused']} refused, {day['errors']} errors"
        plot.bar(at, at + 1, day["asked"], f"{day['day']}: {told}")
    plot.line([(at + 0.5, day["answered"]) for at, day in _position_days(days)], look="here")
    return plot.svg()


def plot_latency(days: list[MetricsDict]) -> str:
    """The median and the slowest twentieth of each day that has a reply."""
    placed = [(at, day) for at, day in _position_days(days) if day["p50"] is not None]
    most = max((day["p95"] for _, day in placed), default=0)
    plot = SvgPlot(
        "Time by day", _axis_label(days), "milliseconds", _day_range(days), (0, max(MIN_AXIS_MAXIMUM, most * HEADROOM))
    )
    for name, look in (("p50", "line"), ("p95", "ideal")):
        plot.line([(at + 0.5, day[name]) for at, day in placed], look)
        for at, day in placed:
            plot.dot((at + 0.5, day[name]), f"{day['day']}: {name} {day[name]:.0f} ms", size=2.5)
    return plot.svg()


def _position_days(days: list[MetricsDict]) -> list[tuple[int, MetricsDict]]:
    """Each day at its number: the last is nought."""
    return [(number - len(days) + 1, day) for number, day in enumerate(days)]


def _day_range(days: list[MetricsDict]) -> tuple[float, float]:
    return (min(1 - len(days), 0), 1)


def _axis_label(days: list[MetricsDict]) -> str:
    return f"days, 0 is {days[-1]['day']}" if days else "days"


REFUSAL_PHRASES = {
    RefusalReason.EMPTY_RETRIEVAL: "nothing in the index came near",
    RefusalReason.LOW_RELEVANCE: "no passage is about it",
    RefusalReason.INSUFFICIENT_GROUNDING: "passages come near, none states it",
    RefusalReason.SELECTED_TEXT_MISSING: "not in the selected text",
}
NO_CHAPTER, NO_BOOK_NAME = "(no chapter)", "(without a name)"
COUNT_COLUMNS = ("asked", "answered", "refused", "errors")


def report_tables(reported: MetricsDict) -> Iterator[MetricTable]:
    """The figures, but for the days and the questions."""
    asked = reported["questions"]
    rows = [(name, _format_share(asked[name], asked["asked"])) for name in ("answered", "refused", "errors")]
    rows += [("of a selection", str(asked["of_a_selection"])), ("sessions", str(asked["sessions"]))]
    lost = f"not logged{', of whichever book' * bool(asked['of_other_books'])}"
    rows += [(lost, str(asked["lost"]))] if asked["lost"] else []
    yield MetricTable("Questions", ("", f"{asked['asked']} asked"), rows)
    if len(reported["by_book"]) > 1 or _covers_all_books(reported):
        books = [(_book_name(each), *(str(each[name]) for name in COUNT_COLUMNS)) for each in reported["by_book"]]
        yield MetricTable("Books", ("", *COUNT_COLUMNS), books)
    kinds = reported["refused_by_kind"]
    refused = [(refusal_phrase(kind), _format_share(count, asked["refused"])) for kind, count in kinds.items()]
    yield MetricTable("Refused", ("", f"{asked['refused']} refused"), refused)
    times = reported["latency_ms"]
    yield MetricTable(
        "Milliseconds", ("", "a reply takes"), [(name, format_milliseconds(times[name])) for name in ("p50", "p95")]
    )
    chapters = reported["chapters"]
    gone = set(chapters["gone"] or ())
    held = [
        (
            f"{_chapter_name(each, reported)}{' (no longer in the index)' * (each['chapter'] in gone)}",
            str(each["answers"]),
        )
        for each in chapters["answered"]
    ]
    yield MetricTable("Chapters that answer", ("", "answers"), held or [("none yet", "")])
    if chapters["never"]:
        yield MetricTable("Chapters that never did", ("",), [(title or NO_CHAPTER,) for title in chapters["never"]])


def refusal_phrase(kind: str) -> str:
    """A kind of refusal as people say it."""
    return REFUSAL_PHRASES[RefusalReason(kind)] if kind in REFUSAL_PHRASES else kind


def format_milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.0f}"


def describe_uncompared(reported: MetricsDict) -> str:
    """How many refused questions are in no group, in words, where there are such."""
    asked = reported["unanswered"]
    more = asked["questions"] - asked["compared"]
    return f"{more} more were asked in rarer words and not compared." if more else ""


def describe_other_books(reported: MetricsDict) -> str:
    """How many questions the report is not on, in words, where there are such."""
    more = reported["questions"]["of_other_books"]
    return f"Other books or editions were asked {more}×; a report on all of them: --book {ALL_BOOKS}" if more else ""


def _covers_all_books(reported: MetricsDict) -> bool:
    return bool(reported["volume"] == ALL_BOOKS)


def _book_name(held: MetricsDict) -> str:
    if held["volume"] == ALL_BOOKS:
        return "all of them together"
    name, title = held["volume"], held["title"]
    return f"{name} ({title})" if name and title else name or title or NO_BOOK_NAME


def _chapter_name(cited: MetricsDict, reported: MetricsDict) -> str:
    """A chapter, with its book where the report is on several."""
    name = cited["chapter"] or NO_CHAPTER
    return f"{cited['book'] or NO_BOOK_NAME}: {name}" if _covers_all_books(reported) else name


def _format_share(count: int, all_of_them: int) -> str:
    return f"{count} ({count / all_of_them:.0%})" if all_of_them else str(count)
