"""No server holds a crawl longer, or makes it take more, than the crawl allows, whatever it sends."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from tests.sources.web import HOST

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl import crawl_site
from bookbound.sources.crawl.fetch_limits import (
    CrawlBudget,
    CrawlLimits,
    FetchError,
    ResponseBudget,
    TemporaryFetchError,
)
from bookbound.sources.crawl.fetcher import Fetcher

QUICK = CrawlLimits(pause=0.001, silence=0.2, page_seconds=0.3, page_bytes=100_000, tries=1)
OPENED = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
PACKED = OPENED + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"words")

Pieces = Callable[[], Iterator[bytes]]


def again(piece: bytes, first: bytes = b"", pause: float = 0.01) -> Pieces:
    """Says something and then one thing for ever."""

    def pieces() -> Iterator[bytes]:
        yield first
        while True:
            yield piece
            time.sleep(pause)

    return pieces


@contextmanager
def speaking(pieces: Pieces, listens: bool = True) -> Iterator[str]:
    """The address of a server that sends these pieces to whoever comes, once it has heard something or at once."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=speak, args=(client,), daemon=True).start()

    def speak(client: socket.socket) -> None:
        with client, suppress(OSError):
            if listens:
                client.recv(10_000)
            for piece in pieces():
                client.sendall(piece)

    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield f"{HOST}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


DRIPPING = {
    "headers": again(b"x", b"HTTP/1.1 200 OK\r\nname: "),
    "hints": again(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a body": again(b"x", OPENED + b"\r\n"),
    "chunks": again(b"1\r\nx\r\n", OPENED + b"transfer-encoding: chunked\r\n\r\n"),
    "the size of a chunk": again(b"x", OPENED + b"transfer-encoding: chunked\r\n\r\n5;"),
    "what follows the chunks": again(b"x", OPENED + b"transfer-encoding: chunked\r\n\r\n0\r\nname: "),
    "what follows a packed page": again(b"x", PACKED),
}


@pytest.mark.parametrize("way", DRIPPING)
def test_what_drips_ends_with_the_time_of_a_page(way: str) -> None:
    with (
        speaking(DRIPPING[way]) as place,
        closing(Fetcher((HOST,), QUICK)) as fetcher,
        pytest.raises(FetchError, match="takes too long"),
    ):
        fetcher.fetch(f"http://{place}/")


@pytest.mark.parametrize(
    "flood",
    [
        again(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000, pause=0),
        again(b"1;" + b"x" * 1_000 + b"\r\nx\r\n", OPENED + b"transfer-encoding: chunked\r\n\r\n", 0),
        again(b"x" * 10_000, PACKED, 0),
    ],
    ids=["hints", "names of chunks", "what follows a packed page"],
)
def test_every_byte_that_comes_over_the_line_counts(flood: Pieces) -> None:
    patient = CrawlLimits(page_bytes=100_000, tries=1)
    with speaking(flood) as place, closing(Fetcher((HOST,), patient)) as fetcher:
        with pytest.raises(FetchError, match="larger than 100 kB"):
            fetcher.fetch(f"http://{place}/")
        assert 200_000 < fetcher._allowance.taken < 400_000


@pytest.mark.parametrize("opening", [b"", b"\x16\x03\x03\x3f\xff"], ids=["silence", "a long record"])
def test_a_host_that_never_ends_to_shake_hands_is_given_up(opening: bytes) -> None:
    with (
        speaking(again(b"\x02" if opening else b"", opening), listens=False) as place,
        closing(Fetcher((HOST,), QUICK)) as fetcher,
        pytest.raises(TemporaryFetchError),
    ):
        fetcher.fetch(f"https://{place}/")


def test_a_robots_txt_that_drips_keeps_the_site_closed() -> None:
    with (
        speaking(again(b"x", b"HTTP/1.1 200 OK\r\nname: ")) as place,
        pytest.raises(SourceError, match=r"takes too long\. Try again later"),
    ):
        crawl_site(f"http://{place}/", (HOST,), bounds=QUICK)


def test_no_answer_outlasts_the_crawl() -> None:
    bounds = CrawlLimits(pause=0.001, seconds=0.3)
    with speaking(DRIPPING["headers"]) as place, closing(Fetcher((HOST,), bounds)) as fetcher:
        for why in ("takes too long", "after all that a crawl may take"):
            with pytest.raises(TemporaryFetchError, match=why):
                fetcher.fetch(f"http://{place}/")


@pytest.mark.parametrize("bounds", [CrawlLimits(silence=1), CrawlLimits(page_seconds=1), CrawlLimits(seconds=1)])
def test_nothing_is_waited_for_longer_than_the_shortest_bound(bounds: CrawlLimits) -> None:
    assert ResponseBudget(CrawlBudget(bounds)).patience <= 1


def test_a_page_counts_once_and_as_long_as_it_is_unpacked() -> None:
    whole = CrawlBudget(CrawlLimits(page_bytes=100))
    share = ResponseBudget(whole)
    for arrived, shown, taken in ((10, 10, 10), (10, 0, 20), (5, 80, 90)):
        share.arrived(arrived)
        share.shown(shown)
        assert whole.taken == taken
    with pytest.raises(FetchError, match="larger"):
        share.shown(11)
