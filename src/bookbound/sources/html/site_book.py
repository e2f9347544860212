"""Orders and names the pages of a site and makes a book of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from bookbound.domain.document import Block, Page, ParsedBook, SourceNotice
from bookbound.sources.files import natural_sort_key
from bookbound.sources.html.html_page import HtmlPage, split_page_title
from bookbound.sources.html.search_indexes import IndexedPage, SiteSearchIndex
from bookbound.sources.html.urls import page_key
from bookbound.sources.titles import humanize_name

_CONTENTS_PAGE = re.compile(r"/toc\.html\Z")
_NON_BOOK_PAGE = re.compile(
    r"/(?:(?:404|search|genindex(?:-\w+)?|py-modindex|http-domainindex|print|tags|glossary-index|50x)(?:\.html?|/(?:index\.html?)?)?"
    r"|(?:_static|_sources|_modules|_images|assets|static|tags|categories)/.*"
    r"|(?:.*/)?page/\d+/?(?:index\.html?)?)\Z"
)


def assemble_site_book(
    pages: Sequence[HtmlPage],
    home: str,
    title: str,
    notices: Iterable[SourceNotice],
    own_map: SiteSearchIndex | None = None,
) -> ParsedBook:
    """The book of these pages of the site at `home`, which is called `title` where it does not name itself."""
    told = list(notices)
    listed = own_map or SiteSearchIndex()
    if listed.files and not listed.fits({page.key for page in pages}):
        told += [SourceNotice(file, "lists pages that are not there; not used") for file in listed.files]
        listed = SiteSearchIndex()
    named = _collect_navigation_keys(pages)
    contents, kept = [], []
    for page in pages:
        path = "/" + page.url.removeprefix(home).lstrip("/").split("?")[0]
        if _CONTENTS_PAGE.search(path) and page.key not in listed.pages:
            contents.append(page)
        elif why := _skip_reason(page, path, listed.pages, named):
            told.append(SourceNotice(page.file, f"{why}; left out", lost=page.choked))
        else:
            kept.append(page)
    addresses, twins = _choose_page_urls(kept)
    told += [SourceNotice(page.file, "is another version of a page; left out") for page in twins]
    kept = [page for page in kept if page.url in addresses]
    site = _find_site_name(kept, home)
    places = find_chapters(kept, contents)
    bound = []
    for position, page in enumerate(sort_site_pages(kept, contents, listed.pages)):
        entry = listed.pages.get(page.key, IndexedPage(page.url))
        last = humanize_name(urlsplit(page.url).path.strip("/").split("/")[-1])
        name = page.heading or entry.title or _strip_site_name(page, site) or last
        text, runs, blocks = page.setting
        chapter = places.get(page.key) or name
        blocks = _fill_missing_anchors(blocks, text, entry)
        bound.append(Page(page.file, addresses[page.url], name, chapter, position, text, text, runs, blocks))
    return ParsedBook(site or title, "html", tuple(bound), tuple(told), maps=listed.files)


def _collect_navigation_keys(pages: Iterable[HtmlPage]) -> set[str]:
    """The pages that navigation lists, or that another page leads to as the next."""
    names = {page_key(entry.url) for page in pages for entry in page.entries}
    return names | {page_key(page.after) for page in pages if page.after}


def _fill_missing_anchors(blocks: tuple[Block, ...], text: str, entry: IndexedPage) -> tuple[Block, ...]:
    """Blocks with the anchors that the map knows, where the page itself shows none for a heading."""
    return tuple(
        replace(block, anchor=entry.anchor(text[block.start : block.end]))
        if block.kind == "heading" and not block.anchor
        else block
        for block in blocks
    )


def _skip_reason(page: HtmlPage, path: str, listed: Collection[str], named: Collection[str]) -> str:
    """Why a page is none of the book; what is `listed` by the site's own map is one, whatever it is called."""
    if page.choked:
        return "is nested beyond all measure"
    name = page_key(page.url)
    if _NON_BOOK_PAGE.match(path) and name not in listed:
        return "lists or repeats other pages"
    if listed and name not in listed and name not in named:
        return "is in neither the site's own map nor its navigation"
    if page.leads_on:
        return "leads to another page"
    if page.kept_out:
        return "asks not to be indexed"
    return "" if page.setting.text else "shows no words"


