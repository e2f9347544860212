"""Tests the widget in a real Chromium on the sites that generators build with the lines of the guide."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.server.page.book_site import STRICT_POLICY
from tests.server.page.conftest import Tab
from tests.server.page.site_generators import GENERATORS, GUIDE, Addresses, Generator, read_snippets
from tests.server.page.test_widget_in_browser import HIGHLIGHTED
from tests.server.server_process import run_fast_server

from bookbound.settings import ENVIRONMENT_PREFIX, Settings

QUESTION, ANCHOR = "How many drops of oil does a bearing get?", "oil-the-bearings"
OTHER_QUESTION, OTHER_ANCHOR = "What should I check first if the pump does not start?", "the-pump-does-not-start"
DEFAULT_ACCENT = [52, 87, 213]
DARKEN = {
    "docusaurus": "document.documentElement.dataset.theme = 'dark'",
    "mkdocs-material": "document.body.dataset.mdColorScheme = 'slate'",
}
"""How to make a site dark that does not follow the browser."""
COLOURS = """(name) => {
  const read = (element, value = "") => {
    element.style.backgroundColor = value;
    return getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number);
  };
  const launcher = document.querySelector("#bookbound-widget").shadowRoot.querySelector(".launcher");
  const probe = document.body.appendChild(document.createElement("div"));
  const colours = [read(launcher), read(probe, `var(${name})`)];
  probe.remove();
  return colours;
}"""


@dataclass(frozen=True, slots=True)
class BuiltSite:
    name: str
    generator: Generator
    addresses: Addresses

    def page(self, name: str) -> str:
        return self.addresses.site + self.generator.page.format(name)


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def set_up_server(folder: Path, addresses: Addresses) -> Iterator[Addresses]:
    """Run the three lines of the guide: index the book, create a key for the site, and serve."""
    index, key, serve = read_snippets()["Server: keys and CORS in three lines"].splitlines()
    environment = os.environ | {"BOOKBOUND_INDEX": str(folder / "index")}

    def run(line: str) -> str:
        command = [sys.executable, "-m", *shlex.split(addresses.fill(line))]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout

    run(index)
    secret = run(key).strip()
    *settings, program, _, _, _ = shlex.split(serve)
    assert program == "bookbound"
    with run_fast_server(folder / "index", **dict(each.split("=", 1) for each in settings)) as server:
        yield Addresses(addresses.site, server, secret)


@pytest.fixture(scope="module", params=GENERATORS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltSite]:
    """The site of the book, built and indexed from its source as the guide says, on another origin than the server."""
    generator = GENERATORS[request.param]
    if generator.program and not shutil.which(generator.program):
        pytest.skip(f"{generator.program} is not installed, so its site cannot be built")
    folder = tmp_path_factory.mktemp(request.param)
    book, out = folder / "my-book", folder / "site"
    out.mkdir()
    with serve_folder(out) as site:
        book.mkdir()
        generator.write(book, Addresses(site))
        with set_up_server(folder, Addresses(site)) as addresses:
            shutil.rmtree(book)
            book.mkdir()
            generator.write(book, addresses)
            generator.build(book, out)
            yield BuiltSite(request.param, generator, addresses)


@pytest.fixture
def small_tab(new_tab: Any) -> Tab:
    """A window in which no page of the book fits."""
    made: Tab = new_tab(viewport={"width": 1280, "height": 480})
    return made


def assert_words_are_shown(page: Page, words: str) -> None:
    expect(page.get_by_text(words).first).to_be_in_viewport()


def test_an_answer_is_cited_and_its_words_are_highlighted_on_the_page(small_tab: Tab, built: BuiltSite) -> None:
    page = small_tab.open(built.page("care"))
    small_tab.ask(QUESTION)
    assert "four drops of mineral oil" in page.locator(".reply.answered").inner_text()
    page.locator("a.cite").first.click()
    page.wait_for_timeout(1000)  # it scrolls smoothly, and a site that renders itself may do so again
    assert page.evaluate(HIGHLIGHTED)[0].startswith("Give each bearing four drops")
    assert page.url == f"{page.url.partition('#')[0]}#{ANCHOR}"
    assert_words_are_shown(page, "Give each bearing")
    assert [each for each in small_tab.problems if built.addresses.server in each] == []


def test_a_citation_of_another_page_opens_there_with_the_conversation(small_tab: Tab, built: BuiltSite) -> None:
    page = small_tab.open(built.page("care"))
    small_tab.ask(QUESTION)
    small_tab.ask(OTHER_QUESTION)
    link = page.locator(".turn").nth(1).locator("a.cite").first
    assert (link.get_attribute("href") or "").startswith(f"{built.page('faults')}#{OTHER_ANCHOR}:~:text=")
    link.click()
    page.wait_for_url(re.compile(rf"/faults.*#{OTHER_ANCHOR}"))
    assert_words_are_shown(page, "check the fuse in the grey box first")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").nth(1).locator(".question")).to_be_in_viewport()


def test_the_widget_goes_along_when_the_reader_follows_a_link_of_the_site(small_tab: Tab, built: BuiltSite) -> None:
    page = small_tab.open(built.page("faults"))
    small_tab.ask(QUESTION)
    page.evaluate("window.isSameDocument = true")
    links = page.locator("nav a, .sidebar a, .sphinxsidebar a, .sidebar-tree a")
    links.filter(has_text=re.compile(r"^\s*(1\.)?\s*Care\s*$")).first.click()
    page.wait_for_url(re.compile(r"/care"))
    expect(page.get_by_role("heading", name="Paint the housing").first).to_be_attached()
    assert page.evaluate("Boolean(window.isSameDocument)") == built.generator.loads_pages_itself
    expect(page.locator("#bookbound-widget")).to_have_count(1)
    page.locator("a.cite").first.click()
    page.wait_for_timeout(1000)
    assert page.evaluate(HIGHLIGHTED)[0].startswith("Give each bearing four drops")
    assert_words_are_shown(page, "Give each bearing")


def test_selected_text_of_the_site_is_asked_about_next_to_the_open_panel(small_tab: Tab, built: BuiltSite) -> None:
    page = small_tab.open(built.page("care"))
    page.get_by_text("Seaweed collects").first.click(click_count=3, position={"x": 20, "y": 5})
    page.locator(".ask-selection").click()
    small_tab.ask("When do I do this?")
    assert page.locator(".selection-place").inner_text().endswith("Clean the intake screen")
    assert "spring tide" in page.locator(".reply").inner_text()


def test_the_widget_has_the_colours_of_the_site_in_light_and_dark(tab: Tab, built: BuiltSite) -> None:
    page = tab.page
    schemes = ("light", "dark") if built.generator.accent else ("light",)
    for scheme in schemes:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(built.page("care"))
        page.locator(".launcher").wait_for()
        if scheme == "dark" and built.name in DARKEN:
            page.evaluate(DARKEN[built.name])
        page.locator(f"#bookbound-widget[data-scheme={scheme}]").wait_for(state="attached")
        launcher, accent = page.evaluate(COLOURS, built.generator.accent or "--none")
        accent = accent if built.generator.accent else DEFAULT_ACCENT
        share = max(launcher) / max(accent)  # it may be darker, so that white text on it is readable
        assert 0.6 < share <= 1
        assert launcher == pytest.approx([part * share for part in accent], abs=2)


def test_the_guide_names_only_settings_attributes_and_policies_that_work() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    settings = {name.removeprefix(ENVIRONMENT_PREFIX).lower() for name in re.findall(r"BOOKBOUND_[A-Z_]+", guide)}
    assert settings
    assert settings <= {field.name for field in fields(Settings)}
    table = (GUIDE.parent / "put-it-on-your-site.md").read_text(encoding="utf-8")
    policy = read_snippets()["Content-Security-Policy"].strip()
    assert policy in STRICT_POLICY.format(server=Addresses("").server)  # that of the other tests
    assert set(re.findall(r"data-[a-z]+", guide)) <= set(re.findall(r"^\| `(data-[a-z]+)`", table, re.MULTILINE))
