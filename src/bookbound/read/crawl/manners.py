"""What the hosts that a crawl meets let us ask them for."""

from __future__ import annotations

import threading

from bookbound.read.crawl.fetch import Fetcher
from bookbound.read.crawl.fetched import NotFetched, Passing
from bookbound.read.crawl.robots import Robots
from bookbound.read.crawl.scope import origin
from bookbound.read.html.charset import html_text


class Manners:
    """The rules of each host, asked for once; a fetcher learns from them how long to pause."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._robots: dict[str, Robots] = {}
        self._lock = threading.Lock()

    def allows(self, url: str) -> bool:
        return self.of(url).allows(url)

    def of(self, url: str) -> Robots:
        """The rules of the host that an address is of."""
        host = origin(url)
        with self._lock:
            if host not in self._robots:
                self._robots[host] = self._fetched(host)
                self._fetcher.pause = max(self._fetcher.pause, self._robots[host].delay)
            return self._robots[host]

    def _fetched(self, host: str) -> Robots:
        try:
            found = self._fetcher.fetch(f"{host}/robots.txt")
        except Passing:
            raise  # nobody knows what it forbids
        except NotFetched:
            return Robots()
        return Robots(html_text(found.body, found.charset))
