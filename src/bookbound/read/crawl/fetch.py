"""Pages from the web: from checked addresses, politely, and within bounds of size and time."""

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
from bookbound.read.crawl.addresses import Resolve, addresses, looked_up
from bookbound.read.crawl.allowance import Allowance, Share
from bookbound.read.crawl.fetched import Bounds, Fetched, NotFetched, Passing
from bookbound.read.crawl.robots import NAME
from bookbound.read.html.address import resolved

if TYPE_CHECKING:
    from bookbound.read.crawl.httpcore import Incoming

MOST_REDIRECTS = 5
_MOST_ADDRESSES = 4
# No honest header is longer, and reading a long one takes time.
_LONGEST_KIND, _LONGEST_WAIT = 200, 50
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
        from bookbound.read.crawl.httpcore import Line

        self.bounds = bounds or Bounds()
        self.pause = self.bounds.pause
        self._hosts, self._resolve = hosts, resolve
        self._allowance = Allowance(self.bounds)
        self._line = Line(self._find, self.bounds.at_once)
        self._found: dict[tuple[str, int], list[str]] = {}
        self._turn = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether the crawl has taken all the time or all the bytes it may."""
        return self._allowance.spent

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
        self._line.close()

    def _patiently(self, url: str) -> Fetched | str:
        for tried in range(1, self.bounds.tries + 1):
            try:
                return self._once(url)
            except Passing as trouble:
                wait = max(trouble.wait, self.bounds.pause * (1 << tried) * random.uniform(0.5, 1.5))
                late = wait > self.bounds.longest_wait or monotonic() + wait > self._allowance.until
                if tried == self.bounds.tries or late:
                    raise
            sleep(wait)
        raise NotFetched("was not tried")

    def _once(self, url: str) -> Fetched | str:
        """What stands at an address, or the address it leads to."""
        self._wait_for_turn()
        if self.spent:
            raise Passing("comes after all that a crawl may take", wait=inf)
        share = Share(self._allowance)
        with self._line.get(url, _HEADERS, share) as incoming:
            if incoming.status in _REDIRECTS:
                return _led_to(url, incoming.headers.get("location", ""))
            if incoming.status in _PASSING:
                raise Passing(f"answers {incoming.status}", _wait(incoming.headers.get("retry-after", "")))
            if incoming.status != 200:
                raise NotFetched(f"answers {incoming.status}", missing=incoming.status in (404, 410))
            told = Message()
            told["content-type"] = incoming.headers.get("content-type", "")[:_LONGEST_KIND]
            kept_out = any(word in incoming.headers.get("x-robots-tag", "").lower() for word in ("noindex", "none"))
            charset = str(told.get_param("charset") or "")
            return Fetched(url, told.get_content_type(), charset, _body(incoming, share), kept_out)

    def _find(self, host: str, port: int) -> Sequence[str]:
        with self._lock:
            if (host, port) not in self._found:
                self._found[host, port] = addresses(host, port, self._hosts, self._resolve)[:_MOST_ADDRESSES]
            return self._found[host, port]

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = monotonic()
            self._turn = max(self._turn + self.pause, now)
            wait = min(self._turn, self._allowance.until) - now
        sleep(max(0.0, wait))


def _led_to(url: str, location: str) -> str:
    found = resolved(url, location)
    if not found:
        raise NotFetched("leads to no address of the web")
    return found


def _body(incoming: Incoming, share: Share) -> bytes:
    parts = []
    for part in _unpacked(incoming):
        share.shown(len(part))
        parts.append(part)
    return b"".join(parts)


def _unpacked(incoming: Incoming) -> Iterator[bytes]:
    """The body as it was meant, unpacked piece by piece so that a small one cannot become large unseen."""
    packing = incoming.headers.get("content-encoding", "identity").strip().lower()
    if packing in ("identity", ""):
        yield from incoming.chunks
        return
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise NotFetched("is packed in a way that was not asked for")
    unpacker = zlib.decompressobj(47 if packing != "deflate" else 15)
    begun = False
    try:
        for chunk in incoming.chunks:
            begun = begun or bool(chunk)
            while chunk and not unpacker.eof:
                yield unpacker.decompress(chunk, 1 << 16)
                chunk = unpacker.unconsumed_tail
    except zlib.error as trouble:
        raise NotFetched("is packed and broken") from trouble
    if begun and not unpacker.eof:
        raise Passing("is packed and broke off")


def _wait(text: str) -> float:
    """The seconds that an answer asks us to wait."""
    text = text[:_LONGEST_WAIT]
    if text.strip().isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
