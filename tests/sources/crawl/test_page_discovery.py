"""A crawl keeps the navigation that its pages share."""

from __future__ import annotations

from bookbound.sources.crawl.page_discovery import MAX_CACHED_NAVIGATION_ENTRIES, NavigationCache
from bookbound.sources.html.html_page import NavigationEntry


def listing(size: int, chapter: str = "") -> tuple[NavigationEntry, ...]:
    return (NavigationEntry("https://a.example/", chapter),) * size


def test_shared_navigation_is_kept_once() -> None:
    cache = NavigationCache()
    first = cache.share(listing(3))
    assert cache.share(listing(3)) is first == listing(3)


def test_the_size_of_different_navigations_is_limited() -> None:
    cache = NavigationCache()
    half = MAX_CACHED_NAVIGATION_ENTRIES // 2
    assert [len(cache.share(listing(half, chapter))) for chapter in "abca"] == [half, half, 0, half]
