"""Reads each host's robots.txt and decides which URLs a crawl may request."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from bookbound.sources.crawl.fetch_limits import USER_AGENT, FetchError, TemporaryFetchError
from bookbound.sources.crawl.fetcher import Fetcher
from bookbound.sources.crawl.page_discovery import get_origin
from bookbound.sources.decoding import decode_html

MAX_CRAWL_DELAY_SECONDS = 10.0
"""The most seconds between two requests that a site is waited for."""
MAX_ROBOTS_LENGTH = 500_000
_MAX_ROBOTS_SITEMAPS = 20
_USER_AGENT_LINE = re.compile(r"(?i)(\s*user[- ]?agent\b\s*:?)([^#]*)")


class RobotsRules:
    """The rules of one site; without a file everything is allowed."""

    def __init__(self, text: str = "") -> None:
        from protego import Protego

        self._rules = Protego.parse(
            "\n".join(map(_normalize_user_agent, text[:MAX_ROBOTS_LENGTH].replace("\0", "").splitlines()))
        )

    def allows(self, url: str) -> bool:
        return bool(self._rules.can_fetch(url, USER_AGENT))

    @property
    def delay(self) -> float:
        """The seconds to let pass between two requests."""
        return min(max(self._rules.crawl_delay(USER_AGENT) or 0.0, 0.0), MAX_CRAWL_DELAY_SECONDS)

    @property
    def maps(self) -> Sequence[str]:
        """Where the site says its maps are."""
        return list(dict.fromkeys(self._rules.sitemaps))[:_MAX_ROBOTS_SITEMAPS]


def _normalize_user_agent(line: str) -> str:
    """A line in which all that are not us have one name: for each name rules are kept apart, however many there are."""
    named = _USER_AGENT_LINE.match(line)
    if not named or not named[2].strip():
        return line
    name = named[2].strip().lower().replace("*", "")
    return f"{named[1]} {(name or '*') if USER_AGENT.startswith(name) else 'another'}"


class RobotsCache:
    """The rules of each host, asked for once; a fetcher learns from them how long to pause."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._robots: dict[str, RobotsRules] = {}
        self._lock = threading.Lock()

    def allows(self, url: str) -> bool:
        return self.of(url).allows(url)

    def of(self, url: str) -> RobotsRules:
        """The rules of the host that an address is of."""
        host = get_origin(url)
        with self._lock:
            if host not in self._robots:
                self._robots[host] = self._fetched(host)
                self._fetcher.pause = max(self._fetcher.pause, self._robots[host].delay)
            return self._robots[host]

    def _fetched(self, host: str) -> RobotsRules:
        try:
            found = self._fetcher.fetch(f"{host}/robots.txt")
        except TemporaryFetchError:
            raise  # nobody knows what it forbids
        except FetchError:
            return RobotsRules()
        return RobotsRules(decode_html(found.body, found.charset))
