"""The fetcher follows redirects, retries and enforces limits."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler

import pytest
from tests.sources.local_server import HOST, HTML, gzip_response, redirect_response, serve_site

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.access_rules import PrivateAddressError
from bookbound.sources.crawl.fetch_limits import CrawlLimits, FetchError
from bookbound.sources.crawl.fetcher import Fetcher

QUICK = CrawlLimits(
    delay_seconds=0.001,
    read_timeout_seconds=1.0,
    max_page_seconds=0.5,
    max_page_bytes=100_000,
    max_retry_wait_seconds=1.0,
)


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with closing(Fetcher((HOST,), QUICK)) as opened:
        yield opened


def test_a_page_is_fetched_with_our_user_agent(fetcher: Fetcher) -> None:
    with serve_site({"/a": "wörter"}) as web:
        found = fetcher.fetch(f"{web.url}/a")
    assert (found.body.decode(), found.media_type, found.charset) == ("wörter", "text/html", "utf-8")
    assert web.headers[0]["user-agent"].startswith("bookbound/")
    assert web.headers[0]["host"] == web.url.removeprefix("http://")


def test_a_compressed_page_is_decompressed(fetcher: Fetcher) -> None:
    with serve_site({"/a": gzip_response(b"words " * 1_000)}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"words " * 1_000


def test_a_decompression_bomb_is_stopped_early(fetcher: Fetcher) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000, 1)
    with serve_site({"/a": (200, {"content-type": HTML, "content-encoding": "gzip"}, bomb)}) as web:
        with pytest.raises(FetchError, match="larger than 100 kB"):
            fetcher.fetch(f"{web.url}/a")
        assert fetcher._budget.used_bytes < 200_000


def test_a_truncated_compressed_page_is_requested_again(fetcher: Fetcher) -> None:
    status, headers, whole = gzip_response(b"".join(b"%d words " % i for i in range(1_000)))
    torn = status, headers, whole[: len(whole) // 2]
    with serve_site({"/a": [torn, (status, headers, whole)], "/b": torn, "/c": (status, headers, b"")}) as web:
        assert fetcher.fetch(f"{web.url}/a").body.endswith(b"999 words ")
        with pytest.raises(FetchError, match="broke off"):
            fetcher.fetch(f"{web.url}/b")
        assert fetcher.fetch(f"{web.url}/c").body == b""


@pytest.mark.parametrize(
    ("packing", "body", "message"),
    [("gzip", b"no gzip at all", "broken"), ("br", b"x", "not requested"), ("gzip, gzip", b"x", "not requested")],
)
def test_broken_or_unknown_compression_is_an_error(fetcher: Fetcher, packing: str, body: bytes, message: str) -> None:
    with (
        serve_site({"/a": (200, {"content-encoding": packing}, body)}) as web,
        pytest.raises(FetchError, match=message),
    ):
        fetcher.fetch(f"{web.url}/a")


def send_endlessly(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    while True:
        handler.wfile.write(b"words " * 1_000)


def send_slowly(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    while True:
        handler.wfile.write(b"w")
        time.sleep(0.02)


def send_partially(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("speaker", "message"), [(send_endlessly, "larger"), (send_slowly, "takes too long"), (send_partially, "broke off")]
)
def test_an_endless_or_truncated_page_is_an_error(
    fetcher: Fetcher, speaker: Callable[[BaseHTTPRequestHandler], None], message: str
) -> None:
    with serve_site({"/a": speaker}) as web, pytest.raises(FetchError, match=message):
        fetcher.fetch(f"{web.url}/a")


def test_at_most_five_redirects_are_followed(fetcher: Fetcher) -> None:
    hops = {f"/{at}": redirect_response(f"/{at + 1}") for at in range(5)}
    with serve_site({**hops, "/5": "there", "/x": redirect_response("/0"), "/loop": redirect_response("/loop")}) as web:
        assert fetcher.fetch(f"{web.url}/0").url == f"{web.url}/5"
        for path in ("/x", "/loop"):
            with pytest.raises(FetchError, match="more than 5 times"):
                fetcher.fetch(web.url + path)


@pytest.mark.parametrize(
    "target",
    ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://a:b@127.0.0.1/", "javascript:x", "http://:80/", "http://[::1"],
)
def test_a_redirect_to_an_invalid_url_is_refused(fetcher: Fetcher, target: str) -> None:
    with serve_site({"/a": redirect_response(target)}) as web, pytest.raises(FetchError, match="an invalid URL"):
        fetcher.fetch(f"{web.url}/a")


@pytest.mark.parametrize(
    "target",
    ["http://metadata.example/latest", "http://169.254.169.254/", "http://[::ffff:7f00:1]/", "http://localhost/"],
)
def test_a_redirect_to_a_private_address_is_refused_without_a_request(target: str) -> None:
    def resolve(host: str, port: int) -> list[str]:
        return ["169.254.169.254" if host == "metadata.example" else "127.0.0.1"]

    with closing(Fetcher((HOST,), QUICK, resolve)) as fetcher, serve_site({"/a": redirect_response(target)}) as web:
        with pytest.raises(PrivateAddressError):
            fetcher.fetch(f"{web.url}/a")
        assert web.requested == ["/a"]


def test_a_host_is_resolved_only_once() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    with (
        serve_site({"/a": "a", "/b": "b"}) as web,
        closing(Fetcher(("book.example",), QUICK, lambda host, port: next(answers))) as fetcher,
    ):
        site = f"http://book.example:{web.server_port}"
        assert [fetcher.fetch(site + path).body for path in ("/a", "/b")] == [b"a", b"b"]
        assert [headers["host"] for headers in web.headers] == [site.removeprefix("http://")] * 2
    assert next(answers) == ["10.0.0.1"]


def test_every_address_of_a_host_is_tried() -> None:
    with (
        serve_site({"/a": "a"}) as web,
        closing(Fetcher(("book.example",), QUICK, lambda host, port: ["127.0.0.9", "127.0.0.1"])) as fetcher,
    ):
        assert fetcher.fetch(f"http://book.example:{web.server_port}/a").body == b"a"


def test_a_redirect_from_https_to_http_is_refused(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "_fetch_with_retry", lambda url: "http://book.example/")
    with pytest.raises(FetchError, match="https to http"):
        fetcher.fetch("https://book.example/")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_temporary_errors_are_retried(fetcher: Fetcher, status: int) -> None:
    good = (200, {"content-type": HTML}, b"good")
    with serve_site({"/a": [(status, {"retry-after": "0"}, b""), (status, {}, b""), good]}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"good"
        web.responses["/b"] = (status, {}, b"")
        with pytest.raises(FetchError, match=str(status)):
            fetcher.fetch(f"{web.url}/b")
        assert web.requested == ["/a"] * 3 + ["/b"] * 3


@pytest.mark.parametrize("after", ["3600", formatdate(time.time() + 3_600, usegmt=True)], ids=["seconds", "date"])
def test_a_long_retry_after_is_not_waited_for(fetcher: Fetcher, after: str) -> None:
    with serve_site({"/a": (429, {"retry-after": after}, b"")}) as web:
        with pytest.raises(FetchError, match="429"):
            fetcher.fetch(f"{web.url}/a")
        assert web.requested == ["/a"]


@pytest.mark.parametrize("after", ["soon", "-5", "9" * 400, "Mon, 99 Xxx 9999 99:99:99 GMT"])
def test_an_invalid_retry_after_is_ignored(fetcher: Fetcher, after: str) -> None:
    with serve_site({"/a": [(503, {"retry-after": after}, b""), (200, {}, b"good")]}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"good"


@pytest.mark.parametrize(("status", "missing"), [(404, True), (410, True), (403, False), (204, False), (418, False)])
def test_permanent_errors_are_not_retried(fetcher: Fetcher, status: int, missing: bool) -> None:
    with serve_site({"/a": (status, {}, b"")}) as web:
        with pytest.raises(FetchError, match=str(status)) as caught:
            fetcher.fetch(f"{web.url}/a")
        assert (caught.value.is_expected, web.requested) == (missing, ["/a"])


def test_a_closed_port_is_an_error(fetcher: Fetcher) -> None:
    with serve_site({}) as web:
        port = web.server_port
    with pytest.raises(FetchError, match="could not be reached"):
        fetcher.fetch(f"http://{HOST}:{port}/")


def test_cookies_are_not_sent_back(fetcher: Fetcher) -> None:
    with serve_site({"/a": (200, {"set-cookie": "track=1"}, b"a")}) as web:
        for _ in range(2):
            fetcher.fetch(f"{web.url}/a")
        assert not any("cookie" in headers for headers in web.headers)


def test_the_bytes_and_the_time_of_a_crawl_are_limited() -> None:
    with (
        serve_site({"/a": "words"}) as web,
        closing(Fetcher((HOST,), CrawlLimits(max_total_bytes=4, delay_seconds=0))) as fetcher,
    ):
        assert not fetcher.is_spent
        fetcher.fetch(f"{web.url}/a")
        assert fetcher.is_spent
    with closing(Fetcher((HOST,), CrawlLimits(max_seconds=-1))) as late:
        assert late.is_spent


def test_errors_do_not_contain_the_url(fetcher: Fetcher) -> None:
    with serve_site({"/secret": (403, {}, b"")}) as web, pytest.raises(SourceError) as caught:
        fetcher.fetch(f"{web.url}/secret?key=token")
    assert "token" not in str(caught.value)