def _choose_page_urls(pages: list[HtmlPage]) -> tuple[dict[str, str], list[HtmlPage]]:
    """The address of each page by its own, and the pages that are others over again.

    A page is addressed as it says itself, unless most pages say the same, which is then a mistake.
    """
    said = Counter(page_key(page.canonical) for page in pages if page.canonical)
    shared = {name for name, times in said.items() if times > max(2, len(pages) // 2)}
    own = {page.key for page in pages}
    taken: dict[str, str] = {}
    addresses, twins = {}, []
    for page in sorted(pages, key=lambda page: bool(page.canonical) and page_key(page.canonical) != page_key(page.url)):
        trusted = bool(page.canonical) and page_key(page.canonical) not in shared
        name = page_key(page.canonical) if trusted and page_key(page.canonical) != page_key(page.url) else page.key
        if name in taken or (name != page.key and name in own):
            twins.append(page)
        else:
            taken[name] = addresses[page.url] = page.canonical if trusted else page.url
    return addresses, twins


def _find_site_name(pages: list[HtmlPage], home: str) -> str:
    """What the site calls itself, or what most of its pages' names end with."""
    named = Counter(page.site for page in pages if page.site)
    ends = Counter(end for page in pages if (end := split_page_title(page.name)[1]))
    site = next((name for name, times in (*named.most_common(1), *ends.most_common(1)) if times * 2 > len(pages)), "")
    opening = next((page.heading for page in pages if page.key == page_key(home)), "")
    return opening if opening and (not site or site.startswith(opening)) else site


def _strip_site_name(page: HtmlPage, site: str) -> str:
    own, end = split_page_title(page.name)
    return own if end and end.startswith(site or end) else page.name


def sort_site_pages(
    pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = (), mapped: Iterable[str] = ()
) -> list[HtmlPage]:
    """Pages as a reader meets them: each behind the one that leads to it, or as navigation lists them.

    What neither places follows as the site's own map lists it, the rest by name.
    """
    by_key = {page.key: page for page in sorted(pages, key=lambda page: (natural_sort_key(page.key), page.key))}
    listings = sorted((page.entries for page in (*contents, *pages)), key=len, reverse=True)
    longest = [page_key(entry.url) for entry in listings[0]] if listings else []
    order = _MergedOrder()
    order.place(name for name in list(by_key)[:1] if all(other.startswith(name) for other in by_key))
    for chain in _follow_next_links(by_key, {name: at for at, name in reversed(list(enumerate(longest)))}):
        order.place(chain)
    for listing in listings:
        order.place(name for name in (page_key(entry.url) for entry in listing) if name in by_key)
    order.place(name for name in mapped if name in by_key and name not in order)
    order.place(name for name in by_key if name not in order)
    return [by_key[name] for name in order if name in by_key]


def find_chapters(pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = ()) -> dict[str, str]:
    """The chapter of each page, as its own navigation has it or that of another page."""
    found: dict[str, str] = {}
    for page in (*contents, *pages):
        for entry in page.entries:
            name = page_key(entry.url)
            if entry.chapter and (name == page.key or name not in found):
                found[name] = entry.chapter
    return found


class _MergedOrder:
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


def _follow_next_links(by_key: dict[str, HtmlPage], rank: dict[str, int]) -> list[list[str]]:
    """The pages that lead to one another, in the order in which navigation lists where they begin."""
    after = {name: page_key(page.after) for name, page in by_key.items() if page.after}
    after = {name: following for name, following in after.items() if following in by_key and following != name}
    begins = sorted(
        after.keys() - set(after.values()), key=lambda name: (rank.get(name, len(rank)), natural_sort_key(name))
    )
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
