"""The pages of a site become a book: what is no page of it is left out, the others are named and put in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from bookbound.book import Block, Manuscript, Notice, Page
from bookbound.read.files import readable
from bookbound.read.html.address import key
from bookbound.read.html.page import HtmlPage, parted
from bookbound.read.maps import Listed, Map
from bookbound.read.site.order import chapters, in_order

_CONTENTS = re.compile(r"/toc\.html\Z")
_BESIDE = re.compile(
    r"/(?:(?:404|search|genindex(?:-\w+)?|py-modindex|http-domainindex|print|tags|glossary-index|50x)(?:\.html?|/(?:index\.html?)?)?"
    r"|(?:_static|_sources|_modules|_images|assets|static|tags|categories)/.*"
    r"|(?:.*/)?page/\d+/?(?:index\.html?)?)\Z"
)


def bind(
    pages: Sequence[HtmlPage], home: str, title: str, notices: Iterable[Notice], own_map: Map | None = None
) -> Manuscript:
    """The book of these pages of the site at `home`, which is called `title` where it does not name itself."""
    told = list(notices)
    listed = own_map or Map()
    if listed.files and not listed.fits({page.key for page in pages}):
        told += [Notice(file, "lists pages that are not there; not used") for file in listed.files]
        listed = Map()
    named = _named(pages)
    contents, kept = [], []
    for page in pages:
        path = "/" + page.url.removeprefix(home).lstrip("/").split("?")[0]
        if _CONTENTS.search(path) and page.key not in listed.pages:
            contents.append(page)
        elif why := _why_not(page, path, listed.pages, named):
            told.append(Notice(page.file, f"{why}; left out", lost=page.choked))
        else:
            kept.append(page)
    addresses, twins = _addresses(kept)
    told += [Notice(page.file, "is another version of a page; left out") for page in twins]
    kept = [page for page in kept if page.url in addresses]
    site = _site_name(kept, home)
    places = chapters(kept, contents)
    bound = []
    for position, page in enumerate(in_order(kept, contents, listed.pages)):
        entry = listed.pages.get(page.key, Listed(page.url))
        last = readable(urlsplit(page.url).path.strip("/").split("/")[-1])
        name = page.heading or entry.title or _own_name(page, site) or last
        text, runs, blocks = page.setting
        chapter = places.get(page.key) or name
        blocks = _anchored(blocks, text, entry)
        bound.append(Page(page.file, addresses[page.url], name, chapter, position, text, text, runs, blocks))
    return Manuscript(site or title, "html", tuple(bound), tuple(told), maps=listed.files)


def _named(pages: Iterable[HtmlPage]) -> set[str]:
    """The pages that navigation lists, or that another page leads to as the next."""
    names = {key(entry.url) for page in pages for entry in page.entries}
    return names | {key(page.after) for page in pages if page.after}


def _anchored(blocks: tuple[Block, ...], text: str, entry: Listed) -> tuple[Block, ...]:
    """Blocks with the anchors that the map knows, where the page itself shows none for a heading."""
    return tuple(
        replace(block, anchor=entry.anchor(text[block.start : block.end]))
        if block.kind == "heading" and not block.anchor
        else block
        for block in blocks
    )


def _why_not(page: HtmlPage, path: str, listed: Collection[str], named: Collection[str]) -> str:
    """Why a page is none of the book; what is `listed` by the site's own map is one, whatever it is called."""
    if page.choked:
        return "is nested beyond all measure"
    name = key(page.url)
    if _BESIDE.match(path) and name not in listed:
        return "lists or repeats other pages"
    if listed and name not in listed and name not in named:
        return "is in neither the site's own map nor its navigation"
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
    for page in sorted(pages, key=lambda page: bool(page.canonical) and key(page.canonical) != key(page.url)):
        trusted = bool(page.canonical) and key(page.canonical) not in shared
        name = key(page.canonical) if trusted and key(page.canonical) != key(page.url) else page.key
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
