"""What comes next in a source."""

from __future__ import annotations

import re


class Ahead:
    """Finds what closes things in one source; what was found is remembered until the scan has passed it.

    However many openers wait for one closer, or for none, the source is looked through once.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first match that begins at `at` or later."""
        since, found = self._known.get(pattern, (len(self._source) + 1, None))
        if since > at or (found and found.start() < at):
            found = pattern.search(self._source, at)
            self._known[pattern] = at, found
        return found
