"""Notes entries at once and writes them later, in batches, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import random
from pathlib import Path
from threading import Thread
from time import monotonic

from bookbound.entry import Entry
from bookbound.errors import BookboundError
from bookbound.record.database import Rejected
from bookbound.record.ledger import Ledger
from bookbound.record.outstanding import Outstanding, recover
from bookbound.record.waiting import Waiting

ROOM, BATCH = 4096, 256
GATHER = 0.2
"""The seconds that the first entry of a batch waits for others."""
DRAIN = 5.0
"""The seconds that what waits has, as the journal closes, to be written."""
FIRST, LONGEST = 0.1, 5.0
"""The pause after a first failure, and the longest; each is twice the one before, less some chance."""
BETWEEN, SOON = 3600.0, 60.0
"""The seconds from one tidying to the next, and to the next try of one that failed."""

log = logging.getLogger("bookbound.record")


class QueuedJournal:
    """Entries go to a ledger as soon as it takes them; an answer waits for none of it.

    What was noted is, once closed, what was written and what was lost, to the last entry. Of a process that is killed,
    whoever comes next tells it from what it left at `place`.
    """

    def __init__(self, ledger: Ledger, place: Path, room: int = ROOM, drain: float = DRAIN) -> None:
        self._ledger, self._place, self._drain = ledger, place, drain
        self._entries = Waiting(Outstanding(place, ledger.name), room, BATCH, GATHER)
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

    def note(self, entry: Entry) -> None:
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

    def _persist(self, batch: list[Entry]) -> None:
        """Write a batch, however often it takes; until the end, only what no database takes is given up."""
        pause = FIRST
        while batch:
            try:
                self._write(batch)
                return
            except Exception as trouble:
                if self._passing(trouble):
                    if not self._entries.rest(pause * random.uniform(0.5, 1)):
                        return
                    pause = min(2 * pause, LONGEST)
                elif len(batch) > 1:
                    for entry in batch:
                        self._persist([entry])
                    return
                else:
                    self._entries.lose(batch[0])
                    return

    def _write(self, batch: list[Entry]) -> None:
        """Write a batch, and with it how many entries were lost since that was last told."""
        told = self._entries.loss
        self._ledger.write(batch, told)
        self._entries.wrote(batch, told)
        if self._failing:
            log.warning("the log is written again; %d questions were lost so far", self.lost)
            self._failing = False

    def _passing(self, trouble: Exception) -> bool:
        """Whether to try the same again; the first time of several, it is told, without what was to be written."""
        if isinstance(trouble, Rejected) or not isinstance(trouble, BookboundError):
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
            if lost := recover(self._place, self._ledger):
                log.error("lost with a process that was killed, of the questions to be logged: %d", lost)
            self._tidy_at = monotonic() + (0.0 if self._ledger.tidy() else BETWEEN)
        except Exception as trouble:
            self._passing(trouble)
            self._tidy_at = monotonic() + SOON

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
