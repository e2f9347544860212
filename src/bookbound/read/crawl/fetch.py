"""Pages from the web: from checked addresses, politely, and within bounds of size and time."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from email.utils import parsedate_to_datetime
from time import monotonic, sleep, time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bookbound import __version__
from bookbound.read.crawl.addresses import Resolve, addresses, looked_up
from bookbound.read.crawl.fetched import Bounds, Fetched, NotFetched, Passing
from bookbound.read.crawl.robots import NAME
from bookbound.read.site.nav import resolved

if TYPE_CHECKING:
    from bookbound.read.crawl.httpx import Incoming, Line

MOST_REDIRECTS = 5
_PASSING = frozenset((408, 429, 500, 502, 503, 504))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_HEADERS = {
    "user-agent": f"{NAME}/{__version__}",
    "accept": "text/html, application/xhtml+xml, application/xml;q=0.8, */*;q=0.1",
    "accept-encoding": "gzip",
}


class Fetcher:
    """Fetches for one crawl; a host is looked up and checked once, and from then on asked at that address alone."""

    def __init__(self, hosts: Sequence[str] = (), bounds: Bounds | None = None, resolve: Resolve = looked_up) -> None:
        self.bounds = bounds or Bounds()
        self.pause = self.bounds.pause
        self._hosts, self._resolve = hosts, resolve
        self._until = monotonic() + self.bounds.seconds
        self._lines: dict[tuple[str, int], list[Line]] = {}
        self._taken, self._turn = 0, 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether the crawl has taken all the time or all the bytes it may."""
        return monotonic() > self._until or self._taken > self.bounds.bytes

    def fetch(self, url: str, allows: Callable[[str], bool] = lambda url: True) -> Fetched:
        """What stands at `url`; `allows` is asked about it and about each address it leads to."""
        for _ in range(MOST_REDIRECTS + 1):
            if not allows(url):
                raise NotFetched("its robots.txt keeps it out", kept=True)
            found = self._patiently(url)
            if isinstance(found, Fetched):
                return found
            if urlsplit(url).scheme == "https" and urlsplit(found).scheme != "https":
                raise NotFetched("leads from https to http")
            url = found
        raise NotFetched(f"leads on more than {MOST_REDIRECTS} times")

    def close(self) -> None:
        for lines in self._lines.values():
            for line in lines:
                line.close()

    def _patiently(self, url: str) -> Fetched | str:
        for tried in range(1, self.bounds.tries + 1):
            try:
                return self._once(url)
            except Passing as trouble:
                wait = max(trouble.wait, self.bounds.pause * (1 << tried) * random.uniform(0.5, 1.5))
                late = wait > self.bounds.longest_wait or monotonic() + wait > self._until
                if tried == self.bounds.tries or late:
                    raise
            sleep(wait)
        raise NotFetched("was not tried")

    def _once(self, url: str) -> Fetched | str:
        """What stands at an address, or the address it leads to."""
        lines = self._lines_to(url)
        self._wait_for_turn()
        for line in lines[:-1]:
            try:
                return self._asked(line, url)
            except Passing:
                continue  # a host may stand at several addresses, and not all need be reachable
        return self._asked(lines[-1], url)

    def _asked(self, line: Line, url: str) -> Fetched | str:
        with line.get(url, _HEADERS) as incoming:
            if incoming.status in _REDIRECTS:
                return _led_to(url, incoming.headers.get("location", ""))
            if incoming.status in _PASSING:
                raise Passing(f"answers {incoming.status}", _wait(incoming.headers.get("retry-after", "")))
            if incoming.status != 200:
                raise NotFetched(f"answers {incoming.status}", missing=incoming.status in (404, 410))
            told = Message()
            told["content-type"] = incoming.headers.get("content-type", "")
            kept_out = any(word in incoming.headers.get("x-robots-tag", "").lower() for word in ("noindex", "none"))
            charset = str(told.get_param("charset") or "")
            return Fetched(url, told.get_content_type(), charset, self._body(incoming), kept_out)

    def _body(self, incoming: Incoming) -> bytes:
        until = monotonic() + self.bounds.page_seconds
        parts, size = [], 0
        for part in _unpacked(incoming):
            size += len(part)
            with self._lock:
                self._taken += len(part)
            if size > self.bounds.page_bytes:
                raise NotFetched(f"is larger than {self.bounds.page_bytes // 1000} kB")
            if monotonic() > min(until, self._until):
                raise NotFetched("takes too long")
            parts.append(part)
        return b"".join(parts)

    def _lines_to(self, url: str) -> list[Line]:
        from bookbound.read.crawl.httpx import Line

        parts = urlsplit(url)
        place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        with self._lock:
            if place not in self._lines:
                found = addresses(*place, self._hosts, self._resolve)
                self._lines[place] = [Line(each, self.bounds.silence, self.bounds.at_once) for each in found[:4]]
            return self._lines[place]

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = monotonic()
            self._turn = max(self._turn + self.pause, now)
            wait = self._turn - now
        sleep(max(0.0, wait))


def _led_to(url: str, location: str) -> str:
    found = resolved(url, location)
    if not found:
        raise NotFetched("leads to no address of the web")
    return found


def _unpacked(incoming: Incoming) -> Iterator[bytes]:
    """The body as it was meant, unpacked piece by piece so that a small one cannot become large unseen."""
    packing = incoming.headers.get("content-encoding", "identity").strip().lower()
    if packing in ("identity", ""):
        yield from incoming.chunks
        return
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise NotFetched("is packed in a way that was not asked for")
    unpacker = zlib.decompressobj(47 if packing != "deflate" else 15)
    try:
        for chunk in incoming.chunks:
            while chunk and not unpacker.eof:
                yield unpacker.decompress(chunk, 1 << 16)
                chunk = unpacker.unconsumed_tail
    except zlib.error as trouble:
        raise NotFetched("is packed and broken") from trouble


def _wait(text: str) -> float:
    """The seconds that an answer asks us to wait."""
    if text.strip().isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
