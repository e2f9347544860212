"""Tests the pages of the book that the real server shows, in a real Chromium."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.server.page.conftest import Tab
from tests.server.page.test_widget_in_browser import AXE, AXE_TAGS, HIGHLIGHTED, QUESTION
from tests.server.server_process import run_fast_server

from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.settings import Settings

SERVERS = ("hostile_server", "shelf_server", "public_server")
SERVICES = "/read/docs/02-ros2/02-services-and-actions.mdx"
ANATOMY = "/read/docs/01-foundations/02-anatomy-of-a-humanoid.md"
MAX_FIRST_VIEW_BYTES = 300_000
HOSTILE_FILE = 'a #1 "quoted" <b>&name 50%.md'
HOSTILE_PAGE = """# <script>alert("title")</script> Title

Text with <script>alert(1)</script> and &lt;img src=x onerror=alert(2)&gt; in it, and `<svg onload=alert(3)>` too.

## Steps "><img src=x onerror=alert(4)>

1. First step
   - Inner point
   - Second point
2. Second step

| Name | Value |
|---|---|
| gear | `<script>alert(5)</script>` |
| motor | strong |

```python
print("<script>alert(6)</script>")
    indented()
```

## Contents

The contents of the gear are metal.
"""


@pytest.fixture(scope="module")
def public_server(example_index: Path) -> Iterator[str]:
    with run_fast_server(example_index) as address:
        yield address


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of a book whose texts and file name are full of markup."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "book").mkdir()
    (folder / "book" / HOSTILE_FILE).write_text(HOSTILE_PAGE, encoding="utf-8")
    bootstrap.index_book(folder / "book", Settings(index=folder / "index"))
    with run_fast_server(folder / "index") as address:
        yield address


@pytest.fixture(scope="module")
def shelf_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of two books, one of which has two editions."""
    folder = tmp_path_factory.mktemp("shelf")
    for book, edition, words in (("ants", "1.0", "old"), ("ants", "2.0", "new"), ("bees", "", "sweet")):
        source = folder / f"edition {edition}" / book
        source.mkdir(parents=True)
        (source / "a.md").write_text(f"# About {book}\n\n## Life\n\nThe {words} life of {book} is short.\n")
        ref = BookRef(book, edition)
        bootstrap.index_book(source, Settings(index=folder / "index", book=ref.book, edition=ref.edition))
    with run_fast_server(folder / "index", BOOKBOUND_BOOK="ants") as address:
        yield address


def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as response:
            return response.status, response.read().decode(), dict(response.headers.items())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers.items())


def test_the_first_page_is_readable_with_chapters_and_assistant(new_tab: Any, public_server: str) -> None:
    tab: Tab = new_tab(viewport={"width": 1440, "height": 900})
    requests: list[str] = []
    tab.page.on("request", lambda request: requests.append(request.url))
    tab.page.goto(public_server)
    tab.page.locator(".panel").wait_for()
    expect(tab.page.locator("h1")).to_have_text("Physical AI: A Field Guide to Humanoid Robots")
    assert "A humanoid robot is a computer program" in tab.page.locator("article").inner_text()
    assert tab.page.locator("#bb-contents summary").all_inner_texts()[:2] == ["Foundations", "ROS 2"]
    assert tab.page.locator("#bb-contents [aria-current=page]").count() == 1
    assert tab.page.evaluate("document.activeElement.localName") == "body"
    assert requests
    assert all(url.startswith(public_server) for url in requests)
    assert tab.problems == []


def test_the_first_view_is_small_and_asks_no_other_server(new_tab: Any, public_server: str) -> None:
    tab: Tab = new_tab(viewport={"width": 1440, "height": 900})
    sizes: list[float] = []
    urls: list[str] = []
    devtools = tab.context.new_cdp_session(tab.page)
    devtools.send("Network.enable")
    devtools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    devtools.on("Network.requestWillBeSent", lambda event: urls.append(event["request"]["url"]))
    tab.page.goto(public_server, wait_until="networkidle")
    tab.page.locator(".panel").wait_for()
    assert len(urls) == len(sizes) >= 4
    assert [url for url in urls if not url.startswith(f"{public_server}/")] == []
    assert 10_000 < sum(sizes) < MAX_FIRST_VIEW_BYTES


