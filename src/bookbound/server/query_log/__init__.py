"""Logs one row for each question on a background thread, and never an answer, a passage or selected text."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from threading import Condition, Event, Thread
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import BookboundError
from bookbound.domain.ports import QueryLog
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryLogEntry, Requester

if TYPE_CHECKING:
    from bookbound.server.query_log.repository import QueryLogRepository  # imports the database library

MAX_BUFFERED, BATCH_SIZE = 4096, 256
GATHER_SECONDS = 0.2
"""How long the first entry of a batch waits for others."""
DRAIN_SECONDS = 5.0
"""How long closing waits for buffered entries to be written."""
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 5.0
CLEANUP_SECONDS, CLEANUP_RETRY_SECONDS = 3600.0, 60.0
log = logging.getLogger("bookbound.server.query_log")


class RejectedEntryError(BookboundError):
    """The database refuses this row and will always refuse it."""


@dataclass(frozen=True, slots=True)
class LossReport:
    """A number of entries that could not be written; a report with the same id replaces it."""

    lost: int
    id: UUID = field(default_factory=uuid4)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class NullQueryLog:
    """Discards every entry."""

    added_count = written_count = lost_count = 0

    def add(self, entry: QueryLogEntry) -> None: ...

    async def close(self) -> None: ...


@contextmanager
def record_question(
    query_log: QueryLog, question: Question, requester: Requester, book_ref: BookRef = UNNAMED_BOOK
) -> Iterator[Callable[[Reply], Reply]]:
    """Adds one entry for a question when the block ends, with its reply, in an error or by cancellation.

    The block passes its reply through the function that it gets.
    """
    start, replies = perf_counter(), list[Reply]()

    def keep_reply(reply: Reply) -> Reply:
        replies.append(reply)
        return reply

    def add(outcome: Reply | BaseException) -> None:
        query_log.add(QueryLogEntry.of(question, outcome, (perf_counter() - start) * 1000, requester, book_ref))

    try:
        yield keep_reply
    except BaseException as error:
        add(replies[0] if replies else error)  # a client that disconnects after the reply was answered
        raise
    if replies:
        add(replies[0])


def log_folder(index: Path) -> Path:
    """The folder for the log of an index, next to the index because that may be read-only or replaced."""
    folder = index.absolute()
    return folder.with_name(f"{folder.name}-log")


class BackgroundQueryLog:
    """Writes entries while answers go out; an entry that cannot be written is counted as lost.

    If the buffer is full, the newest entry is lost. After `close`, every added entry counts as written or lost. A
    process that is killed loses its buffer without counting it.
    """

    def __init__(
        self, repository: QueryLogRepository, max_buffered: int = MAX_BUFFERED, drain_seconds: float = DRAIN_SECONDS
    ) -> None:
        self._repository, self._max_buffered, self._drain_seconds = repository, max_buffered, drain_seconds
        self.added_count = self.written_count = self._lost_count = 0
        self._unreported = LossReport(0)
        self._entries: deque[QueryLogEntry] = deque()
        self._changed = Condition()
        self._closing, self._deadline, self._is_closed = Event(), inf, False
        self._is_failing, self._logged_errors = False, set[str]()
        self._thread = Thread(target=self._run, name="query-log", daemon=True)
        self._thread.start()

    @property
    def lost_count(self) -> int:
        return self.added_count - self.written_count if self._is_closed else self._lost_count

    def add(self, entry: QueryLogEntry) -> None:
        with self._changed:
            self.added_count += 1
            if self._closing.is_set() or len(self._entries) >= self._max_buffered:
                self._lose(1)
            else:
                self._entries.append(entry)
                self._changed.notify()

    async def close(self) -> None:
        with self._changed:
            self._deadline = min(self._deadline, monotonic() + self._drain_seconds)
            self._closing.set()
            self._changed.notify()
        # An attempt that starts just before the deadline may take as long again.
        await asyncio.to_thread(self._thread.join, 2 * self._drain_seconds)
        self._is_closed = True
        if self.lost_count:
            log.error("%d of %d questions could not be logged", self.lost_count, self.added_count)

    def _run(self) -> None:
        cleanup_time = 0.0
        while self._entries or not self._closing.is_set():
            self._write_with_retry(self._take_batch(cleanup_time - monotonic()))
            if not self._closing.is_set() and monotonic() >= cleanup_time:
                cleanup_time = monotonic() + self._clean_up()
        self._report_losses()
        self._repository.close()

    def _take_batch(self, seconds: float) -> list[QueryLogEntry]:
        """Waits for entries; the batch is empty if none come in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._closing.is_set(), max(0.0, seconds))
            if self._entries:
                self._changed.wait_for(
                    lambda: len(self._entries) >= BATCH_SIZE or self._closing.is_set(), GATHER_SECONDS
                )
            return [self._entries.popleft() for _ in range(min(BATCH_SIZE, len(self._entries)))]

    def _write_with_retry(self, batch: list[QueryLogEntry]) -> None:
        """Writes a batch, as often as it takes; entries that the database rejects are lost one by one."""
        pause = FIRST_RETRY_SECONDS
        while batch and monotonic() < self._deadline:
            try:
                self._write(batch)
                return
            except Exception as error:
                self._log_failure(error)
                if _is_outage(error):
                    self._wait(pause * random.uniform(0.5, 1))
                    pause = min(2 * pause, MAX_RETRY_SECONDS)
                elif len(batch) > 1:
                    for entry in batch:
                        self._write_with_retry([entry])
                    return
                else:
                    break
        with self._changed:
            self._lose(len(batch))

    def _write(self, batch: list[QueryLogEntry]) -> None:
        """Writes a batch together with the losses since the last report."""
        with self._changed:
            report = self._unreported
        self._repository.write(batch, report if report.lost else None)
        with self._changed:
            self.written_count += len(batch)
            if report.lost:
                # A new id: a report that may have been written keeps its id until it certainly is.
                self._unreported = LossReport(self._unreported.lost - report.lost)
        if self._is_failing:
            log.warning("the query log is written again; %d questions were lost so far", self._lost_count)
            self._is_failing = False

    def _lose(self, count: int) -> None:
        self._lost_count += count
        report = self._unreported
        self._unreported = replace(report, lost=report.lost + count) if report.lost else LossReport(count)

    def _log_failure(self, error: Exception) -> None:
        """Logs the start of an outage and the first error of each other kind, without what was to be written."""
        if _is_outage(error):
            if not self._is_failing:
                log.error("questions wait to be logged: %s", error)
                self._is_failing = True
        elif (name := type(error).__name__) not in self._logged_errors:
            log.error("a question cannot be logged: %s", name)
            self._logged_errors.add(name)

    def _wait(self, seconds: float) -> None:
        if self._closing.is_set():
            sleep(max(0.0, min(seconds, self._deadline - monotonic())))
        else:
            self._closing.wait(seconds)

    def _clean_up(self) -> float:
        """Deletes some expired rows and returns the seconds until the next clean-up."""
        try:
            return 0.0 if self._repository.delete_expired() else CLEANUP_SECONDS
        except Exception as error:
            self._log_failure(error)
            return CLEANUP_RETRY_SECONDS

    def _report_losses(self) -> None:
        if self._unreported.lost:
            try:
                self._write([])
            except Exception as error:
                self._log_failure(error)


def _is_outage(error: Exception) -> bool:
    """Whether the same entries may be written later."""
    return isinstance(error, BookboundError) and not isinstance(error, RejectedEntryError)
