"""Crawls a website and builds a book from its pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

from bookbound.domain.document import ParsedBook, SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.fetch_limits import CrawlLimits, FetchError, FetchResult
from bookbound.sources.crawl.fetcher import Fetcher
from bookbound.sources.crawl.page_discovery import (
    CrawlScope,
    NavigationCache,
    all_links,
    fetch_search_index,
    get_origin,
    list_sitemap_pages,
    navigation_links,
    parse_start_url,
    toc_links,
)
from bookbound.sources.crawl.robots import RobotsCache
from bookbound.sources.crawl.ssrf_guard import ResolveHost, resolve_host
from bookbound.sources.decoding import decode_html
from bookbound.sources.html.html_page import HtmlPage, parse_html_page
from bookbound.sources.html.site_book import assemble_site_book
from bookbound.sources.html.urls import page_key
from bookbound.sources.skipped_files import summarize_notices


def crawl_site(
    url: str,
    hosts: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, of: None,
    bounds: CrawlLimits | None = None,
    resolve: ResolveHost = resolve_host,
) -> ParsedBook:
    """The book of the site at and below `url`: the pages that its maps list, else those that its pages lead to.

    Only machines of the open network are asked, and `hosts`. `progress` is told how many pages are read, of how many.
    """
    start = parse_start_url(url)
    with closing(Fetcher(hosts, bounds, resolve)) as fetcher:
        manners = RobotsCache(fetcher)
        first = _fetch_first_page(fetcher, manners, start)
        return _CrawlRun(fetcher, manners, CrawlScope.of(start, first.url), progress).run(start, first)


def _fetch_first_page(fetcher: Fetcher, manners: RobotsCache, start: str) -> FetchResult:
    """The page that a crawl begins with; without it there is no book."""
    try:
        found = fetcher.fetch(start, manners.allows)
    except FetchError as trouble:
        raise SourceError(f"The page at this address {trouble}. {_error_advice(trouble)}") from trouble
    if not found.is_html:
        raise SourceError("There is no page of HTML at this address: name the address of the book's first page.")
    return found


class _CrawlRun:
    """One crawl: what waits to be fetched, what was found, and what was odd."""

    def __init__(
        self, fetcher: Fetcher, manners: RobotsCache, scope: CrawlScope, progress: Callable[[int, int], None]
    ) -> None:
        self.fetcher, self.manners, self.scope, self.progress = fetcher, manners, scope, progress
        self.bounds = fetcher.bounds
        self.waiting: deque[str] = deque()
        self.seen: set[str] = set()
        self.pages: dict[str, HtmlPage] = {}
        self.met: dict[str, None] = {}
        self.listings = NavigationCache()
        self.notices: list[SourceNotice] = []
        self.cut = False

    def run(self, start: str, first: FetchResult) -> ParsedBook:
        html = decode_html(first.body, first.charset)
        own_map, odd = fetch_search_index(html, self.scope.home, self._fetch)
        self.notices += odd
        listed = [page for page in self._mapped() if self.scope.holds(page)]
        own = [url for page in own_map.pages.values() if (url := self.scope.page(page.url))]
        self.followed = toc_links if listed else navigation_links if own else all_links
        self.seen.add(page_key(start))
        self._take(first)
        self._fetch_all([*listed, *own])
        if own and not listed and not own_map.fits(self.pages):
            self.followed = all_links
            self._fetch_all(self.met)
        if self.cut:
            self.notices.append(SourceNotice(self.scope.home, "has more pages than a crawl may take", lost=True))
        elif more := sum(page_key(url) not in self.seen for url in self.met):
            told = f"links to {more} more addresses that neither its map nor its navigation lists; left out"
            self.notices.append(SourceNotice(self.scope.home, told))
        # What answers first depends on the weather; the book does not.
        pages = sorted(self.pages.values(), key=lambda page: page.url)
        book = assemble_site_book(
            pages, self.scope.home, urlsplit(first.url).hostname or "", sorted(self.notices), own_map
        )
        if not book.pages:
            why = summarize_notices(book.notices)
            raise SourceError(f"No page of the site may be indexed or shows words: name another address.{why}")
        return book

    def _fetch(self, url: str) -> FetchResult:
        """What stands at an address, as long as it does not lead away from the site."""

        def allows(url: str) -> bool:
            if get_origin(url) != self.scope.origin:
                raise FetchError("leads to another site", missing=True)
            return self.manners.allows(url)

        return self.fetcher.fetch(url, allows)

    def _mapped(self) -> list[str]:
        """The pages that the site's maps for search engines list."""
        told = [self.scope.home + "sitemap.xml", self.scope.origin + "/sitemap.xml"]

        def fetch(url: str) -> bytes | None:
            try:
                return self._fetch(url).body
            except SourceError:
                return None

        return list_sitemap_pages(
            [*self.manners.of(self.scope.home).maps, *told], self.scope.own, fetch, self.bounds.pages
        )

    def _fetch_all(self, urls: Iterable[str]) -> None:
        """Fetch these and what waits, a few at once, and what that leads to."""
        self._line_up(urls)
        at_work: dict[Future[FetchResult], str] = {}
        with ThreadPoolExecutor(self.bounds.at_once, "crawl") as workers:
            while self.waiting or at_work:
                if self.fetcher.spent or len(self.pages) >= self.bounds.pages:
                    self.cut = True
                    break
                while self.waiting and len(at_work) < self.bounds.at_once:
                    url = self.waiting.popleft()
                    at_work[workers.submit(self._fetch, url)] = url
                done, _ = wait(at_work, return_when=FIRST_COMPLETED)
                for future in done:
                    self._finish(at_work.pop(future), future)
                self.progress(len(self.pages), len(self.pages) + len(self.waiting) + len(at_work))
            self.waiting.clear()
            for future in at_work:
                future.cancel()

    def _finish(self, url: str, future: Future[FetchResult]) -> None:
        """Take what was fetched, or note why not."""
        try:
            self._take(future.result())
        except FetchError as trouble:
            self.notices.append(
                SourceNotice(_page_file_name(url), f"{trouble}; left out", lost=not (trouble.missing or trouble.kept))
            )

    def _take(self, found: FetchResult) -> None:
        if page_key(found.url) in self.pages or not self.scope.holds(found.url):
            return
        if not found.is_html:
            self.notices.append(SourceNotice(_page_file_name(found.url), "is no page of HTML; left out"))
            return
        page = parse_html_page(decode_html(found.body, found.charset), found.url, _page_file_name(found.url))
        if page.followed:
            self._meet(filter(None, map(self.scope.page, page.links)))
            self._line_up(filter(None, map(self.scope.page, self.followed(page))))
        kept_out, shared = page.kept_out or found.kept_out, self.listings.shared(page.entries)
        self.seen.add(page.key)
        self.pages[page.key] = replace(page, kept_out=kept_out, links=(), entries=shared)

    def _meet(self, urls: Iterable[str]) -> None:
        """Remember where pages lead, whether or not that is followed."""
        for url in urls:
            if len(self.met) < self.bounds.asked:
                self.met[url] = None

    def _line_up(self, urls: Iterable[str]) -> None:
        """Let the pages that were not seen before wait for their turn."""
        for url in urls:
            if page_key(url) in self.seen:
                continue
            if len(self.seen) >= self.bounds.asked:
                self.cut = True
                return
            self.seen.add(page_key(url))
            self.waiting.append(url)


def _error_advice(trouble: FetchError) -> str:
    if trouble.kept:
        return "Ask its owner to allow `bookbound` there, or index the folder that the site was built in."
    if trouble.distrusted:
        return "If it is yours, name the file with its certificate, or that of its authority, in SSL_CERT_FILE."
    if trouble.missing:
        return "Check the address."
    return "Try again later, or index the folder that the site was built in."


def _page_file_name(url: str) -> str:
    """What a page is called among the files of its book."""
    parts = urlsplit(url)
    path = parts.path.strip("/") or "index"
    return f"{path}?{parts.query}" if parts.query else path
