"""Summarizes the query log for the author: outcomes, latency, days, books and chapters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import bookbound
from bookbound.domain.book_ref import ALL_BOOKS, BookRef, find_newest_edition
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.manifest import Manifest
from bookbound.domain.query_log_entry import QueryMode, QueryStatus
from bookbound.evaluation.runner import MetricsDict
from bookbound.evaluation.threshold_curve import compute_percentile, round_numbers
from bookbound.server.query_log.history import LoggedQuestion, LogSnapshot

REPORT_FORMAT = 1
STATUS_NAMES = {QueryStatus.ANSWERED: "answered", QueryStatus.REFUSED: "refused", QueryStatus.FAILED: "errors"}
IndexedBooks = Mapping[BookRef, Manifest]
"""What is indexed of the volumes that a report is on."""


def summarize_log(
    tally: LogStatistics, unanswered: MetricsDict, of: BookRef, books: IndexedBooks, since: datetime, until: datetime
) -> MetricsDict:
    """What the log of a volume comes to; without it at hand, nobody knows which chapters never answered."""
    held = find_newest_edition(books) if of.book != ALL_BOOKS else None
    book = books[held] if held is not None else None
    known = [kind.value for kind in RefusalReason]
    others = sorted(tally.refused.keys() - set(known))
    return round_numbers(
        {
            "bookbound": bookbound.__version__,
            "format": REPORT_FORMAT,
            "volume": str(of),
            "book": {"title": book.title, "generation": book.generation} if book else None,
            "since": since.isoformat(timespec="seconds"),
            "until": until.isoformat(timespec="seconds"),
            "questions": {
                "asked": tally.outcomes.total(),
                **{name: tally.outcomes[status] for status, name in STATUS_NAMES.items()},
                "of_a_selection": tally.modes[QueryMode.SELECTION],
                "sessions": tally.sessions,
                "of_other_books": tally.elsewhere,
                "lost": tally.lost,
            },
            "by_book": list(_count_books(tally, books)),
            "refused_by_kind": {kind: tally.refused[kind] for kind in (*known, *others)},
            "latency_ms": _latency_percentiles(tally.milliseconds),
            "by_day": list(_count_days(tally)),
            "unanswered": unanswered,
            "chapters": _count_chapters(tally, book, books),
        }
    )


def _latency_percentiles(milliseconds: list[int]) -> MetricsDict:
    return {"p50": compute_percentile(milliseconds, 0.5), "p95": compute_percentile(milliseconds, 0.95)}


def _count_days(tally: LogStatistics) -> Iterator[MetricsDict]:
    """Every day from the first with a question to the last, also those without one."""
    if not tally.days:
        return
    day, last = min(tally.days), max(tally.days)
    while day <= last:
        held = tally.days.get(day, DailyCounts())
        counts = {name: held.outcomes[status] for status, name in STATUS_NAMES.items()}
        yield {
            "day": day.isoformat(),
            "asked": held.outcomes.total(),
            **counts,
            **_latency_percentiles(held.milliseconds),
        }
        day += timedelta(days=1)


def _count_books(tally: LogStatistics, books: IndexedBooks) -> Iterator[MetricsDict]:
    """What became of the questions to each volume, the most asked first."""
    for volume, outcomes in sorted(tally.volumes.items(), key=lambda each: (-each[1].total(), each[0])):
        title = books[volume].title if volume in books else None
        counts = {name: outcomes[status] for status, name in STATUS_NAMES.items()}
        yield {"volume": str(volume), "title": title, "asked": outcomes.total(), **counts}


def _count_chapters(tally: LogStatistics, book: Manifest | None, books: IndexedBooks) -> MetricsDict:
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


_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class DailyCounts:
    """The questions of a day: how many came to what, and how long those took that came to a reply."""

    outcomes: Counter[QueryStatus] = field(default_factory=Counter)
    milliseconds: list[int] = field(default_factory=list)


@dataclass(slots=True)
class QuestionWording:
    """A question that was refused, however often it was asked in the same words."""

    text: str
    mode: QueryMode
    last: datetime
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        return self.kinds.total()


class LogStatistics:
    """Counts of a log: by outcome, by kind of refusal, by day, by volume and by chapter, and what was refused."""

    def __init__(self, reading: LogSnapshot) -> None:
        self.outcomes: Counter[QueryStatus] = Counter()
        self.refused: Counter[str] = Counter()
        self.modes: Counter[QueryMode] = Counter()
        self.days: dict[date, DailyCounts] = {}
        self.volumes: dict[BookRef, Counter[QueryStatus]] = {}
        self._wordings: dict[tuple[QueryMode, str], QuestionWording] = {}
        for asked in reading.questions():
            self._count(asked)
        self.chapters, self.sessions, self.lost = reading.chapters(), reading.sessions(), reading.lost()
        self.elsewhere = reading.elsewhere()

    @property
    def wordings(self) -> list[QuestionWording]:
        """What was refused, the most asked and then the latest first."""
        return sorted(self._wordings.values(), key=lambda each: (-each.asked, -each.last.timestamp(), each.text))

    @property
    def milliseconds(self) -> list[int]:
        return [taken for day in self.days.values() for taken in day.milliseconds]

    def _count(self, asked: LoggedQuestion) -> None:
        self.outcomes[asked.status] += 1
        self.modes[asked.mode] += 1
        self.volumes.setdefault(asked.volume, Counter())[asked.status] += 1
        day = self.days.setdefault(asked.created.date(), DailyCounts())
        day.outcomes[asked.status] += 1
        if asked.status is not QueryStatus.FAILED:
            day.milliseconds.append(asked.milliseconds)
        if asked.status is QueryStatus.REFUSED:
            kind = asked.refusal or "unknown"
            self.refused[kind] += 1
            self._refuse(asked, kind)

    def _refuse(self, asked: LoggedQuestion, kind: str) -> None:
        """Case, white space and punctuation make no other wording."""
        same = " ".join(_WORD.findall(asked.question.casefold())) or asked.question
        wording = self._wordings.setdefault(
            (asked.mode, same), QuestionWording(asked.question, asked.mode, asked.created)
        )
        wording.last = max(wording.last, asked.created)
        wording.kinds[kind] += 1
