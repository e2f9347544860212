"""A real Chromium, a site that carries the widget, and the example book with the addresses of that site."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.server.page.book_site import BookSite, run_site
from tests.server.page.chromium import CHROMIUM_OPTIONS
from tests.server.server_process import run_fast_server
from tests.server.thread_server import run_in_thread

from bookbound import bootstrap
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

TIMEOUT_MILLISECONDS = 30_000
expect.set_options(timeout=TIMEOUT_MILLISECONDS)  # 5 seconds are too few on a busy machine
NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("Storage is blocked", "SecurityError"); } });
}"""
"""A script after which the page has no storage, as in browsers that block it."""


@pytest.fixture(scope="module")
def site() -> Iterator[BookSite]:
    with run_site() as site:
        yield site


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server for pages of any origin, whose book always gives the same answer."""
    backend = ScriptedBackend(make_answer([("It walks.", make_passage("It walks."))]))
    with run_in_thread(create_app(backend, Settings(allowed_origins=("*",)))) as running:
        yield running.url


@pytest.fixture(scope="module")
def book_server(
    site: BookSite, example_book: Path, example_index: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of the real server of the example book, whose citations lead to the site."""
    folder = tmp_path_factory.mktemp("widget")
    shutil.copytree(example_index, folder / "index")  # only the addresses change, so no chunk is embedded again
    book = shutil.copytree(example_book, folder / "book")
    config = book / "docusaurus.config.js"
    config.write_text(config.read_text().replace("https://bookbound.example", site.address))
    bootstrap.index_book(book, Settings(index=folder / "index"))
    with run_fast_server(folder / "index", BOOKBOUND_ALLOWED_ORIGINS=site.address) as address:
        yield address


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A real Chromium; tests are skipped if none is installed."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("Chromium is not installed. On Debian: apt-get install chromium")
    for server in getattr(request.module, "SERVERS", ()):
        request.getfixturevalue(server)  # before Playwright's event loop, in which nothing can be indexed
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=CHROMIUM_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page of the site in its own browser profile, and everything that went wrong on it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context, self.problems = context, list[str]()
        self.page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(TIMEOUT_MILLISECONDS)
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        return page

    def open(self, url: str) -> Page:
        self.page.goto(url)
        self.page.locator(".launcher").click()
        return self.page

    def ask(self, question: str) -> None:
        """Ask in the open panel and wait for the end of the reply."""
        self.page.locator("textarea").fill(question)
        self.page.locator("textarea").press("Enter")
        self.wait()

    def wait(self) -> None:
        self.page.locator(".turn[aria-busy=true]").wait_for(state="detached")


@pytest.fixture
def new_tab(browser: Browser) -> Iterator[Any]:
    """Makes tabs, each in its own profile, with the options of a Playwright context."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> Tab:
        contexts.append(browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options)))
        return Tab(contexts[-1])

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def tab(new_tab: Any) -> Tab:
    made: Tab = new_tab()
    return made
