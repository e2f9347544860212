"""Helpers for tests that crawl a local site."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.sources.local_server import HOST, LocalServer, html_page

from bookbound.domain.document import ParsedBook
from bookbound.sources.crawl import crawl_site
from bookbound.sources.crawl.fetch_limits import CrawlLimits

QUICK_LIMITS = CrawlLimits(
    delay_seconds=0.001, read_timeout_seconds=2.0, max_page_seconds=2.0, max_retry_wait_seconds=1.0, max_concurrency=2
)
SITES = Path(__file__).parents[1] / "sites"


def crawl(web: LocalServer, path: str = "/", **changes: Any) -> ParsedBook:
    return crawl_site(web.url + path, (HOST,), limits=changes.pop("limits", QUICK_LIMITS), **changes)


def page_paths(book: ParsedBook, web: LocalServer) -> list[str]:
    return [found.url.removeprefix(web.url) for found in book.pages]


def notices_by_file(book: ParsedBook) -> Mapping[str, tuple[str, bool]]:
    return {notice.file: (notice.message, notice.lost) for notice in book.notices}


def page_with_links(*targets: str) -> str:
    return html_page(
        "<h1>Start</h1><p>Words.</p>" + "".join(f"<p><a href='{target}'>on</a> and on</p>" for target in targets)
    )
