"""The report as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from bookbound.finding import RefusalKind
from bookbound.measure.figures import Plain
from bookbound.measure.tables import NOTHING, Table
from bookbound.volume import EVERY

KINDS = {
    RefusalKind.EMPTY_RETRIEVAL: "nothing in the index came near",
    RefusalKind.LOW_RELEVANCE: "no passage is about it",
    RefusalKind.INSUFFICIENT_GROUNDING: "passages come near, none states it",
    RefusalKind.SELECTED_TEXT_MISSING: "not in the selected text",
}
UNNAMED, NAMELESS = "(no chapter)", "(without a name)"
COUNTS = ("asked", "answered", "refused", "errors")


def tables(reported: Plain) -> Iterator[Table]:
    """The figures, but for the days and the questions."""
    asked = reported["questions"]
    rows = [(name, _of(asked[name], asked["asked"])) for name in ("answered", "refused", "errors")]
    rows += [("of a selection", str(asked["of_a_selection"])), ("sessions", str(asked["sessions"]))]
    lost = f"not logged{', of whichever book' * bool(asked['of_other_books'])}"
    rows += [(lost, str(asked["lost"]))] if asked["lost"] else []
    yield Table("Questions", ("", f"{asked['asked']} asked"), rows)
    if len(reported["by_book"]) > 1 or _everything(reported):
        books = [(_book(each), *(str(each[name]) for name in COUNTS)) for each in reported["by_book"]]
        yield Table("Books", ("", *COUNTS), books)
    kinds = reported["refused_by_kind"]
    refused = [(words(kind), _of(count, asked["refused"])) for kind, count in kinds.items()]
    yield Table("Refused", ("", f"{asked['refused']} refused"), refused)
    times = reported["latency_ms"]
    yield Table("Milliseconds", ("", "a reply takes"), [(name, milliseconds(times[name])) for name in ("p50", "p95")])
    chapters = reported["chapters"]
    gone = set(chapters["gone"] or ())
    held = [
        (f"{_chapter(each, reported)}{' (no longer in the index)' * (each['chapter'] in gone)}", str(each["answers"]))
        for each in chapters["answered"]
    ]
    yield Table("Chapters that answer", ("", "answers"), held or [("none yet", "")])
    if chapters["never"]:
        yield Table("Chapters that never did", ("",), [(title or UNNAMED,) for title in chapters["never"]])


def words(kind: str) -> str:
    """A kind of refusal as people say it."""
    return KINDS[RefusalKind(kind)] if kind in KINDS else kind


def milliseconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"


def left_out(reported: Plain) -> str:
    """How many refused questions are in no group, in words, where there are such."""
    asked = reported["unanswered"]
    more = asked["questions"] - asked["compared"]
    return f"{more} more were asked in rarer words and not compared." if more else ""


def elsewhere(reported: Plain) -> str:
    """How many questions the report is not on, in words, where there are such."""
    more = reported["questions"]["of_other_books"]
    return f"Other books or editions were asked {more}×; a report on all of them: --book {EVERY}" if more else ""


def _everything(reported: Plain) -> bool:
    return bool(reported["volume"] == EVERY)


def _book(held: Plain) -> str:
    if held["volume"] == EVERY:
        return "all of them together"
    name, title = held["volume"], held["title"]
    return f"{name} ({title})" if name and title else name or title or NAMELESS


def _chapter(cited: Plain, reported: Plain) -> str:
    """A chapter, with its book where the report is on several."""
    name = cited["chapter"] or UNNAMED
    return f"{cited['book'] or NAMELESS}: {name}" if _everything(reported) else name


def _of(count: int, all_of_them: int) -> str:
    return f"{count} ({count / all_of_them:.0%})" if all_of_them else str(count)
