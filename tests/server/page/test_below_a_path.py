"""Tests the pages, the widget and the report of a server that a proxy shows below a path, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.prefix_proxy import PrefixProxy, run_prefix_proxy
from tests.server.page.test_book_page import get
from tests.server.page.test_report_page import ReportServer, sign_in
from tests.server.page.test_widget_in_browser import HIGHLIGHTED
from tests.server.server_process import run_server
from tests.server.test_index_routes import add_key

from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.server.api_keys import KeyKind
from bookbound.settings import Settings

SERVERS = ("proxy",)
HOME = "# The lighthouse\n\nSee [the horn](deep/er/horn.md#sound) and [the web](https://example.com/).\n"
HORN = "# Horn\n\n## Sound\n\nThe horn of the lighthouse sounds three times in thick fog. See [home](../../index.md).\n"
QUESTION = "How many times does the horn of the lighthouse sound in thick fog?"
PATHS = ("/docs/ask", "/other")
LINK = re.compile(r"""(?:href|src)=["']([^"']*)""")


@pytest.fixture(scope="module")
def server(site: BookSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportServer]:
    """The server of two books with an admin key; pages of the site may call it."""
    folder = tmp_path_factory.mktemp("below")
    settings = Settings(index=folder / "index")
    for book, files in {
        "light": {"index.md": HOME, "deep/er/horn.md": HORN},
        "bees": {"a.md": "# Bees\n\nBuzz."},
    }.items():
        for name, text in files.items():
            (folder / book / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / book / name).write_text(text)
        bootstrap.index_book(folder / book, settings.with_book(BookRef(book)))
    key = add_key(settings, KeyKind.ADMIN)[1]
    more = {"BOOKBOUND_BOOK": "light", "BOOKBOUND_ALLOWED_ORIGINS": site.address}
    with run_server(settings.index, **more) as address:
        yield ReportServer(address, key, folder)


@pytest.fixture(scope="module")
def proxy(server: ReportServer) -> Iterator[PrefixProxy]:
    with run_prefix_proxy(server.address, PATHS) as proxy:
        yield proxy


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/read", 200),
        ("/read/", 200),
        ("/read/index.md", 200),
        ("/read/deep/er/horn.md", 200),
        ("/read/deep/er/horn.md/", 200),
        ("/books/bees/read", 200),
        ("/books/light/read/deep/er/horn.md", 200),
        ("/report", 200),
        ("/report/", 200),
        ("/docs", 200),
        ("/read/no/such.md", 404),
        ("/books/bees/read/no/such.md", 404),
    ],
)
def test_every_address_on_a_page_stays_below_the_path(proxy: PrefixProxy, path: str, status: int) -> None:
    home = f"{proxy.origin}{PATHS[0]}"
    found, body, _ = get(home + path)
    targets = {urljoin(home + path, unescape(link)).partition("#")[0] for link in LINK.findall(body)}
    assert found == status
    assert targets
    for target in targets - {"https://example.com/"}:
        assert target.startswith(f"{home}/")
        assert get(target)[0] == 200 or target == home + path


def test_a_reader_reads_searches_asks_and_goes_to_the_quote_below_a_path(tab: Tab, proxy: PrefixProxy) -> None:
    home, page = f"{proxy.origin}{PATHS[0]}", tab.page
    page.goto(f"{home}/read")
    page.get_by_role("link", name="the horn").click()
    page.wait_for_url(f"{home}/read/deep/er/horn.md#sound")
    page.locator("#bb-search").fill("lighthouse")
    page.locator(".results a", has_text="The lighthouse").first.click()
    page.wait_for_url(f"{home}/read/index.md*")
    page.locator(".launcher").click()
    tab.ask(QUESTION)
    page.locator("a.cite").first.click()
    page.wait_for_url(f"{home}/read/deep/er/horn.md#sound*")
    page.locator("a.cite").first.click()
    assert "three times in thick fog" in page.evaluate(HIGHLIGHTED)[0]
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")
    assert (tab.problems, proxy.strays) == ([], [])


def test_a_book_of_the_shelf_is_read_and_searched_below_a_path(tab: Tab, proxy: PrefixProxy) -> None:
    home, page = f"{proxy.origin}{PATHS[0]}", tab.page
    page.goto(f"{home}/")
    page.get_by_role("link", name="Bees").click()
    page.wait_for_url(f"{home}/books/bees/read")
    page.locator("#bb-search").fill("buzz")
    page.locator(".results a").first.click()
    page.wait_for_url(f"{home}/books/bees/read/a.md*")
    page.get_by_role("link", name="All books").click()
    page.wait_for_url(f"{home}/")
    assert (tab.problems, proxy.strays) == ([], [])


def test_a_site_carries_the_widget_of_a_server_below_a_path(tab: Tab, proxy: PrefixProxy, site: BookSite) -> None:
    page = tab.open(site.add("/below", "<p>A page.</p>", f"{proxy.origin}{PATHS[0]}", strict=True))
    tab.ask(QUESTION)
    expect(page.locator(".turn")).to_contain_text("three times in thick fog")
    assert (tab.problems, proxy.strays) == ([], [])


def test_the_report_of_each_path_has_its_own_key(tab: Tab, server: ReportServer, proxy: PrefixProxy) -> None:
    sign_in(tab, server._replace(address=f"{proxy.origin}{PATHS[0]}"))
    expect(tab.page.locator("#bb-generations li")).to_have_count(1)
    tab.page.goto(f"{proxy.origin}{PATHS[1]}/report")
    expect(tab.page.get_by_label("Admin key")).to_be_visible()
    tab.page.goto(f"{proxy.origin}{PATHS[0]}/report/")
    tab.page.get_by_role("link", name="Read the book").wait_for()
    expect(tab.page.locator("#bb-generations li")).to_have_count(1)
    assert (tab.problems, proxy.strays) == ([], [])