def test_a_page_has_a_strict_policy_and_is_compressed_on_request(public_server: str) -> None:
    _, body, headers = get(f"{public_server}{ANATOMY}")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", body)
    request = urllib.request.Request(f"{public_server}{ANATOMY}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert len(response.read()) < len(body.encode()) / 2


def test_markup_in_the_book_stays_text(tab: Tab, hostile_server: str) -> None:
    tab.page.on("dialog", lambda dialog: tab.problems.append(dialog.message))
    tab.page.goto(hostile_server)
    text = tab.page.locator("article").inner_text()
    assert "<svg onload=alert(3)>" in text
    assert tab.page.locator("article pre code").inner_text() == ('print("<script>alert(6)</script>")\n    indented()')
    assert tab.page.locator("article").locator("script, img, svg, b").count() == 0
    tab.page.locator("#bb-contents [aria-current]").click()
    tab.page.wait_for_url("**/read/**")
    assert tab.page.locator("article").inner_text() == text
    tab.page.locator("#bb-search").fill("alert")
    tab.page.locator(".results a").first.wait_for()
    assert tab.page.locator(".results").locator("script, img, svg, b").count() == 0
    assert tab.problems == []


def test_lists_tables_and_code_are_what_they_are(tab: Tab, hostile_server: str) -> None:
    tab.page.goto(hostile_server)
    article = tab.page.locator("article")
    assert article.locator("ol > li").count() == 2
    assert article.locator("ol > li > ul > li").all_inner_texts() == ["Inner point", "Second point"]
    assert article.locator("thead th").all_inner_texts() == ["Name", "Value"]
    assert article.locator("tbody tr").nth(1).locator("td").all_inner_texts() == ["motor", "strong"]


def test_code_can_be_copied(new_tab: Any, public_server: str) -> None:
    tab: Tab = new_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.page.goto(f"{public_server}{SERVICES}")
    tab.page.locator(".code").first.hover()
    tab.page.locator(".copy").first.click()
    expect(tab.page.locator(".copy").first).to_have_text("Copied")
    assert tab.page.evaluate("navigator.clipboard.readText()").startswith("import rclpy\nfrom rclpy.node import Node\n")


def test_a_deep_link_scrolls_to_its_heading(tab: Tab, public_server: str) -> None:
    tab.page.goto(f"{public_server}{ANATOMY}#strain-wave-gears")
    heading = tab.page.locator("h3#strain-wave-gears")
    expect(heading).to_be_in_viewport()
    assert tab.page.evaluate("scrollY") > 0
    ids = tab.page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_a_section_of_the_book_may_have_the_name_of_a_part_of_the_page(tab: Tab, hostile_server: str) -> None:
    tab.page.goto(f"{hostile_server}/#contents")
    assert tab.page.locator("#contents").evaluate("(each) => each.localName") == "h2"


def test_the_pages_follow_each_other(tab: Tab, public_server: str) -> None:
    tab.page.goto(f"{public_server}/read/docs/intro.md")
    assert tab.page.locator("[rel=prev]").count() == 0
    tab.page.locator("[rel=next]").click()
    expect(tab.page.locator("h1")).to_have_text("Embodied Intelligence")
    tab.page.locator("[rel=prev]").click()
    expect(tab.page.locator("h1")).to_have_text("Physical AI: A Field Guide to Humanoid Robots")


def test_a_citation_stays_on_the_pages_of_the_server(tab: Tab, public_server: str) -> None:
    page = tab.open(f"{public_server}/read/docs/intro.md")
    tab.ask(QUESTION)
    page.locator("a.cite").first.click()
    page.wait_for_url(f"{public_server}{ANATOMY}#strain-wave-gears*")
    page.locator("a.cite").first.click()
    assert page.evaluate(HIGHLIGHTED)[0].startswith("A strain wave gear, often called")
    assert tab.problems == []


def test_a_citation_of_a_book_without_a_site_highlights_the_words_on_another_page(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "lamps.md").write_text("# Lamps\n\nThe wick of the lamp is trimmed every 12 hours.\n")
    (tmp_path / "book" / "boats.md").write_text("# Boats\n\nParaffin is delivered by boat in spring.\n")
    bootstrap.index_book(tmp_path / "book", Settings(index=tmp_path / "index"))
    with run_fast_server(tmp_path / "index") as address:
        page = tab.open(f"{address}/read/boats.md")
        tab.ask("How often is the wick of the lamp trimmed?")
        link = page.locator("a.cite").first.get_attribute("href") or ""
    words = "The%20wick%20of%20the%20lamp%20is%20trimmed%20every%2012%20hours."
    assert link == f"{address}/read/lamps.md#:~:text={words}"


def test_a_panel_that_the_reader_closed_stays_closed(new_tab: Any, public_server: str) -> None:
    page = new_tab(viewport={"width": 1440, "height": 900}).page
    page.goto(public_server)
    page.get_by_role("button", name="Close").click()
    page.goto(f"{public_server}{ANATOMY}")
    page.locator(".launcher").wait_for()
    assert page.locator(".panel").is_hidden()


def test_search_finds_sections_while_the_reader_types(tab: Tab, public_server: str) -> None:
    tab.page.goto(public_server)
    tab.page.locator("#bb-search").press_sequentially("kalm")
    first = tab.page.locator(".results a").first
    expect(first).to_contain_text("Kalman filter")
    assert tab.page.locator(".chapters").is_hidden()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/02-state-estimation.md#kalman-filter")
    tab.page.locator("#bb-search").fill("zzzz")
    expect(tab.page.locator(".found")).to_have_text("No section found. Ask the book instead.")
    tab.page.locator("#bb-search").press("Escape")
    expect(tab.page.locator(".chapters")).to_be_visible()
    assert tab.page.locator("#bb-search").input_value() == ""
    assert tab.problems == []


@pytest.mark.parametrize("width", [320, 1200])
def test_a_shortcut_goes_to_the_search(new_tab: Any, public_server: str, width: int) -> None:
    page = new_tab(viewport={"width": width, "height": 640}).page
    page.goto(f"{public_server}{ANATOMY}")
    page.keyboard.press("Control+k")
    expect(page.locator("#bb-search")).to_be_focused()
    page.keyboard.type("gears")
    page.locator(".results a").first.wait_for()


def test_a_narrow_screen_shows_the_contents_on_demand(new_tab: Any, public_server: str) -> None:
    tab: Tab = new_tab(viewport={"width": 320, "height": 640})
    tab.page.goto(f"{public_server}{ANATOMY}")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 320
    assert tab.page.locator("#bb-contents").is_hidden()
    tab.page.get_by_role("button", name="Contents").press("Enter")
    tab.page.locator("#bb-contents").get_by_role("link", name="Sensors").click()
    expect(tab.page.locator("#bb-contents")).to_be_hidden()
    assert "#" in tab.page.url


def test_the_keyboard_skips_to_the_text(tab: Tab, public_server: str) -> None:
    tab.page.goto(public_server)
    tab.page.keyboard.press("Tab")
    expect(tab.page.locator(".skip")).to_be_focused()
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "bb-text"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "path"), [(320, ANATOMY), (1440, SERVICES)])
def test_axe_finds_no_violation_on_a_page(new_tab: Any, public_server: str, scheme: str, width: int, path: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed. Install it: npm --prefix widget install --no-save")
    tab: Tab = new_tab(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    tab.page.goto(f"{public_server}{path}")
    if width == 320:
        tab.page.locator(".menu").click()
    tab.page.locator("#bb-search").fill("gears")
    tab.page.locator(".results a").first.wait_for()
    tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "(tags) => axe.run(document, { runOnly: tags }).then((result) => result.violations)"
    found = [(each["id"], each["nodes"][0]["target"]) for each in tab.page.evaluate(run, AXE_TAGS)]
    assert found == [], json.dumps(found, indent=1)


def test_an_unknown_page_is_a_404_page(public_server: str) -> None:
    status, body, headers = get(f"{public_server}/read/no/such<page>.md")
    assert status == 404
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1>Not Found</h1>" in body
    assert "such" not in body.replace("no such page", "")


def test_several_books_get_a_shelf(tab: Tab, shelf_server: str) -> None:
    tab.page.goto(shelf_server)
    assert tab.page.locator(".book strong").all_inner_texts() == ["Ants", "Bees"]
    tab.page.get_by_role("link", name="1.0").click()
    assert "The old life of ants" in tab.page.locator("article").inner_text()
    tab.page.get_by_role("link", name="All books").click()
    tab.page.get_by_role("link", name="Bees").click()
    assert "The sweet life of bees" in tab.page.locator("article").inner_text()
    tab.page.locator("#bb-search").fill("life")
    tab.page.locator(".results a").first.click()
    tab.page.wait_for_url(f"{shelf_server}/books/bees/read/a.md#life")
    assert tab.problems == []


def test_with_keys_a_page_says_that_it_needs_one_and_shows_nothing(example_index: Path) -> None:
    with run_fast_server(example_index, BOOKBOUND_ACCESS_MODE="keys") as address:
        for path in ("/", "/read", ANATOMY, "/read/unknown.md"):
            status, body, headers = get(address + path)
            assert status == 401
            assert headers["content-type"] == "text/html; charset=utf-8"
            assert "only with a key" in body
            assert "humanoid" not in body.lower()
        assert get(f"{address}/page.css")[0] == 200
