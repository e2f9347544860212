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
    search_index: SiteSearchIndex | None = None,
) -> ParsedBook:
    """Make a book of the pages of the site at `home`; `title` is its title if the site does not name itself."""
    found = list(notices)
    index = search_index or SiteSearchIndex()
    if index.files and not index.fits({page.key for page in pages}):
        found += [SourceNotice(file, "lists pages that do not exist; not used") for file in index.files]
        index = SiteSearchIndex()
    navigation = {page_key(entry.url) for page in pages for entry in page.entries}
    navigation |= {page_key(page.next_url) for page in pages if page.next_url}
    contents, kept = [], []
    for page in pages:
        path = "/" + page.url.removeprefix(home).lstrip("/").split("?")[0]
        if _CONTENTS_PAGE.search(path) and page.key not in index.pages:
            contents.append(page)
        elif reason := _skip_reason(page, path, index.pages, navigation):
            found.append(SourceNotice(page.file, f"{reason}; left out", lost=page.is_too_costly))
        else:
            kept.append(page)
    urls, duplicates = _choose_page_urls(kept)
    found += [SourceNotice(page.file, "is another version of a page; left out") for page in duplicates]
    kept = [page for page in kept if page.url in urls]
    site = _find_site_name(kept, home)
    chapters = find_chapters(kept, contents)
    book_pages = []
    for position, page in enumerate(sort_site_pages(kept, contents, index.pages)):
        indexed = index.pages.get(page.key, IndexedPage(page.url))
        own, end = split_page_title(page.title)
        own = own if end and end.startswith(site or end) else page.title
        name = page.heading or indexed.title or own
        name = name or humanize_name(urlsplit(page.url).path.strip("/").split("/")[-1])
        text, chapter = page.rendered.text, chapters.get(page.key) or name
        rendered = page.rendered._replace(blocks=tuple(_fill_anchor(b, text, indexed) for b in page.rendered.blocks))
        book_pages.append(Page(page.file, urls[page.url], name, chapter, position, text, *rendered))
    return ParsedBook(site or title, "html", tuple(book_pages), tuple(found), search_indexes=index.files)


def _fill_anchor(block: Block, text: str, indexed: IndexedPage) -> Block:
    """Give a heading without an anchor the one that the search index lists."""
    if block.kind != "heading" or block.anchor:
        return block
    return replace(block, anchor=indexed.anchor(text[block.start : block.end]))


def _skip_reason(page: HtmlPage, path: str, indexed: Collection[str], navigation: Collection[str]) -> str:
    """Say why a page is not part of the book; a page in the site's own index is, whatever its name."""
    if page.is_too_costly:
        return "is nested too deeply"
    key = page_key(page.url)
    if _NON_BOOK_PAGE.match(path) and key not in indexed:
        return "lists or repeats other pages"
    if indexed and key not in indexed and key not in navigation:
        return "is in neither the site's search index nor its navigation"
    if page.is_redirect:
        return "redirects to another page"
    if page.is_noindex:
        return "asks not to be indexed"
    return "" if page.rendered.text else "has no visible text"


def _choose_page_urls(pages: list[HtmlPage]) -> tuple[dict[str, str], list[HtmlPage]]:
    """Choose the public URL of each page, and find the pages that repeat others.

    A page's canonical URL counts, unless most pages declare the same one, which is then a mistake.
    """
    counts = Counter(page_key(page.canonical) for page in pages if page.canonical)
    # Two pages can be versions of one, however small the site is.
    shared = {key for key, count in counts.items() if count > max(2, len(pages) // 2)}
    keys = {page.key for page in pages}
    taken: set[str] = set()
    urls, duplicates = {}, []
    for page in sorted(pages, key=lambda page: bool(page.canonical) and page_key(page.canonical) != page_key(page.url)):
        canonical = page_key(page.canonical)
        is_trusted = bool(page.canonical) and canonical not in shared
        key = canonical if is_trusted and canonical != page_key(page.url) else page.key
        if key in taken or (key != page.key and key in keys):
            duplicates.append(page)
        else:
            taken.add(key)
            urls[page.url] = page.canonical if is_trusted else page.url
    return urls, duplicates


def _find_site_name(pages: list[HtmlPage], home: str) -> str:
    """Return the name that most pages give the site, or that most titles end with."""
    names = Counter(page.site for page in pages if page.site)
    endings = Counter(end for page in pages if (end := split_page_title(page.title)[1]))
    most_common = (*names.most_common(1), *endings.most_common(1))
    site = next((name for name, count in most_common if count * 2 > len(pages)), "")
    opening = next((page.heading for page in pages if page.key == page_key(home)), "")
    return opening if opening and (not site or site.startswith(opening)) else site


def sort_site_pages(
    pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = (), indexed: Iterable[str] = ()
) -> list[HtmlPage]:
    """Sort pages as a reader meets them: by their links to the next page, then by navigation.

    Other pages follow in the order of the site's search index, and the rest by name.
    """
    by_key = {page.key: page for page in sorted(pages, key=lambda page: (natural_sort_key(page.key), page.key))}
    listings = sorted((page.entries for page in (*contents, *pages)), key=len, reverse=True)
    longest = [page_key(entry.url) for entry in listings[0]] if listings else []
    order = _MergedOrder()
    # The home comes first, even if no page leads to it.
    order.place(key for key in list(by_key)[:1] if all(other.startswith(key) for other in by_key))
    for chain in _follow_next_links(by_key, {key: at for at, key in reversed(list(enumerate(longest)))}):
        order.place(chain)
    for listing in listings:
        order.place(key for key in (page_key(entry.url) for entry in listing) if key in by_key)
    order.place(key for key in indexed if key in by_key and key not in order)
    order.place(key for key in by_key if key not in order)
    return [by_key[key] for key in order if key in by_key]


def find_chapters(pages: Sequence[HtmlPage], contents: Sequence[HtmlPage] = ()) -> dict[str, str]:
    """Return the chapter of each page from its own navigation, else from that of another page."""
    chapters: dict[str, str] = {}
    for page in (*contents, *pages):
        for entry in page.entries:
            key = page_key(entry.url)
            if entry.chapter and (key == page.key or key not in chapters):
                chapters[key] = entry.chapter
    return chapters


class _MergedOrder:
    """A linked list of keys; a new key of a listing goes after its predecessor there."""

    def __init__(self) -> None:
        self._next: dict[str, str] = {}
        self._last = ""

    def place(self, keys: Iterable[str]) -> None:
        before = None
        for key in keys:
            if key not in self._next:
                before = self._last if before is None else before
                self._next[key] = self._next.get(before, "")
                self._next[before] = key
                self._last = key if before == self._last else self._last
            before = key

    def __contains__(self, key: str) -> bool:
        return key in self._next

    def __iter__(self) -> Iterator[str]:
        key = self._next.get("", "")
        while key:
            yield key
            key = self._next[key]


def _follow_next_links(by_key: dict[str, HtmlPage], rank: dict[str, int]) -> Iterator[list[str]]:
    """Yield the chains of pages that link to a next page, in the order of their first pages in navigation."""
    links = {key: page_key(page.next_url) for key, page in by_key.items() if page.next_url}
    links = {key: target for key, target in links.items() if target in by_key and target != key}
    starts = links.keys() - set(links.values())
    seen: set[str] = set()
    for key in sorted(starts, key=lambda key: (rank.get(key, len(rank)), natural_sort_key(key))):
        chain = []
        while key and key not in seen:
            seen.add(key)
            chain.append(key)
            key = links.get(key, "")
        yield chain
