"""The report as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from bookbound.finding import RefusalKind
from bookbound.measure.figures import Plain
from bookbound.measure.tables import NOTHING, Table

KINDS = {
    RefusalKind.EMPTY_RETRIEVAL: "nothing in the index came near",
    RefusalKind.LOW_RELEVANCE: "no passage is about it",
    RefusalKind.INSUFFICIENT_GROUNDING: "passages come near, none states it",
    RefusalKind.SELECTED_TEXT_MISSING: "not in the selected text",
}
UNNAMED = "(no chapter)"


def tables(reported: Plain) -> Iterator[Table]:
    """The figures, but for the days and the questions."""
    asked = reported["questions"]
    rows = [(name, _of(asked[name], asked["asked"])) for name in ("answered", "refused", "errors")]
    rows += [("of a selection", str(asked["of_a_selection"])), ("sessions", str(asked["sessions"]))]
    rows += [("not logged", str(asked["lost"]))] if asked["lost"] else []
    yield Table("Questions", ("", f"{asked['asked']} asked"), rows)
    kinds = reported["refused_by_kind"]
    refused = [(words(kind), _of(count, asked["refused"])) for kind, count in kinds.items()]
    yield Table("Refused", ("", f"{asked['refused']} refused"), refused)
    times = reported["latency_ms"]
    yield Table("Milliseconds", ("", "a reply takes"), [(name, milliseconds(times[name])) for name in ("p50", "p95")])
    chapters = reported["chapters"]
    gone = set(chapters["gone"] or ())
    held = [
        (f"{each['chapter'] or UNNAMED}{' (no longer in the index)' * (each['chapter'] in gone)}", str(each["answers"]))
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


def _of(count: int, all_of_them: int) -> str:
    return f"{count} ({count / all_of_them:.0%})" if all_of_them else str(count)
