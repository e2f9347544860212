"""Fetches pages with pauses, retries, redirects and limits on size and time."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from email.utils import parsedate_to_datetime
from math import inf
from time import monotonic, sleep, time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bookbound import __version__
from bookbound.sources.crawl.access_rules import ResolveHost, resolve_host, resolve_public_addresses
from bookbound.sources.crawl.fetch_limits import (
    USER_AGENT,
    CrawlBudget,
    CrawlLimits,
    FetchError,
    FetchResult,
    ResponseBudget,
    TemporaryFetchError,
)
from bookbound.sources.html.urls import resolve_url

if TYPE_CHECKING:
    from bookbound.sources.crawl.httpcore import StreamedResponse

MAX_REDIRECTS = 5
# A host with many dead addresses would take a time-out for each.
_MAX_ADDRESSES = 4
# Parsing a long header takes time, and no honest one is longer.
_MAX_CONTENT_TYPE_LENGTH = 200
_MAX_RETRY_AFTER_LENGTH = 50
_DECOMPRESSED_BYTES = 1 << 16
_RETRYABLE_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
_HEADERS = {
    "user-agent": f"{USER_AGENT}/{__version__}",
    "accept": "text/html, application/xhtml+xml, application/xml;q=0.8, */*;q=0.1",
    "accept-encoding": "gzip",
}


class Fetcher:
    """Fetches pages for one crawl; it resolves and checks each host once and then keeps to those addresses."""

    def __init__(
        self, allowed_hosts: Sequence[str] = (), limits: CrawlLimits | None = None, resolve: ResolveHost = resolve_host
    ) -> None:
        from bookbound.sources.crawl.httpcore import CrawlHttpClient

        self.limits = limits or CrawlLimits()
        self.delay_seconds = self.limits.delay_seconds
        self._allowed_hosts, self._resolve = allowed_hosts, resolve
        self._budget = CrawlBudget(self.limits)
        self._client = CrawlHttpClient(self._find_addresses, self.limits.max_concurrency)
        self._addresses: dict[tuple[str, int], list[str]] = {}
        self._next_request = 0.0
        self._lock = threading.Lock()

    @property
    def is_spent(self) -> bool:
        """Whether the crawl has used up its time or its bytes."""
        return self._budget.is_spent

    def fetch(self, url: str, is_allowed: Callable[[str], bool] = lambda url: True) -> FetchResult:
        """Fetch a URL; `is_allowed` checks it and each URL that it redirects to."""
        for _ in range(MAX_REDIRECTS + 1):
            if not is_allowed(url):
                raise FetchError("is disallowed by robots.txt", "disallowed")
            result = self._fetch_with_retry(url)
            if isinstance(result, FetchResult):
                return result
            if urlsplit(url).scheme == "https" and urlsplit(result).scheme != "https":
                raise FetchError("redirects from https to http")
            url = result
        raise FetchError(f"redirects more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        self._client.close()

    def _fetch_with_retry(self, url: str) -> FetchResult | str:
        attempt = 1
        while True:
            try:
                return self._fetch_once(url)
            except TemporaryFetchError as error:
                # Chance keeps the retries of several threads from meeting again.
                wait = max(error.wait_seconds, self.limits.delay_seconds * (1 << attempt) * random.uniform(0.5, 1.5))
                too_late = monotonic() + wait > self._budget.deadline
                if attempt >= self.limits.max_attempts or wait > self.limits.max_retry_wait_seconds or too_late:
                    raise
            attempt += 1
            sleep(wait)

    def _fetch_once(self, url: str) -> FetchResult | str:
        """Return the response at a URL, or the URL that it redirects to."""
        self._wait_for_turn()
        if self.is_spent:
            raise TemporaryFetchError("exceeds the time or bytes of the crawl", wait_seconds=inf)
        budget = ResponseBudget(self._budget)
        with self._client.get(url, _HEADERS, budget) as response:
            status, headers = response.status, response.headers
            if status in _REDIRECT_STATUSES:
                target = resolve_url(url, headers.get("location", ""))
                if not target:
                    raise FetchError("redirects to an invalid URL")
                return target
            if status in _RETRYABLE_STATUSES:
                raise TemporaryFetchError(f"answers {status}", _parse_retry_after(headers.get("retry-after", "")))
            if status != 200:
                raise FetchError(f"answers {status}", "missing" if status in (404, 410) else "")
            content = Message()
            content["content-type"] = headers.get("content-type", "")[:_MAX_CONTENT_TYPE_LENGTH]
            charset = str(content.get_param("charset") or "")
            is_noindex = any(word in headers.get("x-robots-tag", "").lower() for word in ("noindex", "none"))
            body = bytearray()
            for part in _decompress(response):
                budget.add_decoded(len(part))
                body += part
            return FetchResult(url, content.get_content_type(), charset, bytes(body), is_noindex)

    def _find_addresses(self, host: str, port: int) -> Sequence[str]:
        with self._lock:
            if (host, port) not in self._addresses:
                found = resolve_public_addresses(host, port, self._allowed_hosts, self._resolve)
                self._addresses[host, port] = found[:_MAX_ADDRESSES]
            return self._addresses[host, port]

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = monotonic()
            self._next_request = max(self._next_request + self.delay_seconds, now)
            wait = min(self._next_request, self._budget.deadline) - now
        sleep(max(0.0, wait))


def _decompress(response: StreamedResponse) -> Iterator[bytes]:
    """Decompress a body in small steps, so that the budget stops a decompression bomb."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        yield from response.chunks
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchError("uses a compression that was not requested")
    # 15 is the largest window, and 32 more accept the header of gzip.
    decompressor = zlib.decompressobj(15 + 32 if encoding != "deflate" else 15)
    has_data = False
    try:
        for chunk in response.chunks:
            has_data = has_data or bool(chunk)
            while chunk and not decompressor.eof:
                yield decompressor.decompress(chunk, _DECOMPRESSED_BYTES)
                chunk = decompressor.unconsumed_tail
    except zlib.error as error:
        raise FetchError("has broken compression") from error
    if has_data and not decompressor.eof:
        raise TemporaryFetchError("is compressed and broke off")


def _parse_retry_after(text: str) -> float:
    """Parse a Retry-After header into seconds; 0 if it is invalid."""
    text = text[:_MAX_RETRY_AFTER_LENGTH]
    if text.strip().isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
