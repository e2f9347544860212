"""Summarizes the query log for the author: outcomes, latency, days, books and chapters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import bookbound
from bookbound.domain.book_ref import ALL_BOOKS, BookRef, find_newest_edition
from bookbound.domain.judgement import RefusalReason, ReplyStatus
from bookbound.domain.manifest import Manifest
from bookbound.domain.trace import QueryMode, QueryStatus
from bookbound.evaluation import MetricsDict, count_replies, latency_percentiles, round_numbers
from bookbound.server.query_log.history import LoggedQuestion, LogSnapshot
from bookbound.server.query_log.schema import Vote

REPORT_FORMAT = 1
IndexedBooks = Mapping[BookRef, Manifest]
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class DailyCounts:
    """The outcomes of a day's questions, the votes on the replies, and the time that each reply took."""

    statuses: Counter[QueryStatus] = field(default_factory=Counter)
    votes: Counter[Vote] = field(default_factory=Counter)
    milliseconds: list[int] = field(default_factory=list)


@dataclass(slots=True)
class QuestionWording:
    """A question without an answer and how often it was asked, by refusal reason."""

    text: str
    mode: QueryMode
    last_asked: datetime
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.reasons.total()


class LogStatistics:
    """Counts the questions of a log by outcome, refusal reason, day, book and chapter."""

    def __init__(self, log: LogSnapshot) -> None:
        self.modes = Counter[QueryMode]()
        self.reasons = Counter[str]()
        self.days = defaultdict[date, DailyCounts](DailyCounts)
        self.books = defaultdict[BookRef, Counter[QueryStatus]](Counter)
        self.unhelpful = Counter[str]()
        self._wordings: dict[tuple[QueryMode, str], QuestionWording] = {}
        for question in log.questions():
            self._count(question)
        self.chapters, self.sessions = log.count_chapters(), log.count_sessions()
        self.lost, self.other_books = log.count_lost(), log.count_other_books()

    @property
    def wordings(self) -> list[QuestionWording]:
        """The questions without an answer, most frequent and then latest first."""
        return sorted(self._wordings.values(), key=lambda each: (-each.count, -each.last_asked.timestamp(), each.text))

    def _count(self, question: LoggedQuestion) -> None:
        self.modes[question.mode] += 1
        self.books[question.book_ref][question.status] += 1
        day = self.days[question.created_at.date()]
        day.statuses[question.status] += 1
        if question.status is not QueryStatus.FAILED:
            day.milliseconds.append(question.milliseconds)
        if question.vote:
            day.votes[question.vote] += 1
        if question.vote is Vote.DOWN:
            self.unhelpful[question.question] += 1
        if question.status in (QueryStatus.UNSURE, QueryStatus.REFUSED):
            reason = question.refusal_reason or "unknown"
            if question.status is QueryStatus.REFUSED:
                self.reasons[reason] += 1
            # Case, white space and punctuation do not make another wording.
            text = " ".join(_WORD.findall(question.question.casefold())) or question.question
            new = QuestionWording(question.question, question.mode, question.created_at)
            wording = self._wordings.setdefault((question.mode, text), new)
            wording.last_asked = max(wording.last_asked, question.created_at)
            wording.reasons[reason] += 1


def summarize_log(
    log: LogStatistics,
    unanswered: MetricsDict,
    book_ref: BookRef,
    books: IndexedBooks,
    since: datetime,
    until: datetime,
) -> MetricsDict:
    """The report as JSON; chapters that never answer are known only from the manifest of a book."""
    newest = find_newest_edition(books) if book_ref.book != ALL_BOOKS else None
    manifest = books[newest] if newest is not None else None
    reasons = dict.fromkeys((*RefusalReason, *sorted(log.reasons)), 0) | log.reasons
    return round_numbers(
        {
            "bookbound": bookbound.__version__,
            "format": REPORT_FORMAT,
            "book_ref": str(book_ref),
            "book": {"title": manifest.title, "generation": manifest.generation} if manifest else None,
            "since": since.isoformat(timespec="seconds"),
            "until": until.isoformat(timespec="seconds"),
            "questions": {
                **_count_statuses(sum((day.statuses for day in log.days.values()), Counter())),
                "of_a_selection": log.modes[QueryMode.SELECTION],
                "sessions": log.sessions,
                "of_other_books": log.other_books,
                "lost": log.lost,
            },
            "by_book": [
                {
                    "book_ref": str(each),
                    "title": books[each].title if each in books else None,
                    **_count_statuses(statuses),
                }
                for each, statuses in sorted(log.books.items(), key=lambda each: (-each[1].total(), each[0]))
            ],
            "refused_by_kind": {str(reason): count for reason, count in reasons.items()},
            "votes": _describe_votes(log),
            "latency_ms": latency_percentiles([time for day in log.days.values() for time in day.milliseconds]),
            "by_day": list(_count_days(log.days)),
            "unanswered": unanswered,
            "chapters": _count_chapters(log.chapters, manifest, books),
        }
    )


def _describe_votes(log: LogStatistics) -> MetricsDict:
    most_first = sorted(log.unhelpful.items(), key=lambda each: (-each[1], each[0]))
    unhelpful = [{"question": question, "votes": count} for question, count in most_first]
    return {**_count_votes(sum((day.votes for day in log.days.values()), Counter())), "unhelpful": unhelpful}


def _count_votes(votes: Counter[Vote]) -> MetricsDict:
    return {vote.value: votes[vote] for vote in Vote}


def _count_statuses(statuses: Counter[QueryStatus]) -> MetricsDict:
    """The questions and their replies, counted as an evaluation counts them, and those that got an error instead."""
    replies = Counter({status: statuses[QueryStatus[status.name]] for status in ReplyStatus})
    return {**count_replies(replies), "asked": statuses.total(), "errors": statuses[QueryStatus.FAILED]}


def _count_days(days: Mapping[date, DailyCounts]) -> Iterator[MetricsDict]:
    """Every day from the first with a question to the last, including those without one."""
    if days:
        first = min(days)
        for number in range((max(days) - first).days + 1):
            day = first + timedelta(days=number)
            counts = days.get(day, DailyCounts())
            yield {
                "day": day.isoformat(),
                **_count_statuses(counts.statuses),
                **latency_percentiles(counts.milliseconds),
                **_count_votes(counts.votes),
            }


def _count_chapters(citations: Counter[tuple[str, str]], manifest: Manifest | None, books: IndexedBooks) -> MetricsDict:
    """Chapters by the number of answers that cite them; those that never answer are in the order of the book."""
    answered = [{"book": book, "chapter": title, "answers": count} for (book, title), count in citations.most_common()]
    if manifest is None:
        return {"answered": answered, "uncited": None, "removed": None}
    cited = [title for _, title in citations]
    known = {title for each in books.values() for title in _chapter_titles(each)}
    return {
        "answered": answered,
        "uncited": [title for title in _chapter_titles(manifest) if title not in cited],
        "removed": [title for title in cited if title not in known],
    }


def _chapter_titles(manifest: Manifest) -> Sequence[str]:
    return [chapter.title for chapter in manifest.chapters]
