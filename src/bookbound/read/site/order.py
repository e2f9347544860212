"""The order of a site's pages and their chapters, from what the pages say of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bookbound.read.files import natural
from bookbound.read.html.address import key
from bookbound.read.html.page import HtmlPage


def in_order(
    pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = (), mapped: Iterable[str] = ()
) -> list[HtmlPage]:
    """Pages as a reader meets them: each behind the one that leads to it, or as navigation lists them.

    What neither places follows as the site's own map lists it, the rest by name.
    """
    by_key = {page.key: page for page in sorted(pages, key=lambda page: (natural(page.key), page.key))}
    listings = sorted((page.entries for page in (*contents, *pages)), key=len, reverse=True)
    longest = [key(entry.url) for entry in listings[0]] if listings else []
    order = _Order()
    order.place(name for name in list(by_key)[:1] if all(other.startswith(name) for other in by_key))
    for chain in _chains(by_key, {name: at for at, name in reversed(list(enumerate(longest)))}):
        order.place(chain)
    for listing in listings:
        order.place(name for name in (key(entry.url) for entry in listing) if name in by_key)
    order.place(name for name in mapped if name in by_key and name not in order)
    order.place(name for name in by_key if name not in order)
    return [by_key[name] for name in order if name in by_key]


def chapters(pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = ()) -> dict[str, str]:
    """The chapter of each page, as its own navigation has it or that of another page."""
    found: dict[str, str] = {}
    for page in (*contents, *pages):
        for entry in page.entries:
            name = key(entry.url)
            if entry.chapter and (name == page.key or name not in found):
                found[name] = entry.chapter
    return found


class _Order:
    """A line of names; what is new in a listing goes behind what it follows there."""

    def __init__(self) -> None:
        self._next: dict[str, str] = {}
        self._last = ""

    def place(self, names: Iterable[str]) -> None:
        before = None
        for name in names:
            if name not in self._next:
                before = self._last if before is None else before
                self._next[name] = self._next.get(before, "")
                self._next[before] = name
                self._last = name if before == self._last else self._last
            before = name

    def __contains__(self, name: str) -> bool:
        return name in self._next

    def __iter__(self) -> Iterator[str]:
        name = self._next.get("", "")
        while name:
            yield name
            name = self._next[name]


def _chains(by_key: dict[str, HtmlPage], rank: dict[str, int]) -> list[list[str]]:
    """The pages that lead to one another, in the order in which navigation lists where they begin."""
    after = {name: key(page.after) for name, page in by_key.items() if page.after}
    after = {name: following for name, following in after.items() if following in by_key and following != name}
    begins = sorted(after.keys() - set(after.values()), key=lambda name: (rank.get(name, len(rank)), natural(name)))
    seen: set[str] = set()
    chains = []
    for name in begins:
        chain = []
        while name and name not in seen:
            seen.add(name)
            chain.append(name)
            name = after.get(name, "")
        chains.append(chain)
    return chains
