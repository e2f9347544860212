"""Where a page leads, as far as a crawl follows it."""

from __future__ import annotations

from collections.abc import Iterable

from bookbound.read.html.page import HtmlPage
from bookbound.read.site.nav import Entry

MOST_ENTRIES = 1_000_000
"""The most entries of navigation that are kept of a site; most of its pages show the same."""


def links(page: HtmlPage) -> Iterable[str]:
    """Everywhere: nobody else says which pages there are."""
    return page.links


def navigation(page: HtmlPage) -> Iterable[str]:
    """Where navigation leads: it may name pages that an author keeps out of the site's search, and so of its map."""
    return [*(entry.url for entry in page.entries), *contents(page)]


def contents(page: HtmlPage) -> Iterable[str]:
    """To the page that holds the navigation of all others, where a book has such."""
    return [link for link in page.links if link.endswith("/toc.html")]


class Listings:
    """The navigation of pages, kept once for all that show the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Entry, ...], tuple[Entry, ...]] = {}
        self._size = 0

    def shared(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """The same entries, or none where the site has shown too many that differ."""
        if entries not in self._kept and self._size + len(entries) <= MOST_ENTRIES:
            self._kept[entries] = entries
            self._size += len(entries)
        return self._kept.get(entries, ())
