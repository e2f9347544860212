"""The map that the generator of a site on the web made of it."""

from __future__ import annotations

from collections.abc import Callable

from bookbound.book import Notice
from bookbound.errors import BadSource
from bookbound.read.crawl.fetched import Fetched, NotFetched
from bookbound.read.maps import Map, drawn
from bookbound.read.maps.found import broken, on_the_web
from bookbound.read.maps.lines import Line, lines


def fetch_map(html: str, home: str, fetch: Callable[[str], Fetched]) -> tuple[Map, list[Notice]]:
    """What the generator of a page says of the site at `home`, and what was odd about that; often it says nothing."""
    found: dict[str, list[Line]] = {}
    odd: list[Notice] = []
    for name in on_the_web(html):
        try:
            answer = fetch(home + name)
        except NotFetched as trouble:
            if not (trouble.missing or trouble.kept):
                odd.append(Notice(name, f"{trouble}; the site's pages are found without it"))
            continue
        except BadSource:
            continue
        if listed := lines(name, answer.body):
            found[name] = listed
        elif not answer.is_html:  # many a site answers with a page where there is nothing
            odd.append(broken(name))
    return drawn(found, home), odd
