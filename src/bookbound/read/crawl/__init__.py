"""A site on the web becomes a book."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

from bookbound.book import Manuscript, Notice
from bookbound.errors import BadSource
from bookbound.read.crawl.addresses import Resolve, looked_up
from bookbound.read.crawl.fetch import Fetcher
from bookbound.read.crawl.fetched import Bounds, Fetched, NotFetched
from bookbound.read.crawl.leads import Listings, contents, links, navigation
from bookbound.read.crawl.manners import Manners
from bookbound.read.crawl.maps import fetch_map
from bookbound.read.crawl.scope import Scope, origin, start_of
from bookbound.read.crawl.sitemap import mapped
from bookbound.read.html.address import key
from bookbound.read.html.charset import html_text
from bookbound.read.html.page import HtmlPage, look
from bookbound.read.reasons import reasons
from bookbound.read.site.book import bind


def crawl(
    url: str,
    hosts: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, of: None,
    bounds: Bounds | None = None,
    resolve: Resolve = looked_up,
) -> Manuscript:
    """The book of the site at and below `url`: the pages that its maps list, else those that its pages lead to.

    Only machines of the open network are asked, and `hosts`. `progress` is told how many pages are read, of how many.
    """
    start = start_of(url)
    with closing(Fetcher(hosts, bounds, resolve)) as fetcher:
        manners = Manners(fetcher)
        first = _first(fetcher, manners, start)
        return _Crawl(fetcher, manners, Scope.of(start, first.url), progress).run(start, first)


def _first(fetcher: Fetcher, manners: Manners, start: str) -> Fetched:
    """The page that a crawl begins with; without it there is no book."""
    try:
        found = fetcher.fetch(start, manners.allows)
    except NotFetched as trouble:
        raise BadSource(f"The page at this address {trouble}. {_advice(trouble)}") from trouble
    if not found.is_html:
        raise BadSource("There is no page of HTML at this address: name the address of the book's first page.")
    return found


class _Crawl:
    """One crawl: what waits to be fetched, what was found, and what was odd."""

    def __init__(self, fetcher: Fetcher, manners: Manners, scope: Scope, progress: Callable[[int, int], None]) -> None:
        self.fetcher, self.manners, self.scope, self.progress = fetcher, manners, scope, progress
        self.bounds = fetcher.bounds
        self.waiting: deque[str] = deque()
        self.seen: set[str] = set()
        self.pages: dict[str, HtmlPage] = {}
        self.met: dict[str, None] = {}
        self.listings = Listings()
        self.notices: list[Notice] = []
        self.cut = False

    def run(self, start: str, first: Fetched) -> Manuscript:
        html = html_text(first.body, first.charset)
        own_map, odd = fetch_map(html, self.scope.home, self._fetch)
        self.notices += odd
        listed = [page for page in self._mapped() if self.scope.holds(page)]
        own = [url for page in own_map.pages.values() if (url := self.scope.page(page.url))]
        self.followed = contents if listed else navigation if own else links
        self.seen.add(key(start))
        self._take(first)
        self._fetch_all([*listed, *own])
        if own and not listed and not own_map.fits(self.pages):
            self.followed = links
            self._fetch_all(self.met)
        if self.cut:
            self.notices.append(Notice(self.scope.home, "has more pages than a crawl may take", lost=True))
        elif more := sum(key(url) not in self.seen for url in self.met):
            told = f"links to {more} more addresses that neither its map nor its navigation lists; left out"
            self.notices.append(Notice(self.scope.home, told))
        # What answers first depends on the weather; the book does not.
        pages = sorted(self.pages.values(), key=lambda page: page.url)
        book = bind(pages, self.scope.home, urlsplit(first.url).hostname or "", sorted(self.notices), own_map)
        if not book.pages:
            why = reasons(book.notices)
            raise BadSource(f"No page of the site may be indexed or shows words: name another address.{why}")
        return book

    def _fetch(self, url: str) -> Fetched:
        """What stands at an address, as long as it does not lead away from the site."""

        def allows(url: str) -> bool:
            if origin(url) != self.scope.origin:
                raise NotFetched("leads to another site", missing=True)
            return self.manners.allows(url)

        return self.fetcher.fetch(url, allows)

    def _mapped(self) -> list[str]:
        """The pages that the site's maps for search engines list."""
        told = [self.scope.home + "sitemap.xml", self.scope.origin + "/sitemap.xml"]

        def fetch(url: str) -> bytes | None:
            try:
                return self._fetch(url).body
            except BadSource:
                return None

        return mapped([*self.manners.of(self.scope.home).maps, *told], self.scope.own, fetch, self.bounds.pages)

    def _fetch_all(self, urls: Iterable[str]) -> None:
        """Fetch these and what waits, a few at once, and what that leads to."""
        self._line_up(urls)
        at_work: dict[Future[Fetched], str] = {}
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

    def _finish(self, url: str, future: Future[Fetched]) -> None:
        """Take what was fetched, or note why not."""
        try:
            self._take(future.result())
        except NotFetched as trouble:
            self.notices.append(Notice(_file(url), f"{trouble}; left out", lost=not (trouble.missing or trouble.kept)))

    def _take(self, found: Fetched) -> None:
        if key(found.url) in self.pages or not self.scope.holds(found.url):
            return
        if not found.is_html:
            self.notices.append(Notice(_file(found.url), "is no page of HTML; left out"))
            return
        page = look(html_text(found.body, found.charset), found.url, _file(found.url))
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
            if key(url) in self.seen:
                continue
            if len(self.seen) >= self.bounds.asked:
                self.cut = True
                return
            self.seen.add(key(url))
            self.waiting.append(url)


def _advice(trouble: NotFetched) -> str:
    if trouble.kept:
        return "Ask its owner to allow `bookbound` there, or index the folder that the site was built in."
    if trouble.distrusted:
        return "If it is yours, name the file with its certificate, or that of its authority, in SSL_CERT_FILE."
    if trouble.missing:
        return "Check the address."
    return "Try again later, or index the folder that the site was built in."


def _file(url: str) -> str:
    """What a page is called among the files of its book."""
    parts = urlsplit(url)
    path = parts.path.strip("/") or "index"
    return f"{path}?{parts.query}" if parts.query else path
