"""A site on the web becomes a book."""

from __future__ import annotations

import threading
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
from bookbound.read.crawl.fetched import Bounds, Fetched, NotFetched, Passing
from bookbound.read.crawl.robots import Robots
from bookbound.read.crawl.scope import Scope, origin, start_of
from bookbound.read.crawl.sitemap import mapped
from bookbound.read.html.charset import html_text
from bookbound.read.html.page import HtmlPage, key, look
from bookbound.read.site.book import bind

HTML = frozenset(("text/html", "application/xhtml+xml"))
_REASONS = 3


def crawl(
    url: str,
    hosts: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, of: None,
    bounds: Bounds | None = None,
    resolve: Resolve = looked_up,
) -> Manuscript:
    """The book of the site at and below `url`: the pages that its map lists, else those that its pages lead to.

    Only machines of the open network are asked, and `hosts`. `progress` is told how many pages are read, of how many.
    """
    start = start_of(url)
    with closing(Fetcher(hosts, bounds, resolve)) as fetcher:
        return _Crawl(fetcher, progress).run(start)


class _Crawl:
    """One crawl: what waits to be fetched, what was found, and what was odd."""

    def __init__(self, fetcher: Fetcher, progress: Callable[[int, int], None]) -> None:
        self.fetcher = fetcher
        self.progress = progress
        self.robots: dict[str, Robots] = {}
        self.waiting: deque[str] = deque()
        self.seen: set[str] = set()
        self.pages: dict[str, HtmlPage] = {}
        self.notices: list[Notice] = []
        self.lock = threading.Lock()
        self.follows = True

    def run(self, start: str) -> Manuscript:
        first = self._first(start)
        self.scope = Scope.of(start, first.url)
        self.seen.add(key(start))
        self._take(first, follow=False)
        listed = [page for page in self._mapped() if self.scope.holds(page)]
        self.follows = not listed
        self._line_up(listed or (link for page in self.pages.values() for link in page.links))
        self._fetch_all()
        # What answers first depends on the weather; the book does not.
        pages = sorted(self.pages.values(), key=lambda page: page.url)
        book = bind(pages, self.scope.home, urlsplit(first.url).hostname or "", sorted(self.notices))
        if not book.pages:
            reasons = "".join(f" {file}: {message}." for file, message, _ in book.notices[:_REASONS])
            raise BadSource(f"No page of the site may be indexed or shows words: name another address.{reasons}")
        return book

    def _first(self, start: str) -> Fetched:
        """The page that the crawl begins with; without it there is no book."""
        try:
            found = self.fetcher.fetch(start, self._allows)
        except NotFetched as trouble:
            raise BadSource(f"The page at this address {trouble}. {_advice(trouble)}") from trouble
        if found.kind not in HTML:
            raise BadSource("There is no page of HTML at this address: name the address of the book's first page.")
        return found

    def _mapped(self) -> list[str]:
        """The pages that the site's maps list."""
        told = [self.scope.home + "sitemap.xml", self.scope.origin + "/sitemap.xml"]
        maps = [*self._robots(self.scope.home).maps, *told]
        own = [each for each in dict.fromkeys(maps) if origin(each) == self.scope.origin]

        def fetch(url: str) -> bytes | None:
            try:
                return self.fetcher.fetch(url, self._allows).body if origin(url) == self.scope.origin else None
            except BadSource:
                return None

        return mapped(own, fetch, self.fetcher.bounds.pages)

    def _fetch_all(self) -> None:
        """Fetch what waits, a few at once, and what that leads to."""
        bounds = self.fetcher.bounds
        at_work: dict[Future[Fetched], str] = {}
        with ThreadPoolExecutor(bounds.at_once, "crawl") as workers:
            while self.waiting or at_work:
                if self.fetcher.spent or len(self.pages) >= bounds.pages:
                    self.notices.append(Notice(self.scope.home, "has more pages than a crawl may take", lost=True))
                    break
                while self.waiting and len(at_work) < bounds.at_once:
                    url = self.waiting.popleft()
                    at_work[workers.submit(self.fetcher.fetch, url, self._allows)] = url
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
            self._take(future.result(), follow=self.follows)
        except NotFetched as trouble:
            self.notices.append(Notice(_file(url), f"{trouble}; left out", lost=not (trouble.missing or trouble.kept)))
        except BadSource:
            self.notices.append(Notice(_file(url), "leads to a host that may not be asked; left out", lost=True))

    def _take(self, found: Fetched, follow: bool) -> None:
        if key(found.url) in self.pages or not self.scope.holds(found.url):
            return
        if found.kind not in HTML:
            self.notices.append(Notice(_file(found.url), "is no page of HTML; left out"))
            return
        page = look(html_text(found.body, found.charset), found.url, _file(found.url))
        page = replace(page, kept_out=page.kept_out or found.kept_out)
        self.seen.add(page.key)
        self.pages[page.key] = page
        if follow and page.followed:
            self._line_up(page.links)

    def _line_up(self, links: Iterable[str]) -> None:
        """Let the pages of the site that were not seen before wait for their turn."""
        for link in links:
            url = link if not self.follows else self.scope.page(link)
            if url and key(url) not in self.seen:
                self.seen.add(key(url))
                self.waiting.append(url)

    def _allows(self, url: str) -> bool:
        return self._robots(url).allows(url)

    def _robots(self, url: str) -> Robots:
        """The rules of the host that an address is of."""
        host = origin(url)
        with self.lock:
            if host not in self.robots:
                self.robots[host] = self._fetch_robots(host)
                self.fetcher.pause = max(self.fetcher.pause, self.robots[host].delay)
            return self.robots[host]

    def _fetch_robots(self, host: str) -> Robots:
        try:
            found = self.fetcher.fetch(f"{host}/robots.txt")
        except Passing:
            raise  # nobody knows what it forbids
        except NotFetched:
            return Robots()
        return Robots(html_text(found.body, found.charset))


def _advice(trouble: NotFetched) -> str:
    if trouble.kept:
        return "Ask its owner to allow `bookbound` there, or index the folder that the site was built in."
    if trouble.missing:
        return "Check the address."
    return "Try again later, or index the folder that the site was built in."


def _file(url: str) -> str:
    """What a page is called among the files of its book."""
    parts = urlsplit(url)
    path = parts.path.strip("/") or "index"
    return f"{path}?{parts.query}" if parts.query else path
