"""The report as plain values: all that text, page and JSON are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import bookbound
from bookbound.entry import Mode, Status
from bookbound.finding import RefusalKind
from bookbound.manifest import Manifest
from bookbound.measure.figures import Plain
from bookbound.measure.statistic import percentile, rounded
from bookbound.report.tally import Day, Tally
from bookbound.volume import EVERY, Volume, newest

FORMAT = 1
NAMES = {Status.ANSWERED: "answered", Status.REFUSED: "refused", Status.FAILED: "errors"}


Books = Mapping[Volume, Manifest]
"""What is indexed of the volumes that a report is on."""


def figures(tally: Tally, unanswered: Plain, of: Volume, books: Books, since: datetime, until: datetime) -> Plain:
    """What the log of a volume comes to; without it at hand, nobody knows which chapters never answered."""
    held = newest(books) if of.book != EVERY else None
    book = books[held] if held is not None else None
    known = [kind.value for kind in RefusalKind]
    others = sorted(tally.refused.keys() - set(known))
    return rounded(
        {
            "bookbound": bookbound.__version__,
            "format": FORMAT,
            "volume": str(of),
            "book": {"title": book.title, "generation": book.generation} if book else None,
            "since": since.isoformat(timespec="seconds"),
            "until": until.isoformat(timespec="seconds"),
            "questions": {
                "asked": tally.outcomes.total(),
                **{name: tally.outcomes[status] for status, name in NAMES.items()},
                "of_a_selection": tally.modes[Mode.SELECTION],
                "sessions": tally.sessions,
                "of_other_books": tally.elsewhere,
                "lost": tally.lost,
            },
            "by_book": list(_volumes(tally, books)),
            "refused_by_kind": {kind: tally.refused[kind] for kind in (*known, *others)},
            "latency_ms": _times(tally.milliseconds),
            "by_day": list(_days(tally)),
            "unanswered": unanswered,
            "chapters": _chapters(tally, book, books),
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


def _volumes(tally: Tally, books: Books) -> Iterator[Plain]:
    """What became of the questions to each volume, the most asked first."""
    for volume, outcomes in sorted(tally.volumes.items(), key=lambda each: (-each[1].total(), each[0])):
        title = books[volume].title if volume in books else None
        counts = {name: outcomes[status] for status, name in NAMES.items()}
        yield {"volume": str(volume), "title": title, "asked": outcomes.total(), **counts}


def _chapters(tally: Tally, book: Manifest | None, books: Books) -> Plain:
    """Chapters by the answers that cite them; those that never answered are in the order of the one book."""
    answered = [
        {"book": name, "chapter": chapter, "answers": count} for (name, chapter), count in tally.chapters.most_common()
    ]
    if book is None:
        return {"answered": answered, "never": None, "gone": None}
    cited = [chapter for _, chapter in tally.chapters]
    known = {chapter.title for each in books.values() for chapter in each.chapters}
    return {
        "answered": answered,
        "never": [chapter.title for chapter in book.chapters if chapter.title not in cited],
        "gone": [chapter for chapter in cited if chapter not in known],
    }
