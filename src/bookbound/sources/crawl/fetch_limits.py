"""Defines a crawl's limits, the result of a fetch and the errors of a failed one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Literal

from bookbound.domain.errors import SourceError

USER_AGENT = "bookbound"
_MAX_TRANSFER_RATIO = 2
"""How many times the size limit of a page a response may have with headers and chunk sizes."""


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """How much a crawl may request and receive, and how long it may take."""

    max_pages: int = 10_000
    max_urls: int = 30_000
    max_page_bytes: int = 5_000_000
    max_total_bytes: int = 1_000_000_000
    max_seconds: float = 3_600.0
    max_page_seconds: float = 60.0
    read_timeout_seconds: float = 15.0
    max_retry_wait_seconds: float = 30.0
    max_attempts: int = 3
    max_concurrency: int = 4
    delay_seconds: float = 0.1


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The response at a URL after all redirects."""

    url: str
    media_type: str
    charset: str
    body: bytes = field(repr=False)
    is_noindex: bool = False

    @property
    def is_html(self) -> bool:
        return self.media_type in ("text/html", "application/xhtml+xml")


class FetchError(SourceError):
    """A page cannot be fetched; the message continues a sentence about it."""

    def __init__(self, message: str, reason: Literal["", "missing", "disallowed", "untrusted"] = "") -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def is_expected(self) -> bool:
        """Whether the site itself says that there is no page for us."""
        return self.reason in ("missing", "disallowed")


class TemporaryFetchError(FetchError):
    """A page cannot be fetched now, but perhaps in `wait_seconds`."""

    def __init__(self, message: str, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class CrawlBudget:
    """Counts the bytes of all responses and knows when the crawl must end."""

    def __init__(self, limits: CrawlLimits) -> None:
        self.limits = limits
        self.deadline = monotonic() + limits.max_seconds
        self.used_bytes = 0
        self._lock = threading.Lock()

    @property
    def is_spent(self) -> bool:
        return monotonic() > self.deadline or self.used_bytes > self.limits.max_total_bytes

    def add(self, size: int) -> None:
        with self._lock:
            self.used_bytes += size


class ResponseBudget:
    """Limits the time and the bytes of one response."""

    def __init__(self, crawl: CrawlBudget) -> None:
        self._crawl = crawl
        self._deadline = min(crawl.deadline, monotonic() + crawl.limits.max_page_seconds)
        self._received = self._decoded = self._counted = 0

    def timeout(self) -> float:
        """Return how many seconds to wait for the next bytes, or raise if no time is left."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise self.timeout_error()
        return min(left, self._crawl.limits.read_timeout_seconds)

    def timeout_error(self) -> TemporaryFetchError:
        if monotonic() >= self._deadline:
            return TemporaryFetchError("takes too long", wait_seconds=inf)
        return TemporaryFetchError("did not answer in time")

    def add_received(self, size: int) -> None:
        """Count bytes that came from the network."""
        self._received += size
        self._count(self._received <= _MAX_TRANSFER_RATIO * self._crawl.limits.max_page_bytes)

    def add_decoded(self, size: int) -> None:
        """Count bytes of the page itself."""
        self._decoded += size
        self._count(self._decoded <= self._crawl.limits.max_page_bytes)

    def _count(self, is_within_limit: bool) -> None:
        # A compressed body arrives small and grows: the crawl pays for the larger of both.
        larger = max(self._received, self._decoded)
        self._crawl.add(larger - self._counted)
        self._counted = larger
        if not is_within_limit:
            raise FetchError(f"is larger than {self._crawl.limits.max_page_bytes // 1000} kB")
