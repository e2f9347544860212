"""No server can make a crawl take longer or receive more than its limits."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from tests.sources.local_server import HOST

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

QUICK = CrawlLimits(
    delay_seconds=0.001, read_timeout_seconds=0.2, max_page_seconds=0.3, max_page_bytes=100_000, max_attempts=1
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
COMPRESSED = HEAD + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"words")

Pieces = Callable[[], Iterator[bytes]]


def repeat(piece: bytes, first: bytes = b"", pause: float = 0.01) -> Pieces:
    """Sends `first`, then the same piece forever."""

    def pieces() -> Iterator[bytes]:
        yield first
        while True:
            yield piece
            time.sleep(pause)

    return pieces


@contextmanager
def serving_pieces(pieces: Pieces, waits_for_request: bool = True) -> Iterator[str]:
    """The address of a server that sends these pieces, after it has received something or at once."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=speak, args=(client,), daemon=True).start()

    def speak(client: socket.socket) -> None:
        with client, suppress(OSError):
            if waits_for_request:
                client.recv(10_000)
            for piece in pieces():
                client.sendall(piece)

    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield f"{HOST}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


SLOW = {
    "headers": repeat(b"x", b"HTTP/1.1 200 OK\r\nname: "),
    "hints": repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a body": repeat(b"x", HEAD + b"\r\n"),
    "chunks": repeat(b"1\r\nx\r\n", HEAD + b"transfer-encoding: chunked\r\n\r\n"),
    "the size of a chunk": repeat(b"x", HEAD + b"transfer-encoding: chunked\r\n\r\n5;"),
    "trailers": repeat(b"x", HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\nname: "),
    "data after a compressed page": repeat(b"x", COMPRESSED),
}


@pytest.mark.parametrize("part", SLOW)
def test_a_slow_response_ends_with_the_time_of_a_page(part: str) -> None:
    with (
        serving_pieces(SLOW[part]) as address,
        closing(Fetcher((HOST,), QUICK)) as fetcher,
        pytest.raises(FetchError, match="takes too long"),
    ):
        fetcher.fetch(f"http://{address}/")


@pytest.mark.parametrize(
    "response",
    [
        repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000, pause=0),
        repeat(b"1;" + b"x" * 1_000 + b"\r\nx\r\n", HEAD + b"transfer-encoding: chunked\r\n\r\n", 0),
        repeat(b"x" * 10_000, COMPRESSED, 0),
    ],
    ids=["hints", "chunk extensions", "data after a compressed page"],
)
def test_every_received_byte_counts(response: Pieces) -> None:
    generous = CrawlLimits(max_page_bytes=100_000, max_attempts=1)
    with serving_pieces(response) as address, closing(Fetcher((HOST,), generous)) as fetcher:
        with pytest.raises(FetchError, match="larger than 100 kB"):
            fetcher.fetch(f"http://{address}/")
        assert 200_000 < fetcher._budget.used_bytes < 400_000


@pytest.mark.parametrize("opening", [b"", b"\x16\x03\x03\x3f\xff"], ids=["silence", "a long record"])
def test_an_endless_tls_handshake_is_an_error(opening: bytes) -> None:
    with (
        serving_pieces(repeat(b"\x02" if opening else b"", opening), waits_for_request=False) as address,
        closing(Fetcher((HOST,), QUICK)) as fetcher,
        pytest.raises(TemporaryFetchError),
    ):
        fetcher.fetch(f"https://{address}/")


def test_a_slow_robots_txt_stops_the_crawl() -> None:
    with (
        serving_pieces(repeat(b"x", b"HTTP/1.1 200 OK\r\nname: ")) as address,
        pytest.raises(SourceError, match=r"takes too long\. Try again later"),
    ):
        crawl_site(f"http://{address}/", (HOST,), limits=QUICK)


def test_no_response_takes_longer_than_the_crawl() -> None:
    limits = CrawlLimits(delay_seconds=0.001, max_seconds=0.3)
    with serving_pieces(SLOW["headers"]) as address, closing(Fetcher((HOST,), limits)) as fetcher:
        for message in ("takes too long", "time or bytes of the crawl"):
            with pytest.raises(TemporaryFetchError, match=message):
                fetcher.fetch(f"http://{address}/")


@pytest.mark.parametrize(
    "limits", [CrawlLimits(read_timeout_seconds=1), CrawlLimits(max_page_seconds=1), CrawlLimits(max_seconds=1)]
)
def test_the_timeout_is_the_shortest_limit(limits: CrawlLimits) -> None:
    assert ResponseBudget(CrawlBudget(limits)).timeout() <= 1


def test_a_page_counts_once_with_its_larger_size() -> None:
    crawl = CrawlBudget(CrawlLimits(max_page_bytes=100))
    budget = ResponseBudget(crawl)
    for received, decoded, used in ((10, 10, 10), (10, 0, 20), (5, 80, 90)):
        budget.add_received(received)
        budget.add_decoded(decoded)
        assert crawl.used_bytes == used
    with pytest.raises(FetchError, match="larger"):
        budget.add_decoded(11)
