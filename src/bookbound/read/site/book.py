"""The pages of a site become a book: what is no page of it is left out, the others are named and put in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from bookbound.book import Manuscript, Notice, Page
from bookbound.read.files import readable
from bookbound.read.html.page import HtmlPage, key, parted
from bookbound.read.site.order import chapters, in_order

_MAP = re.compile(r"/toc\.html\Z")
_BESIDE = re.compile(
    r"/(?:(?:404|search|genindex(?:-\w+)?|py-modindex|http-domainindex|print|tags|glossary-index|50x)(?:\.html?|/(?:index\.html?)?)?"
    r"|(?:_static|_sources|_modules|_images|assets|static|tags|categories)/.*"
    r"|(?:.*/)?page/\d+/?(?:index\.html?)?)\Z"
)


def bind(pages: Iterable[HtmlPage], home: str, title: str, notices: Iterable[Notice]) -> Manuscript:
    """The book of these pages of the site at `home`, which is called `title` where it does not name itself."""
    told = list(notices)
    maps, kept = [], []
    for page in pages:
        path = "/" + page.url.removeprefix(home).lstrip("/").split("?")[0]
        if _MAP.search(path):
            maps.append(page)
        elif why := _why_not(page, path):
            told.append(Notice(page.file, f"{why}; left out", lost=page.choked))
        else:
            kept.append(page)
    addresses, twins = _addresses(kept)
    told += [Notice(page.file, "is another version of a page; left out") for page in twins]
    kept = [page for page in kept if page.url in addresses]
    site = _site_name(kept, home)
    places = chapters(kept, maps)
    bound = []
    for position, page in enumerate(in_order(kept, maps)):
        name = page.heading or _own_name(page, site) or readable(urlsplit(page.url).path.strip("/").split("/")[-1])
        text = page.setting.text
        chapter = places.get(page.key) or name
        bound.append(Page(page.file, addresses[page.url], name, chapter, position, text, *page.setting))
    return Manuscript(site or title, "html", tuple(bound), tuple(told))


def _why_not(page: HtmlPage, path: str) -> str:
    if page.choked:
        return "is nested beyond all measure"
    if _BESIDE.match(path):
        return "lists or repeats other pages"
    if page.leads_on:
        return "leads to another page"
    if page.kept_out:
        return "asks not to be indexed"
    return "" if page.setting.text else "shows no words"


def _addresses(pages: list[HtmlPage]) -> tuple[dict[str, str], list[HtmlPage]]:
    """The address of each page by its own, and the pages that are others over again.

    A page is addressed as it says itself, unless most pages say the same, which is then a mistake.
    """
    said = Counter(key(page.canonical) for page in pages if page.canonical)
    shared = {name for name, times in said.items() if times > max(2, len(pages) // 2)}
    own = {page.key for page in pages}
    taken: dict[str, str] = {}
    addresses, twins = {}, []
    for page in sorted(pages, key=lambda page: bool(page.canonical) and key(page.canonical) != page.key):
        trusted = bool(page.canonical) and key(page.canonical) not in shared
        name = key(page.canonical) if trusted else page.key
        if name in taken or (name != page.key and name in own):
            twins.append(page)
        else:
            taken[name] = addresses[page.url] = page.canonical if trusted else page.url
    return addresses, twins


def _site_name(pages: list[HtmlPage], home: str) -> str:
    """What the site calls itself, or what most of its pages' names end with."""
    named = Counter(page.site for page in pages if page.site)
    ends = Counter(end for page in pages if (end := parted(page.name)[1]))
    site = next((name for name, times in (*named.most_common(1), *ends.most_common(1)) if times * 2 > len(pages)), "")
    opening = next((page.heading for page in pages if page.key == key(home)), "")
    return opening if opening and (not site or site.startswith(opening)) else site


def _own_name(page: HtmlPage, site: str) -> str:
    own, end = parted(page.name)
    return own if end and end.startswith(site or end) else page.name
