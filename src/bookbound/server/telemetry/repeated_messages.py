"""Counts messages that repeat instead of writing each of them, so that no client can fill the disk with the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from time import monotonic

MAX_REPEATS, PERIOD_SECONDS = 20, 10.0
"""How often a message is written in a period; the rest is counted."""
MessageKey = tuple[str, int, str]


class RepeatedMessages:
    """Decides which warnings and errors are written; messages count as the same if only their values differ.

    Other messages, such as the line of each request, are always written.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now, self._period_end = now, 0.0
        self._counts: dict[MessageKey, int] = {}
        self._last: dict[MessageKey, logging.LogRecord] = {}

    def select(self, record: logging.LogRecord) -> Iterator[logging.LogRecord]:
        """Yield what to write now: the counts of the last period, and the message unless it is only counted."""
        if self._now() >= self._period_end:
            yield from self.take_counted()
        if record.levelno < logging.WARNING:
            yield record
            return
        key = record.name, record.levelno, str(record.msg)
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] <= MAX_REPEATS:
            yield record
        else:
            self._last[key] = record

    def take_counted(self) -> Iterator[logging.LogRecord]:
        """Yield the last of each message that was only counted, with its count, and begin a new period."""
        counts, last = self._counts, self._last
        self._counts, self._last, self._period_end = {}, {}, self._now() + PERIOD_SECONDS
        for key, record in last.items():
            record.__dict__["event"] = getattr(record, "event", {}) | {"repeated": counts[key] - MAX_REPEATS}
            yield record
