"""Defines a crawl's limits, the result of a fetch and the errors of a failed one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from bookbound.domain.errors import SourceError


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """How much a crawl may take, in pages, addresses that are asked, bytes and seconds."""

    pages: int = 10_000
    asked: int = 30_000
    page_bytes: int = 5_000_000
    bytes: int = 1_000_000_000
    seconds: float = 3_600.0
    page_seconds: float = 60.0
    silence: float = 15.0
    longest_wait: float = 30.0
    tries: int = 3
    at_once: int = 4
    pause: float = 0.1


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What came from an address, all redirects followed."""

    url: str
    kind: str
    charset: str
    body: bytes = field(repr=False)
    kept_out: bool = False

    @property
    def is_html(self) -> bool:
        return self.kind in ("text/html", "application/xhtml+xml")


class FetchError(SourceError):
    """A page cannot be had: it is `missing`, the site has it `kept` out, or is `distrusted` for its certificate."""

    def __init__(self, message: str, *, missing: bool = False, kept: bool = False, distrusted: bool = False) -> None:
        super().__init__(message)
        self.missing, self.kept, self.distrusted = missing, kept, distrusted


class TemporaryFetchError(FetchError):
    """A page cannot be had now, and perhaps in `wait` seconds."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


_MAX_TRANSFER_RATIO = 2
"""How many times as long as its page an answer may be on its way, with its headers and all that it is cut with."""


class CrawlBudget:
    """What all answers together may take."""

    def __init__(self, bounds: CrawlLimits) -> None:
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


class ResponseBudget:
    """What one answer may take: asked before each wait, and told of each piece that comes."""

    def __init__(self, whole: CrawlBudget) -> None:
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

    def late(self) -> TemporaryFetchError:
        """What is said of an answer that is not waited for any longer."""
        over = monotonic() >= self._until
        return (
            TemporaryFetchError("takes too long", wait=inf) if over else TemporaryFetchError("did not answer in time")
        )

    def arrived(self, size: int) -> None:
        """So many bytes came over the line, whatever they are."""
        self._sent += size
        self._count(self._sent <= _MAX_TRANSFER_RATIO * self._whole.bounds.page_bytes)

    def shown(self, size: int) -> None:
        """So many bytes of the page itself were found in what came."""
        self._shown += size
        self._count(self._shown <= self._whole.bounds.page_bytes)

    def _count(self, within: bool) -> None:
        larger = max(self._sent, self._shown)
        self._whole.take(larger - self._counted)
        self._counted = larger
        if not within:
            raise FetchError(f"is larger than {self._whole.bounds.page_bytes // 1000} kB")


USER_AGENT = "bookbound"
