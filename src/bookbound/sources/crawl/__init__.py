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
from bookbound.sources.crawl.access_rules import ResolveHost, RobotsCache, resolve_host
from bookbound.sources.crawl.fetch_limits import CrawlLimits, FetchError, FetchResult
from bookbound.sources.crawl.fetcher import Fetcher
from bookbound.sources.crawl.page_discovery import (
    CrawlScope,
    NavigationCache,
    all_links,
    fetch_search_index,
    list_sitemap_pages,
    navigation_links,
    parse_start_url,
    toc_links,
)
from bookbound.sources.decoding import decode_html
from bookbound.sources.files import summarize_notices
from bookbound.sources.html.html_page import HtmlPage, parse_html_page
from bookbound.sources.html.site_book import assemble_site_book
from bookbound.sources.html.urls import get_origin, page_file_name, page_key

_ADVICE = {
    "disallowed": "Ask its owner to allow `bookbound` there, or index the folder that the site was built in.",
    "untrusted": "If it is yours, name the file with its certificate, or that of its authority, in SSL_CERT_FILE.",
    "missing": "Check the URL.",
    "": "Try again later, or index the folder that the site was built in.",
}


def crawl_site(
    url: str,
    allowed_hosts: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
    limits: CrawlLimits | None = None,
    resolve: ResolveHost = resolve_host,
) -> ParsedBook:
    """Read the site at and below `url`: the pages that its sitemaps or search indexes list, else all linked pages.

    Requests go to public addresses and to `allowed_hosts` only.
    """
    start = parse_start_url(url)
    with closing(Fetcher(allowed_hosts, limits, resolve)) as fetcher:
        robots = RobotsCache(fetcher)
        try:
            first = fetcher.fetch(start, robots.is_allowed)
        except FetchError as error:
            raise SourceError(f"The page at this URL {error}. {_ADVICE[error.reason]}") from error
        if not first.is_html:
            raise SourceError("There is no HTML page at this URL: give the URL of the book's first page.")
        return _CrawlRun(fetcher, robots, CrawlScope.of(start, first.url), progress).run(start, first)


class _CrawlRun:
    """The state of one crawl."""

    def __init__(
        self, fetcher: Fetcher, robots: RobotsCache, scope: CrawlScope, progress: Callable[[int, int], None]
    ) -> None:
        self.fetcher, self.limits, self.progress = fetcher, fetcher.limits, progress
        self.robots, self.scope = robots, scope
        self.queue: deque[str] = deque()
        self.seen: set[str] = set()
        self.pages: dict[str, HtmlPage] = {}
        self.linked: dict[str, None] = {}
        self.navigation = NavigationCache()
        self.notices: list[SourceNotice] = []
        self.is_cut_off = False
        self.links_to_follow: Callable[[HtmlPage], Iterable[str]] = all_links

    def run(self, start: str, first: FetchResult) -> ParsedBook:
        html = decode_html(first.body, first.charset)
        index, notices = fetch_search_index(html, self.scope.home, self._fetch)
        self.notices += notices
        listed = [url for url in self._list_sitemap_pages() if self.scope.contains(url)]
        indexed = self.scope.page_urls(page.url for page in index.pages.values())
        if listed or indexed:
            self.links_to_follow = toc_links if listed else navigation_links
        self.seen.add(page_key(start))
        self._add_page(first)
        self._fetch_all([*listed, *indexed])
        if indexed and not listed and not index.fits(self.pages):
            self.links_to_follow = all_links
            self._fetch_all(self.linked)
        if self.is_cut_off:
            self.notices.append(SourceNotice(self.scope.home, "has more pages than a crawl may read", lost=True))
        elif more := sum(page_key(url) not in self.seen for url in self.linked):
            message = f"links to {more} more URLs that neither its sitemap nor its navigation lists; left out"
            self.notices.append(SourceNotice(self.scope.home, message))
        # Pages arrive in any order, but the same site always makes the same book.
        pages = sorted(self.pages.values(), key=lambda page: page.url)
        title = urlsplit(first.url).hostname or ""
        book = assemble_site_book(pages, self.scope.home, title, sorted(self.notices), index)
        if not book.pages:
            reasons = summarize_notices(book.notices)
            raise SourceError(f"No page of the site has words and may be indexed: give another URL.{reasons}")
        return book

    def _fetch(self, url: str) -> FetchResult:
        def is_allowed(url: str) -> bool:
            if get_origin(url) != self.scope.origin:
                raise FetchError("redirects to another site", "missing")
            return self.robots.is_allowed(url)

        return self.fetcher.fetch(url, is_allowed)

    def _list_sitemap_pages(self) -> list[str]:
        def fetch(url: str) -> bytes | None:
            try:
                return self._fetch(url).body
            except SourceError:
                return None

        named = self.robots.rules_for(self.scope.home).sitemaps
        usual = [self.scope.home + "sitemap.xml", self.scope.origin + "/sitemap.xml"]
        return list_sitemap_pages([*named, *usual], self.scope.resolve, fetch, self.limits.max_pages)

    def _fetch_all(self, urls: Iterable[str]) -> None:
        """Fetch these URLs and the links that their pages lead to, several at once."""
        self._enqueue(urls)
        running: dict[Future[FetchResult], str] = {}
        with ThreadPoolExecutor(self.limits.max_concurrency, "crawl") as workers:
            while self.queue or running:
                if self.fetcher.is_spent or len(self.pages) >= self.limits.max_pages:
                    self.is_cut_off = True
                    break
                while self.queue and len(running) < self.limits.max_concurrency:
                    url = self.queue.popleft()
                    running[workers.submit(self._fetch, url)] = url
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self._finish(running.pop(future), future)
                self.progress(len(self.pages), len(self.pages) + len(self.queue) + len(running))
            self.queue.clear()
            for future in running:
                future.cancel()

    def _finish(self, url: str, future: Future[FetchResult]) -> None:
        try:
            self._add_page(future.result())
        except FetchError as error:
            self.notices.append(SourceNotice(page_file_name(url), f"{error}; left out", lost=not error.is_expected))

    def _add_page(self, result: FetchResult) -> None:
        if page_key(result.url) in self.pages or not self.scope.contains(result.url):
            return
        file = page_file_name(result.url)
        if not result.is_html:
            self.notices.append(SourceNotice(file, "is not an HTML page; left out"))
            return
        page = parse_html_page(decode_html(result.body, result.charset), result.url, file)
        if page.may_follow_links:
            room = max(self.limits.max_urls - len(self.linked), 0)
            self.linked |= dict.fromkeys(self.scope.page_urls(page.links)[:room])
            self._enqueue(self.scope.page_urls(self.links_to_follow(page)))
        self.seen.add(page.key)
        is_noindex, entries = page.is_noindex or result.is_noindex, self.navigation.share(page.entries)
        self.pages[page.key] = replace(page, is_noindex=is_noindex, links=(), entries=entries)

    def _enqueue(self, urls: Iterable[str]) -> None:
        for url in urls:
            if page_key(url) in self.seen:
                continue
            if len(self.seen) >= self.limits.max_urls:
                self.is_cut_off = True
                return
            self.seen.add(page_key(url))
            self.queue.append(url)
