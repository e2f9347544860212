"""What a crawl keeps of where pages lead."""

from __future__ import annotations

from bookbound.read.crawl.leads import MOST_ENTRIES, Listings
from bookbound.read.site.nav import Entry


def listing(size: int, chapter: str = "") -> tuple[Entry, ...]:
    return (Entry("https://a.example/", chapter),) * size


def test_navigation_that_pages_share_is_kept_once() -> None:
    listings = Listings()
    first = listings.shared(listing(3))
    assert listings.shared(listing(3)) is first == listing(3)


def test_navigation_that_differs_on_every_page_is_kept_within_bounds() -> None:
    listings = Listings()
    half = MOST_ENTRIES // 2
    assert [len(listings.shared(listing(half, chapter))) for chapter in "abca"] == [half, half, 0, half]
