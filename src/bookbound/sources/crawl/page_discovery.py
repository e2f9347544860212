"""Decides which URLs belong to a site and finds its pages in sitemaps, search indexes and links."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from bookbound.domain.document import SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.fetch_limits import FetchError, FetchResult
from bookbound.sources.defusedxml import MAX_XML_BYTES, find_elements, local_name, parse_xml
from bookbound.sources.html.html_page import HtmlPage, NavigationEntry
from bookbound.sources.html.search_index_formats import SearchIndexEntry, parse_search_index
from bookbound.sources.html.search_indexes import (
    SiteSearchIndex,
    list_search_index_paths,
    make_broken_index_notice,
    merge_search_indexes,
)
from bookbound.sources.html.urls import MAX_URL_CHARS, resolve_url

_NON_PAGE_SUFFIX = re.compile(
    r"(?i)\.(?:pdf|epub|zip|t?gz|bz2|xz|7z|rar|exe|dmg|whl|jar|png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|mp[34]|m4[av]|webm"
    r"|og[gv]|wav|mov|avi|woff2?|ttf|otf|eot|css|js|mjs|map|json|xml|rss|atom|txt|md|rst|ipynb|py|csv|inv|wasm)\Z"
)


def parse_start_url(url: str) -> str:
    """The address that a crawl begins with, or what is wrong with it."""
    try:
        parts = urlsplit(url.strip())
        named, credentials = bool(parts.hostname), parts.username is not None or parts.password is not None
    except ValueError:
        named = credentials = False
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not named:
        raise SourceError("A site is named by its address, which begins with https:// or http:// and holds a host.")
    if credentials:
        raise SourceError("The address holds a user or password, which are not used: leave them out.")
    found = resolve_url(url, "") if len(url) <= MAX_URL_CHARS else ""
    if not found:
        raise SourceError("The address is malformed or too long: copy it from the browser's address bar.")
    return found


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """A site: one origin, and a path below which its pages stand."""

    origin: str
    path: str

    @classmethod
    def of(cls, start: str, found: str) -> CrawlScope:
        """What stands below `start`, or below the page `found` that it led to, where that is elsewhere."""
        asked = cls(get_origin(start), _parent_path(start))
        return asked if asked.holds(found) else cls(get_origin(found), _parent_path(found))

    @property
    def home(self) -> str:
        return self.origin + self.path

    def own(self, said: str) -> str:
        """The address on this host that somebody has written down; nothing where it is none, or elsewhere."""
        found = resolve_url(self.home, said)
        return found if found and get_origin(found) == self.origin else ""

    def holds(self, url: str) -> bool:
        path = urlsplit(url).path or "/"
        return get_origin(url) == self.origin and (path.startswith(self.path) or f"{path}/" == self.path)

    def page(self, link: str) -> str:
        """The address of the page that a link leads to, without its query; nothing where it leads to none of these."""
        address = urlunsplit(urlsplit(link)._replace(query="", fragment=""))
        return address if self.holds(address) and not _NON_PAGE_SUFFIX.search(address) else ""


def get_origin(url: str) -> str:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port and parts.port != default else ""
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _parent_path(url: str) -> str:
    """The path below which the pages beside a page stand."""
    path = urlsplit(url).path or "/"
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if not name or "." in name else f"{path}/"


MAX_SITEMAPS = 100
"""The most maps that are read of one site; each may list others."""
_GZIP_MAGIC = b"\x1f\x8b"


class Sitemap(NamedTuple):
    """The pages and the further maps that one map lists."""

    pages: list[str]
    maps: list[str]


def parse_sitemap(data: bytes) -> Sitemap:
    """What a map lists, packed or not; nothing where it is broken."""
    if data.startswith(_GZIP_MAGIC):
        try:
            data = zlib.decompressobj(31).decompress(data, MAX_XML_BYTES + 1)
        except zlib.error:
            return Sitemap([], [])
    top = parse_xml(data)
    places = [(entry.text or "").strip() for entry in find_elements(top, "loc")]
    places = [place for place in places if place]
    return Sitemap([], places) if top is not None and local_name(top) == "sitemapindex" else Sitemap(places, [])


def list_sitemap_pages(
    starts: Iterable[str], own: Callable[[str], str], fetch: Callable[[str], bytes | None], most: int
) -> list[str]:
    """The pages that maps list, and the maps that those list, in their order; `most` of them.

    Only what is the site's `own` counts; it is asked what an address is rightly called.
    """
    waiting, pages = dict.fromkeys(filter(None, map(own, starts))), dict[str, None]()
    asked: set[str] = set()
    while waiting and len(asked) < MAX_SITEMAPS and len(pages) < most:
        url = next(iter(waiting))
        asked.add(url)
        found = parse_sitemap(fetch(url) or b"")
        pages |= dict.fromkeys(filter(None, map(own, found.pages)))
        further = (each for each in map(own, found.maps[:MAX_SITEMAPS]) if each and each not in asked)
        waiting = {each: None for each in (*further, *waiting) if each != url}
    return list(pages)[:most]


def fetch_search_index(
    html: str, home: str, fetch: Callable[[str], FetchResult]
) -> tuple[SiteSearchIndex, list[SourceNotice]]:
    """What the generator of a page says of the site at `home`, and what was odd about that; often it says nothing."""
    found: dict[str, list[SearchIndexEntry]] = {}
    odd: list[SourceNotice] = []
    for name in list_search_index_paths(html):
        try:
            answer = fetch(home + name)
        except FetchError as trouble:
            if not (trouble.missing or trouble.kept):
                odd.append(SourceNotice(name, f"{trouble}; the site's pages are found without it"))
            continue
        except SourceError:
            continue
        if listed := parse_search_index(name, answer.body):
            found[name] = listed
        elif not answer.is_html:  # many a site answers with a page where there is nothing
            odd.append(make_broken_index_notice(name))
    return merge_search_indexes(found, home), odd


MAX_NAVIGATION_ENTRIES = 1_000_000
"""The most entries of navigation that are kept of a site; most of its pages show the same."""


def all_links(page: HtmlPage) -> Iterable[str]:
    """Everywhere: nobody else says which pages there are."""
    return page.links


def navigation_links(page: HtmlPage) -> Iterable[str]:
    """Where navigation leads: it may name pages that an author keeps out of the site's search, and so of its map."""
    return [*(entry.url for entry in page.entries), *toc_links(page)]


def toc_links(page: HtmlPage) -> Iterable[str]:
    """To the page that holds the navigation of all others, where a book has such."""
    return [link for link in page.links if link.endswith("/toc.html")]


class NavigationCache:
    """The navigation of pages, kept once for all that show the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[NavigationEntry, ...], tuple[NavigationEntry, ...]] = {}
        self._size = 0

    def shared(self, entries: tuple[NavigationEntry, ...]) -> tuple[NavigationEntry, ...]:
        """The same entries, or none where the site has shown too many that differ."""
        if entries not in self._kept and self._size + len(entries) <= MAX_NAVIGATION_ENTRIES:
            self._kept[entries] = entries
            self._size += len(entries)
        return self._kept.get(entries, ())
