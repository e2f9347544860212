"""The time and the bytes that a crawl may take, and each answer of it, however it is sent."""

from __future__ import annotations

import threading
from math import inf
from time import monotonic

from bookbound.read.crawl.fetched import Bounds, NotFetched, Passing

_ON_THE_WAY = 2
"""How many times as long as its page an answer may be on its way, with its headers and all that it is cut with."""


class Allowance:
    """What all answers together may take."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.until = monotonic() + bounds.seconds
        self.taken = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        return monotonic() > self.until or self.taken > self.bounds.bytes

    def take(self, size: int) -> None:
        with self._lock:
            self.taken += size


class Share:
    """What one answer may take: asked before each wait, and told of each piece that comes."""

    def __init__(self, whole: Allowance) -> None:
        self._whole = whole
        self._until = min(whole.until, monotonic() + whole.bounds.page_seconds)
        self._sent = self._shown = self._counted = 0

    @property
    def patience(self) -> float:
        """The seconds to wait for the next piece, once it is sure that any are left."""
        left = self._until - monotonic()
        if left <= 0:
            raise self.late()
        return min(left, self._whole.bounds.silence)

    def late(self) -> Passing:
        """What is said of an answer that is not waited for any longer."""
        over = monotonic() >= self._until
        return Passing("takes too long", wait=inf) if over else Passing("did not answer in time")

    def arrived(self, size: int) -> None:
        """So many bytes came over the line, whatever they are."""
        self._sent += size
        self._count(self._sent <= _ON_THE_WAY * self._whole.bounds.page_bytes)

    def shown(self, size: int) -> None:
        """So many bytes of the page itself were found in what came."""
        self._shown += size
        self._count(self._shown <= self._whole.bounds.page_bytes)

    def _count(self, within: bool) -> None:
        larger = max(self._sent, self._shown)
        self._whole.take(larger - self._counted)
        self._counted = larger
        if not within:
            raise NotFetched(f"is larger than {self._whole.bounds.page_bytes // 1000} kB")
