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
from bookbound.sources.html.urls import MAX_URL_CHARS, get_origin, resolve_url

# Each page of a site repeats its navigation: thousands of pages with thousands of links each fill the memory.
MAX_CACHED_NAVIGATION_ENTRIES = 1_000_000
_NON_PAGE_SUFFIX = re.compile(
    r"(?i)\.(?:pdf|epub|zip|t?gz|bz2|xz|7z|rar|exe|dmg|whl|jar|png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|mp[34]|m4[av]|webm"
    r"|og[gv]|wav|mov|avi|woff2?|ttf|otf|eot|css|js|mjs|map|json|xml|rss|atom|txt|md|rst|ipynb|py|csv|inv|wasm)\Z"
)


def parse_start_url(url: str) -> str:
    """Normalize the URL that a crawl begins with, or raise an error that says what is wrong with it."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SourceError("The URL of a site begins with https:// or http:// and names a host: correct it.")
    if "@" in parts.netloc:
        raise SourceError("The URL contains a user name or password, which a crawl does not use: leave them out.")
    resolved = resolve_url(url, "") if len(url) <= MAX_URL_CHARS else ""
    if not resolved:
        raise SourceError("The URL is malformed or too long: copy it from the browser's address bar.")
    return resolved


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """The pages of a crawl: those of one origin below one path."""

    origin: str
    path: str

    @classmethod
    def of(cls, start: str, first: str) -> CrawlScope:
        """Take the folder of `start`, or that of the page it redirects to if that is elsewhere."""
        scope = cls(get_origin(start), _folder_path(start))
        return scope if scope.contains(first) else cls(get_origin(first), _folder_path(first))

    @property
    def home(self) -> str:
        return self.origin + self.path

    def resolve(self, href: str) -> str:
        """Return the URL of a link if it has this origin, else an empty string."""
        url = resolve_url(self.home, href)
        return url if url and get_origin(url) == self.origin else ""

    def contains(self, url: str) -> bool:
        path = urlsplit(url).path or "/"
        return get_origin(url) == self.origin and (path.startswith(self.path) or f"{path}/" == self.path)

    def page_urls(self, links: Iterable[str]) -> list[str]:
        """Return the URLs of the pages in this scope without their queries; skip non-page extensions."""
        urls = (urlunsplit(urlsplit(link)._replace(query="", fragment="")) for link in links)
        return [url for url in urls if self.contains(url) and not _NON_PAGE_SUFFIX.search(url)]


def _folder_path(url: str) -> str:
    path = urlsplit(url).path or "/"
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if not name or "." in name else f"{path}/"


def fetch_search_index(
    html: str, home: str, fetch: Callable[[str], FetchResult]
) -> tuple[SiteSearchIndex, list[SourceNotice]]:
    """Fetch the search indexes that the generator of a page makes for the site at `home`."""
    found: dict[str, list[SearchIndexEntry]] = {}
    notices: list[SourceNotice] = []
    for name in list_search_index_paths(html):
        try:
            result = fetch(home + name)
        except FetchError as error:
            if not error.is_expected:
                notices.append(SourceNotice(name, f"{error}; the site's pages are found without it"))
            continue
        except SourceError:
            continue
        if entries := parse_search_index(name, result.body):
            found[name] = entries
        elif not result.is_html:  # many sites answer a missing file with a page
            notices.append(make_broken_index_notice(name))
    return merge_search_indexes(found, home), notices


def all_links(page: HtmlPage) -> Iterable[str]:
    """Follow every link: nothing else lists the site's pages."""
    return page.links


def navigation_links(page: HtmlPage) -> Iterable[str]:
    """Follow the navigation: it may list pages that the author keeps out of the search index."""
    return [*(entry.url for entry in page.entries), *toc_links(page)]


def toc_links(page: HtmlPage) -> Iterable[str]:
    """Follow the page that contains the navigation of all others, if a book has one."""
    return [link for link in page.links if link.endswith("/toc.html")]


class NavigationCache:
    """Keeps the navigation that most pages share only once."""

    def __init__(self) -> None:
        self._shared: dict[tuple[NavigationEntry, ...], tuple[NavigationEntry, ...]] = {}
        self._size = 0

    def share(self, entries: tuple[NavigationEntry, ...]) -> tuple[NavigationEntry, ...]:
        """Return the shared copy of these entries, or none if the site has too many different ones."""
        if entries not in self._shared and self._size + len(entries) <= MAX_CACHED_NAVIGATION_ENTRIES:
            self._shared[entries] = entries
            self._size += len(entries)
        return self._shared.get(entries, ())


MAX_SITEMAPS = 100
_GZIP_MAGIC = b"\x1f\x8b"


class Sitemap(NamedTuple):
    """The pages and the further sitemaps that a sitemap lists."""

    pages: list[str]
    sitemaps: list[str]


def parse_sitemap(data: bytes) -> Sitemap:
    """Parse a plain or compressed sitemap; a broken one is empty."""
    if data.startswith(_GZIP_MAGIC):
        try:
            # 15 is the largest window, and 16 more mean gzip; one byte too many makes the parser refuse it.
            data = zlib.decompressobj(15 + 16).decompress(data, MAX_XML_BYTES + 1)
        except zlib.error:
            return Sitemap([], [])
    root = parse_xml(data)
    urls = [url for element in find_elements(root, "loc") if (url := (element.text or "").strip())]
    return Sitemap([], urls) if root is not None and local_name(root) == "sitemapindex" else Sitemap(urls, [])


def list_sitemap_pages(
    starts: Iterable[str], resolve: Callable[[str], str], fetch: Callable[[str], bytes | None], limit: int
) -> list[str]:
    """List the pages of sitemaps, and of the sitemaps that those list, in their order.

    `resolve` normalizes a URL of the site and returns an empty string for any other.
    """
    queue, pages = dict.fromkeys(filter(None, map(resolve, starts))), dict[str, None]()
    done: set[str] = set()
    while queue and len(done) < MAX_SITEMAPS and len(pages) < limit:
        url = next(iter(queue))
        done.add(url)
        sitemap = parse_sitemap(fetch(url) or b"")
        pages |= dict.fromkeys(filter(None, map(resolve, sitemap.pages)))
        nested = filter(None, map(resolve, sitemap.sitemaps[:MAX_SITEMAPS]))
        queue = {each: None for each in (*nested, *queue) if each not in done}
    return list(pages)[:limit]
