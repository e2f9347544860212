"""Tests the widget in a real Chromium on pages that call it, configure it or include it wrongly."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import NO_STORAGE, Tab
from tests.server.page.replies import make_reply
from tests.server.page.test_widget_is_safe import script_replies
from tests.server.page.test_widget_module import MODULE

from bookbound.domain.question import MAX_SELECTION_CHARS

CATCH = """async (code) => {
  try { return String(await (0, eval)(code)); } catch (error) { return `${error.name}: ${error.message}`; }
}"""


@pytest.fixture
def page(tab: Tab, site: BookSite, server: str) -> Page:
    tab.page.goto(site.add("/misuse", "<p>Some words.</p>", server))
    tab.page.wait_for_function("Boolean(window.Bookbound)")
    return tab.page


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("Bookbound.open(null)", 'Pass nothing or { selection: "words of the page" } to open.'),
        ("Bookbound.open('words')", 'Pass nothing or { selection: "words of the page" } to open.'),
        ("Bookbound.open({ selection: 5 })", 'Pass nothing or { selection: "words of the page" } to open.'),
        ("Bookbound.ask()", "Pass the question as text to ask."),
        ("Bookbound.ask(42)", "Pass the question as text to ask."),
        ("Bookbound.ask(null)", "Pass the question as text to ask."),
        ("Bookbound.ask('Does it walk?', 5)", "Pass the selection as text to ask, or leave it out."),
        ("Bookbound.on('reply', 'x')", "Pass a function as the second argument to on."),
        (
            "Bookbound.on('answer', () => {})",
            "Pass the name of an event to on: open, close, ask, reply, error or vote.",
        ),
    ],
)
def test_a_wrong_call_is_a_type_error_that_says_what_to_pass(page: Page, call: str, advice: str) -> None:
    assert page.evaluate(CATCH, call) == f"TypeError: {advice}"
    expect(page.locator(".turn")).to_have_count(0)


def test_a_click_can_open_the_panel_directly(page: Page) -> None:
    page.evaluate("addEventListener('click', Bookbound.open)")
    page.mouse.click(5, 5)
    expect(page.locator(".panel")).to_be_visible()


@pytest.mark.parametrize("call", ["open()", "ask('Does it walk?')", "on('reply', () => {})"])
def test_a_removed_widget_does_nothing_and_says_why(tab: Tab, page: Page, call: str) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.evaluate("window.removed = Bookbound; removed.unmount(); removed.unmount(); removed.close()")
    message = "Error: This widget was removed from the page. Call mount again."
    assert page.evaluate(CATCH, f"removed.{call}") == message
    expect(page.locator("#bookbound-widget")).to_have_count(0)
    assert (sent, tab.problems) == ([], [])


def test_a_page_has_one_widget_however_often_it_is_included(tab: Tab, site: BookSite, server: str) -> None:
    tag = f'<script src="{server}/widget.js" data-position="left" defer></script>'
    warnings: list[str] = []
    tab.page.on("console", lambda message: warnings.append(message.text) if message.type == "warning" else None)
    page = tab.page
    page.goto(site.add("/twice", "<p>Some words.</p>", server, script=tag + tag.replace("left", "right")))
    page.wait_for_function("Boolean(window.Bookbound)")
    page.wait_for_load_state("load")
    expect(page.locator("#bookbound-widget")).to_have_count(1)
    expect(page.locator(".root.left")).to_have_count(1)
    assert warnings == ["Bookbound is already on this page. Remove one of its script tags."]


def test_a_mounted_widget_replaces_that_of_the_tag(tab: Tab, site: BookSite, server: str) -> None:
    tag = f'<script src="{server}/widget.js" data-position="left" defer></script>'
    page = tab.page
    page.goto(site.add("/both", "<p>Some words.</p>", server, script=tag + MODULE.format(server)))
    page.wait_for_function("Boolean(window.mount && window.Bookbound)")
    page.evaluate("(server) => { window.mounted = mount({ server }) }", server)
    expect(page.locator("#bookbound-widget")).to_have_count(1)
    expect(page.locator(".root.right")).to_have_count(1)
    assert page.evaluate("Bookbound === mounted")
    assert tab.problems == []


def test_storage_that_the_browser_blocks_breaks_nothing(tab: Tab, site: BookSite, server: str) -> None:
    tab.page.add_init_script(NO_STORAGE)
    tab.open(site.add("/blocked", "<p>Some words.</p>", server))
    tab.ask("Does it walk?")
    expect(tab.page.locator(".reply.answered")).to_be_visible()
    assert tab.problems == []


@pytest.mark.parametrize("key", ["🎉", "schlüssel", "a key"])
def test_a_key_that_no_key_can_be_is_not_a_server_that_cannot_be_reached(
    tab: Tab, site: BookSite, server: str, key: str
) -> None:
    tab.open(site.add("/key", "<p>Some words.</p>", server, attributes={"key": key}))
    tab.ask("Does it walk?")
    assert "may not ask this book" in tab.page.locator(".reply.problem").inner_text()
    assert tab.problems == [
        "Bookbound: `key` (in a script tag `data-key`) is not valid: keys have only letters, digits and signs "
        "of ASCII. Copy it again."
    ]


def test_a_wrong_server_address_is_named_in_the_console(tab: Tab, site: BookSite, server: str) -> None:
    tab.page.goto(site.add("/server", "<p>Some words.</p>", server, attributes={"server": "javascript:1"}))
    tab.page.wait_for_load_state("load")
    expect(tab.page.locator("#bookbound-widget")).to_have_count(0)
    assert tab.problems == [
        "Bookbound needs the address of its server: set `server` (in a script tag `data-server`) "
        "to an https:// address."
    ]


@pytest.mark.parametrize(
    "end", ["<input value=words><iframe srcdoc='<p>In a frame'></iframe><p>The end.</p>", "🎉" * 9]
)
def test_a_whole_page_can_be_asked_about_up_to_the_limit_of_the_server(
    tab: Tab, site: BookSite, server: str, end: str
) -> None:
    words = "".join(f"<p>Line {n} of a long page. 🎉</p>" for n in range(600))
    asked = script_replies(tab.page, make_reply())
    tab.page.goto(site.add("/whole", words + end, server))
    tab.page.wait_for_function("Boolean(window.Bookbound)")
    tab.page.keyboard.press("Control+A")
    tab.page.locator(".ask-selection").click()
    expect(tab.page.locator(".chip")).to_contain_text("Only the first 10,000 characters are sent.")
    tab.ask("What is this about?")
    (body,) = asked
    assert len(body["selection"]) == MAX_SELECTION_CHARS
    json.dumps(body).encode()
    assert body["selection"].startswith("Line 0")


def test_a_long_selection_of_a_script_is_cut_too(page: Page) -> None:
    asked = script_replies(page, make_reply())
    page.evaluate("Bookbound.ask('What is this about?', '🎉'.repeat(12000))")
    assert asked[0]["selection"] == "🎉" * MAX_SELECTION_CHARS
