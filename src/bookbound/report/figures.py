"""The report as plain values: all that text, page and JSON are made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import bookbound
from bookbound.entry import Mode, Status
from bookbound.finding import RefusalKind
from bookbound.manifest import Manifest
from bookbound.measure.figures import Plain
from bookbound.measure.statistic import percentile, rounded
from bookbound.report.tally import Day, Tally

FORMAT = 1
NAMES = {Status.ANSWERED: "answered", Status.REFUSED: "refused", Status.FAILED: "errors"}


def figures(tally: Tally, unanswered: Plain, book: Manifest | None, since: datetime, until: datetime) -> Plain:
    """What the log comes to; without a book at hand, nobody knows which chapters never answered."""
    known = [kind.value for kind in RefusalKind]
    others = sorted(tally.refused.keys() - set(known))
    return rounded(
        {
            "bookbound": bookbound.__version__,
            "format": FORMAT,
            "book": {"title": book.title, "generation": book.generation} if book else None,
            "since": since.isoformat(timespec="seconds"),
            "until": until.isoformat(timespec="seconds"),
            "questions": {
                "asked": tally.outcomes.total(),
                **{name: tally.outcomes[status] for status, name in NAMES.items()},
                "of_a_selection": tally.modes[Mode.SELECTION],
                "sessions": tally.sessions,
                "lost": tally.lost,
            },
            "refused_by_kind": {kind: tally.refused[kind] for kind in (*known, *others)},
            "latency_ms": _times(tally.milliseconds),
            "by_day": list(_days(tally)),
            "unanswered": unanswered,
            "chapters": _chapters(tally, book),
        }
    )


def _times(milliseconds: list[int]) -> Plain:
    return {"p50": percentile(milliseconds, 0.5), "p95": percentile(milliseconds, 0.95)}


def _days(tally: Tally) -> Iterator[Plain]:
    """Every day from the first with a question to the last, also those without one."""
    if not tally.days:
        return
    day, last = min(tally.days), max(tally.days)
    while day <= last:
        held = tally.days.get(day, Day())
        counts = {name: held.outcomes[status] for status, name in NAMES.items()}
        yield {"day": day.isoformat(), "asked": held.outcomes.total(), **counts, **_times(held.milliseconds)}
        day += timedelta(days=1)


def _chapters(tally: Tally, book: Manifest | None) -> Plain:
    """Chapters by the answers that cite them; those that never answered are in the order of the book."""
    answered = [{"chapter": chapter, "answers": count} for chapter, count in tally.chapters.most_common()]
    titles = [chapter.title for chapter in book.chapters] if book else []
    return {
        "answered": answered,
        "never": [title for title in titles if title not in tally.chapters] if book else None,
        "gone": [chapter for chapter in tally.chapters if chapter not in titles] if book else None,
    }
