"""What a crawl keeps of where pages lead."""

from __future__ import annotations

from bookbound.sources.crawl.page_discovery import MAX_NAVIGATION_ENTRIES, NavigationCache
from bookbound.sources.html.html_page import NavigationEntry


def listing(size: int, chapter: str = "") -> tuple[NavigationEntry, ...]:
    return (NavigationEntry("https://a.example/", chapter),) * size


def test_navigation_that_pages_share_is_kept_once() -> None:
    listings = NavigationCache()
    first = listings.shared(listing(3))
    assert listings.shared(listing(3)) is first == listing(3)


def test_navigation_that_differs_on_every_page_is_kept_within_bounds() -> None:
    listings = NavigationCache()
    half = MAX_NAVIGATION_ENTRIES // 2
    assert [len(listings.shared(listing(half, chapter))) for chapter in "abca"] == [half, half, 0, half]
