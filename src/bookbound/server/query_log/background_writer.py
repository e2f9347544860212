"""Buffers log entries and writes them in batches on a background thread."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from threading import Condition, Thread
from time import monotonic

from bookbound.domain.errors import BookboundError
from bookbound.domain.query_log_entry import QueryLogEntry
from bookbound.server.query_log.database import RejectedEntryError
from bookbound.server.query_log.repository import LossReport, QueryLogRepository
from bookbound.server.query_log.unflushed import UnflushedEntries, UnreportedEntries, report_unflushed

MAX_BUFFERED, BATCH_SIZE = 4096, 256
GATHER_SECONDS = 0.2
"""The seconds that the first entry of a batch waits for others."""
DRAIN_SECONDS = 5.0
"""The seconds that what waits has, as the journal closes, to be written."""
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 5.0
"""The pause after a first failure, and the longest; each is twice the one before, less some chance."""
CLEANUP_SECONDS, CLEANUP_RETRY_SECONDS = 3600.0, 60.0
"""The seconds from one tidying to the next, and to the next try of one that failed."""
log = logging.getLogger("bookbound.server.query_log")


class BackgroundQueryLog:
    """Entries go to a ledger as soon as it takes them; an answer waits for none of it.

    What was noted is, once closed, what was written and what was lost, to the last entry. Of a process that is killed,
    whoever comes next tells it from what it left at `place`.
    """

    def __init__(
        self, ledger: QueryLogRepository, place: Path, room: int = MAX_BUFFERED, drain: float = DRAIN_SECONDS
    ) -> None:
        self._ledger, self._place, self._drain = ledger, place, drain
        self._entries = EntryBuffer(UnflushedEntries(place, ledger.name), room, BATCH_SIZE, GATHER_SECONDS)
        self._failing, self._tidy_at = False, 0.0
        self._seen: set[str] = set()
        self._thread = Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    @property
    def noted(self) -> int:
        return self._entries.noted

    @property
    def written(self) -> int:
        return self._entries.written

    @property
    def lost(self) -> int:
        return self._entries.lost

    def note(self, entry: QueryLogEntry) -> None:
        self._entries.note(entry)

    async def close(self) -> None:
        self._entries.close(self._drain)
        # An attempt that is under way when the time is over may take as long again; then nobody waits any more.
        await asyncio.to_thread(self._thread.join, 2 * self._drain)
        self._entries.settle()
        if self.lost:
            log.error("%d of %d questions could not be logged", self.lost, self.noted)

    def _work(self) -> None:
        while (batch := self._entries.next(self._tidy_at - monotonic())) is not None:
            self._persist(batch)
            if not self._entries.closing and monotonic() >= self._tidy_at:
                self._tidy()
        self._leave()
        self._entries.settle()
        self._ledger.close()

    def _persist(self, batch: list[QueryLogEntry]) -> None:
        """Write a batch, however often it takes; until the end, only what no database takes is given up."""
        pause = FIRST_RETRY_SECONDS
        while batch:
            try:
                self._write(batch)
                return
            except Exception as trouble:
                if self._passing(trouble):
                    if not self._entries.rest(pause * random.uniform(0.5, 1)):
                        return
                    pause = min(2 * pause, MAX_RETRY_SECONDS)
                elif len(batch) > 1:
                    for entry in batch:
                        self._persist([entry])
                    return
                else:
                    self._entries.lose(batch[0])
                    return

    def _write(self, batch: list[QueryLogEntry]) -> None:
        """Write a batch, and with it how many entries were lost since that was last told."""
        told = self._entries.loss
        self._ledger.write(batch, told)
        self._entries.wrote(batch, told)
        if self._failing:
            log.warning("the log is written again; %d questions were lost so far", self.lost)
            self._failing = False

    def _passing(self, trouble: Exception) -> bool:
        """Whether to try the same again; the first time of several, it is told, without what was to be written."""
        if isinstance(trouble, RejectedEntryError) or not isinstance(trouble, BookboundError):
            if (name := type(trouble).__name__) not in self._seen:
                log.error("an entry cannot be logged: %s", name)
                self._seen.add(name)
            return False
        if not self._failing:
            log.error("questions wait to be logged: %s", trouble)
            self._failing = True
        return True

    def _tidy(self) -> None:
        try:
            if lost := report_unflushed(self._place, self._ledger):
                log.error("lost with a process that was killed, of the questions to be logged: %d", lost)
            self._tidy_at = monotonic() + (0.0 if self._ledger.tidy() else CLEANUP_SECONDS)
        except Exception as trouble:
            self._passing(trouble)
            self._tidy_at = monotonic() + CLEANUP_RETRY_SECONDS

    def _leave(self) -> None:
        """As the last thing, tell what was lost, if the database is there; else whoever comes next does."""
        left, lost = self._entries.left, 0
        try:
            if left:
                lost = self._ledger.settle(left.loss, left.entries)
            self._entries.leave(left, left.most - lost)
        except Exception as trouble:
            self._passing(trouble)
            self._entries.leave()


class EntryBuffer:
    """Where there is no more room the newest entry is lost; what was taken keeps its place.

    Any thread may note; one takes what waits, writes it, and says so.
    """

    def __init__(self, outstanding: UnflushedEntries, room: int, batch: int, gather: float) -> None:
        self.noted = self.written = self.lost = 0
        self._outstanding = outstanding
        self._room, self._batch, self._gather = room, batch, gather
        self._entries: deque[QueryLogEntry] = deque()
        self._changed = Condition()
        self._until: float | None = None
        self._settled = False

    @property
    def closing(self) -> bool:
        return self._until is not None

    @property
    def late(self) -> bool:
        """Whether the time to write what waits is over."""
        return self._until is not None and monotonic() >= self._until

    def note(self, entry: QueryLogEntry) -> None:
        """Take an entry, without waiting for anybody who writes."""
        with self._changed:
            self.noted += 1
            self._outstanding.add(entry.id)
            if self.closing or len(self._entries) >= self._room:
                self._outstanding.lose(entry.id)
                self.lost += 1
                return
            self._entries.append(entry)
            if len(self._entries) in (1, self._batch):
                self._changed.notify()

    def next(self, seconds: float) -> list[QueryLogEntry] | None:
        """The next batch, once there is one; none of it after so many seconds, nothing where all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self.closing, max(0.0, seconds))
            if self._entries:
                self._changed.wait_for(lambda: len(self._entries) >= self._batch or self.closing, self._gather)
            if self.late or (self.closing and not self._entries):
                return None
            return [self._entries.popleft() for _ in range(min(self._batch, len(self._entries)))]

    def rest(self, seconds: float) -> bool:
        """Wait before the next attempt, and say whether there is time for one; whoever closes ends the waiting."""
        with self._changed:
            if self._until is None:
                self._changed.wait_for(lambda: self.closing, seconds)
            else:
                self._changed.wait(max(0.0, min(seconds, self._until - monotonic())))
        return not self.late

    @property
    def loss(self) -> LossReport | None:
        """What was lost and is not told, if anything was."""
        with self._changed:
            return self._outstanding.loss if self._outstanding.lost else None

    @property
    def left(self) -> UnreportedEntries:
        """What is neither written nor told."""
        with self._changed:
            return self._outstanding.left()

    def wrote(self, entries: Sequence[QueryLogEntry], told: LossReport | None = None) -> None:
        """Count what was taken and is written; once all is settled, that stands."""
        with self._changed:
            self._outstanding.done([entry.id for entry in entries], told)
            if not self._settled:
                self.written += len(entries)

    def lose(self, entry: QueryLogEntry) -> None:
        """Count one that was taken and can never be written."""
        with self._changed:
            self._outstanding.lose(entry.id)
            if not self._settled:
                self.lost += 1

    def close(self, seconds: float) -> None:
        """From now on nothing is taken any more, and what waits has so many seconds to be written."""
        with self._changed:
            if self._until is None:
                self._until = monotonic() + seconds
            self._changed.notify()

    def settle(self) -> None:
        """Count as lost whatever is not known to be written."""
        with self._changed:
            self._settled = True
            self._entries.clear()
            self.lost = self.noted - self.written

    def leave(self, told: UnreportedEntries | None = None, rows: int = 0) -> None:
        """As the last thing, leave what is not told to others; of what is, some are rows though nobody said so."""
        with self._changed:
            if told:
                self._outstanding.done(told.entries, told.loss)
            if not self._settled:
                self.written += rows
            self._outstanding.close()
