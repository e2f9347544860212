"""What a site's `robots.txt` lets us do."""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME = "bookbound"
LONGEST_DELAY = 10.0
"""The most seconds between two requests that a site is waited for."""

LARGEST = 500_000
_MOST_MAPS = 20
_AGENT = re.compile(r"(?i)(\s*user[- ]?agent\b\s*:?)([^#]*)")


class Robots:
    """The rules of one site; without a file everything is allowed."""

    def __init__(self, text: str = "") -> None:
        from protego import Protego

        self._rules = Protego.parse("\n".join(map(_told, text[:LARGEST].replace("\0", "").splitlines())))

    def allows(self, url: str) -> bool:
        return bool(self._rules.can_fetch(url, NAME))

    @property
    def delay(self) -> float:
        """The seconds to let pass between two requests."""
        return min(max(self._rules.crawl_delay(NAME) or 0.0, 0.0), LONGEST_DELAY)

    @property
    def maps(self) -> Sequence[str]:
        """Where the site says its maps are."""
        return list(dict.fromkeys(self._rules.sitemaps))[:_MOST_MAPS]


def _told(line: str) -> str:
    """A line in which all that are not us have one name: for each name rules are kept apart, however many there are."""
    named = _AGENT.match(line)
    if not named or not named[2].strip():
        return line
    name = named[2].strip().lower().replace("*", "")
    return f"{named[1]} {(name or '*') if NAME.startswith(name) else 'another'}"
