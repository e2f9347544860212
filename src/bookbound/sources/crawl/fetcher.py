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
from bookbound.sources.crawl.fetch_limits import (
    USER_AGENT,
    CrawlBudget,
    CrawlLimits,
    FetchError,
    FetchResult,
    ResponseBudget,
    TemporaryFetchError,
)
from bookbound.sources.crawl.ssrf_guard import ResolveHost, resolve_host, resolve_public_addresses
from bookbound.sources.html.urls import resolve_url

if TYPE_CHECKING:
    from bookbound.sources.crawl.httpcore import StreamedResponse


MAX_REDIRECTS = 5
_MAX_ADDRESSES = 4
# No honest header is longer, and reading a long one takes time.
_MAX_CONTENT_TYPE_LENGTH, _MAX_RETRY_AFTER_LENGTH = 200, 50
_RETRYABLE_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
_HEADERS = {
    "user-agent": f"{USER_AGENT}/{__version__}",
    "accept": "text/html, application/xhtml+xml, application/xml;q=0.8, */*;q=0.1",
    "accept-encoding": "gzip",
}


class Fetcher:
    """Fetches for one crawl; a host is looked up and checked once, and from then on asked at that address alone."""

    def __init__(
        self, hosts: Sequence[str] = (), bounds: CrawlLimits | None = None, resolve: ResolveHost = resolve_host
    ) -> None:
        from bookbound.sources.crawl.httpcore import CrawlHttpClient

        self.bounds = bounds or CrawlLimits()
        self.pause = self.bounds.pause
        self._hosts, self._resolve = hosts, resolve
        self._allowance = CrawlBudget(self.bounds)
        self._line = CrawlHttpClient(self._find, self.bounds.at_once)
        self._found: dict[tuple[str, int], list[str]] = {}
        self._turn = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether the crawl has taken all the time or all the bytes it may."""
        return self._allowance.spent

    def fetch(self, url: str, allows: Callable[[str], bool] = lambda url: True) -> FetchResult:
        """What stands at `url`; `allows` is asked about it and about each address it leads to."""
        for _ in range(MAX_REDIRECTS + 1):
            if not allows(url):
                raise FetchError("its robots.txt keeps it out", kept=True)
            found = self._patiently(url)
            if isinstance(found, FetchResult):
                return found
            if urlsplit(url).scheme == "https" and urlsplit(found).scheme != "https":
                raise FetchError("leads from https to http")
            url = found
        raise FetchError(f"leads on more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        self._line.close()

    def _patiently(self, url: str) -> FetchResult | str:
        for tried in range(1, self.bounds.tries + 1):
            try:
                return self._once(url)
            except TemporaryFetchError as trouble:
                wait = max(trouble.wait, self.bounds.pause * (1 << tried) * random.uniform(0.5, 1.5))
                late = wait > self.bounds.longest_wait or monotonic() + wait > self._allowance.until
                if tried == self.bounds.tries or late:
                    raise
            sleep(wait)
        raise FetchError("was not tried")

    def _once(self, url: str) -> FetchResult | str:
        """What stands at an address, or the address it leads to."""
        self._wait_for_turn()
        if self.spent:
            raise TemporaryFetchError("comes after all that a crawl may take", wait=inf)
        share = ResponseBudget(self._allowance)
        with self._line.get(url, _HEADERS, share) as incoming:
            if incoming.status in _REDIRECT_STATUSES:
                return _redirect_target(url, incoming.headers.get("location", ""))
            if incoming.status in _RETRYABLE_STATUSES:
                raise TemporaryFetchError(
                    f"answers {incoming.status}", _parse_retry_after(incoming.headers.get("retry-after", ""))
                )
            if incoming.status != 200:
                raise FetchError(f"answers {incoming.status}", missing=incoming.status in (404, 410))
            told = Message()
            told["content-type"] = incoming.headers.get("content-type", "")[:_MAX_CONTENT_TYPE_LENGTH]
            kept_out = any(word in incoming.headers.get("x-robots-tag", "").lower() for word in ("noindex", "none"))
            charset = str(told.get_param("charset") or "")
            return FetchResult(url, told.get_content_type(), charset, _read_body(incoming, share), kept_out)

    def _find(self, host: str, port: int) -> Sequence[str]:
        with self._lock:
            if (host, port) not in self._found:
                self._found[host, port] = resolve_public_addresses(host, port, self._hosts, self._resolve)[
                    :_MAX_ADDRESSES
                ]
            return self._found[host, port]

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = monotonic()
            self._turn = max(self._turn + self.pause, now)
            wait = min(self._turn, self._allowance.until) - now
        sleep(max(0.0, wait))


def _redirect_target(url: str, location: str) -> str:
    found = resolve_url(url, location)
    if not found:
        raise FetchError("leads to no address of the web")
    return found


def _read_body(incoming: StreamedResponse, share: ResponseBudget) -> bytes:
    parts = []
    for part in _decompress(incoming):
        share.shown(len(part))
        parts.append(part)
    return b"".join(parts)


def _decompress(incoming: StreamedResponse) -> Iterator[bytes]:
    """The body as it was meant, unpacked piece by piece so that a small one cannot become large unseen."""
    packing = incoming.headers.get("content-encoding", "identity").strip().lower()
    if packing in ("identity", ""):
        yield from incoming.chunks
        return
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise FetchError("is packed in a way that was not asked for")
    unpacker = zlib.decompressobj(47 if packing != "deflate" else 15)
    begun = False
    try:
        for chunk in incoming.chunks:
            begun = begun or bool(chunk)
            while chunk and not unpacker.eof:
                yield unpacker.decompress(chunk, 1 << 16)
                chunk = unpacker.unconsumed_tail
    except zlib.error as trouble:
        raise FetchError("is packed and broken") from trouble
    if begun and not unpacker.eof:
        raise TemporaryFetchError("is packed and broke off")


def _parse_retry_after(text: str) -> float:
    """The seconds that an answer asks us to wait."""
    text = text[:_MAX_RETRY_AFTER_LENGTH]
    if text.strip().isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
