"""What a fetch follows, waits for and refuses."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler

import pytest
from tests.sources.web import HOST, HTML, moved, packed, serving

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.fetch_limits import CrawlLimits, FetchError
from bookbound.sources.crawl.fetcher import Fetcher
from bookbound.sources.crawl.ssrf_guard import PrivateAddressError

QUICK = CrawlLimits(pause=0.001, silence=1.0, page_seconds=0.5, page_bytes=100_000, longest_wait=1.0)


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with closing(Fetcher((HOST,), QUICK)) as made:
        yield made


def test_a_page_comes_as_it_was_sent_and_says_who_asks(fetcher: Fetcher) -> None:
    with serving({"/a": "wörter"}) as web:
        found = fetcher.fetch(f"{web.url}/a")
    assert (found.body.decode(), found.kind, found.charset) == ("wörter", "text/html", "utf-8")
    assert web.headers[0]["user-agent"].startswith("bookbound/")
    assert web.headers[0]["host"] == web.url.removeprefix("http://")


def test_a_packed_page_is_unpacked(fetcher: Fetcher) -> None:
    with serving({"/a": packed(b"words " * 1_000)}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"words " * 1_000


def test_a_small_page_that_unpacks_to_a_huge_one_is_given_up_while_it_unpacks(fetcher: Fetcher) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000, 1)
    with serving({"/a": (200, {"content-type": HTML, "content-encoding": "gzip"}, bomb)}) as web:
        with pytest.raises(FetchError, match="larger than 100 kB"):
            fetcher.fetch(f"{web.url}/a")
        assert fetcher._allowance.taken < 200_000


def test_a_packed_page_that_is_cut_off_is_asked_for_again_and_else_given_up(fetcher: Fetcher) -> None:
    status, headers, whole = packed(b"".join(b"%d words " % i for i in range(1_000)))
    torn = status, headers, whole[: len(whole) // 2]
    with serving({"/a": [torn, (status, headers, whole)], "/b": torn, "/c": (status, headers, b"")}) as web:
        assert fetcher.fetch(f"{web.url}/a").body.endswith(b"999 words ")
        with pytest.raises(FetchError, match="broke off"):
            fetcher.fetch(f"{web.url}/b")
        assert fetcher.fetch(f"{web.url}/c").body == b""


@pytest.mark.parametrize(
    ("packing", "body", "why"),
    [("gzip", b"no gzip at all", "broken"), ("br", b"x", "not asked for"), ("gzip, gzip", b"x", "not asked for")],
)
def test_what_cannot_be_unpacked_is_told(fetcher: Fetcher, packing: str, body: bytes, why: str) -> None:
    with (
        serving({"/a": (200, {"content-encoding": packing}, body)}) as web,
        pytest.raises(FetchError, match=why),
    ):
        fetcher.fetch(f"{web.url}/a")


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    while True:
        handler.wfile.write(b"words " * 1_000)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    while True:
        handler.wfile.write(b"w")
        time.sleep(0.02)


def broken_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("speaker", "why"), [(endless, "larger"), (dripping, "takes too long"), (broken_off, "broke off")]
)
def test_a_page_without_end_is_given_up(
    fetcher: Fetcher, speaker: Callable[[BaseHTTPRequestHandler], None], why: str
) -> None:
    with serving({"/a": speaker}) as web, pytest.raises(FetchError, match=why):
        fetcher.fetch(f"{web.url}/a")


def test_redirects_are_followed_up_to_the_fifth(fetcher: Fetcher) -> None:
    hops = {f"/{at}": moved(f"/{at + 1}") for at in range(5)}
    with serving({**hops, "/5": "there", "/x": moved("/0"), "/loop": moved("/loop")}) as web:
        assert fetcher.fetch(f"{web.url}/0").url == f"{web.url}/5"
        for path in ("/x", "/loop"):
            with pytest.raises(FetchError, match="more than 5 times"):
                fetcher.fetch(web.url + path)


@pytest.mark.parametrize(
    "target",
    ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://a:b@127.0.0.1/", "javascript:x", "http://:80/", "http://[::1"],
)
def test_a_redirect_to_what_is_no_address_of_the_web_is_refused(fetcher: Fetcher, target: str) -> None:
    with serving({"/a": moved(target)}) as web, pytest.raises(FetchError, match="no address of the web"):
        fetcher.fetch(f"{web.url}/a")


@pytest.mark.parametrize(
    "target",
    ["http://metadata.example/latest", "http://169.254.169.254/", "http://[::ffff:7f00:1]/", "http://localhost/"],
)
def test_a_redirect_to_a_closed_address_is_refused_without_a_request(target: str) -> None:
    def resolve(host: str, port: int) -> list[str]:
        return ["169.254.169.254" if host == "metadata.example" else "127.0.0.1"]

    with closing(Fetcher((HOST,), QUICK, resolve)) as fetcher, serving({"/a": moved(target)}) as web:
        with pytest.raises(PrivateAddressError):
            fetcher.fetch(f"{web.url}/a")
        assert web.asked == ["/a"]


def test_a_name_is_resolved_once_and_then_asked_at_that_address_alone() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    with (
        serving({"/a": "a", "/b": "b"}) as web,
        closing(Fetcher(("book.example",), QUICK, lambda host, port: next(answers))) as fetcher,
    ):
        site = f"http://book.example:{web.server_port}"
        assert [fetcher.fetch(site + path).body for path in ("/a", "/b")] == [b"a", b"b"]
        assert [headers["host"] for headers in web.headers] == [site.removeprefix("http://")] * 2
    assert next(answers) == ["10.0.0.1"]


def test_a_host_with_several_addresses_is_asked_at_the_one_that_answers() -> None:
    with (
        serving({"/a": "a"}) as web,
        closing(Fetcher(("book.example",), QUICK, lambda host, port: ["127.0.0.9", "127.0.0.1"])) as fetcher,
    ):
        assert fetcher.fetch(f"http://book.example:{web.server_port}/a").body == b"a"


def test_a_redirect_from_https_to_http_is_refused(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "_patiently", lambda url: "http://book.example/")
    with pytest.raises(FetchError, match="https to http"):
        fetcher.fetch("https://book.example/")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_trouble_that_may_pass_is_tried_again(fetcher: Fetcher, status: int) -> None:
    good = (200, {"content-type": HTML}, b"good")
    with serving({"/a": [(status, {"retry-after": "0"}, b""), (status, {}, b""), good]}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"good"
        web.answers["/b"] = (status, {}, b"")
        with pytest.raises(FetchError, match=str(status)):
            fetcher.fetch(f"{web.url}/b")
        assert web.asked == ["/a"] * 3 + ["/b"] * 3


@pytest.mark.parametrize("after", ["3600", formatdate(time.time() + 3_600, usegmt=True)], ids=["seconds", "date"])
def test_who_asks_us_to_wait_too_long_is_not_waited_for(fetcher: Fetcher, after: str) -> None:
    with serving({"/a": (429, {"retry-after": after}, b"")}) as web:
        with pytest.raises(FetchError, match="429"):
            fetcher.fetch(f"{web.url}/a")
        assert web.asked == ["/a"]


@pytest.mark.parametrize("after", ["soon", "-5", "9" * 400, "Mon, 99 Xxx 9999 99:99:99 GMT"])
def test_a_wait_that_is_no_time_is_none(fetcher: Fetcher, after: str) -> None:
    with serving({"/a": [(503, {"retry-after": after}, b""), (200, {}, b"good")]}) as web:
        assert fetcher.fetch(f"{web.url}/a").body == b"good"


@pytest.mark.parametrize(("status", "missing"), [(404, True), (410, True), (403, False), (204, False), (418, False)])
def test_what_will_not_pass_is_not_tried_again(fetcher: Fetcher, status: int, missing: bool) -> None:
    with serving({"/a": (status, {}, b"")}) as web:
        with pytest.raises(FetchError, match=str(status)) as caught:
            fetcher.fetch(f"{web.url}/a")
        assert (caught.value.missing, web.asked) == (missing, ["/a"])


def test_nobody_who_listens_is_told(fetcher: Fetcher) -> None:
    with serving({}) as web:
        port = web.server_port
    with pytest.raises(FetchError, match="could not be reached"):
        fetcher.fetch(f"http://{HOST}:{port}/")


def test_no_cookie_goes_back(fetcher: Fetcher) -> None:
    with serving({"/a": (200, {"set-cookie": "track=1"}, b"a")}) as web:
        for _ in range(2):
            fetcher.fetch(f"{web.url}/a")
        assert not any("cookie" in headers for headers in web.headers)


def test_all_bytes_and_all_time_of_a_crawl_are_bounded() -> None:
    with serving({"/a": "words"}) as web, closing(Fetcher((HOST,), CrawlLimits(bytes=4, pause=0))) as fetcher:
        assert not fetcher.spent
        fetcher.fetch(f"{web.url}/a")
        assert fetcher.spent
    with closing(Fetcher((HOST,), CrawlLimits(seconds=-1))) as late:
        assert late.spent


def test_errors_hold_no_address(fetcher: Fetcher) -> None:
    with serving({"/secret": (403, {}, b"")}) as web, pytest.raises(SourceError) as caught:
        fetcher.fetch(f"{web.url}/secret?key=token")
    assert "token" not in str(caught.value)
