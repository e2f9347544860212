"""Tests the widget in a real Chromium on sites that load, copy or render their pages in ways of their own."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.replies import make_block, make_place, make_reply
from tests.server.page.test_widget_in_browser import HIGHLIGHTED
from tests.server.page.test_widget_is_safe import script_replies

CONTENT = "<h1>Walking</h1><p>A first line.</p><h2 id=legs>Legs</h2><p>It walks on two legs.</p>"
RENDERED_AGAIN = """<script>
  const content = document.querySelector("main").innerHTML;
  addEventListener("popstate", () => setTimeout(() => { document.querySelector("main").innerHTML = content; }));
</script>"""
WORDS = "<p id=words>It walks on two legs.</p>"
FOLDED = {
    "details": f"<details><summary>More</summary><details>{WORDS}</details></details>",
    "details of a script": f"<details onclick=\"event.preventDefault(); this.open = true; words.style.display = ''\">"
    f"<summary>More</summary>{WORDS.replace('<p', '<p style=display:none')}</details>",
    "roles": "<div><ul role=tablist><li role=tab>One</li><li role=tab onclick='two.hidden = false'>Two</li></ul>"
    f"<div><div role=tabpanel>One</div><div role=tabpanel id=two hidden>{WORDS}</div></div></div>",
    "names": "<b id=tab onclick='two.hidden = false'>Two</b>"
    f"<div role=tabpanel id=two aria-labelledby=tab hidden>{WORDS}</div>",
    "Material": "<style>.tabbed-block {display: none} #b:checked ~ div > :last-child {display: block}</style>"
    "<div class=tabbed-set><input type=radio name=x id=a checked><input type=radio name=x id=b>"
    "<div class=tabbed-labels><label for=a>One</label><label for=b>Two</label></div>"
    f"<div class=tabbed-content><div class=tabbed-block>One</div><div class=tabbed-block>{WORDS}</div></div></div>",
    "Sphinx Design": "<style>.sd-tab-content {display: none} #b:checked + label + div {display: block}</style>"
    "<input type=radio name=x id=a checked><label for=a>One</label><div class=sd-tab-content>One</div>"
    f"<input type=radio name=x id=b><label for=b>Two</label><div class=sd-tab-content>{WORDS}</div>",
}


def cite(tab: Tab, url: str, *links: str) -> None:
    """Let the server cite these links for the words about legs."""
    sources = [
        make_place(number=n, link=f"{link}:~:text=It", url=link, quotes=["It walks on two legs."])
        for n, link in enumerate(links, 1)
    ]
    text = "It walks on two legs."
    script_replies(
        tab.page, make_reply(blocks=[make_block(text=text, sources=list(range(1, len(links) + 1)))], sources=sources)
    )
    tab.open(url)
    tab.ask("How does it walk?")


def test_options_can_follow_the_address_of_the_script(tab: Tab, site: BookSite, server: str) -> None:
    options = "position=left&placeholder=Ask%20away&questions=One%3F%7CTwo%3F&book=robots%401.9"
    script = f'<script src="{server}/widget.js#{options}" data-placeholder="Ask me"></script>'
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.url))
    page = tab.open(site.add("/options", CONTENT, server, script=script))
    assert page.locator(".suggestion").all_inner_texts() == ["One?", "Two?"]
    assert page.locator("textarea").get_attribute("placeholder") == "Ask me"
    expect(page.locator(".root.left")).to_have_count(1)
    tab.ask("Does it walk?")
    assert f"{server}/books/robots%401.9/v1/answers" in sent


def test_a_copy_of_the_file_asks_the_server_of_its_attribute(tab: Tab, site: BookSite, server: str) -> None:
    source = f"{site.address}/assets/widget.js"
    tab.page.route(source, lambda route: route.fulfill(response=route.fetch(url=f"{server}/widget.js")))
    script = f'<script src="{source}" data-server="{server}" defer></script>'
    page = tab.open(site.add("/copy", CONTENT, server, script=script))
    tab.ask("Does it walk?")
    assert "It walks." in page.locator(".reply.answered").inner_text()


def test_a_site_that_renders_a_page_on_every_visit_keeps_the_highlight(tab: Tab, site: BookSite, server: str) -> None:
    url = site.add("/render", CONTENT + RENDERED_AGAIN, server)
    cite(tab, url, f"{url}#legs")
    tab.page.locator("a.cite").click()
    assert tab.page.url == f"{url}#legs"
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate(HIGHLIGHTED) == ["It walks on two legs."]
    tab.page.go_back()
    assert tab.page.url == url


@pytest.mark.parametrize("folded", FOLDED)
def test_words_that_are_folded_away_are_shown(tab: Tab, site: BookSite, server: str, folded: str) -> None:
    space = "<p style='height: 200vh'>A gap.</p>"
    url = site.add("/folded", f"{space}<h2 id=legs>Legs</h2>{FOLDED[folded]}{space}", server)
    cite(tab, url, f"{url}#legs")
    expect(tab.page.locator("#words")).to_be_hidden()
    tab.page.locator("a.cite").click()
    expect(tab.page.locator("#words")).to_be_in_viewport()


def test_a_citation_goes_to_the_heading_if_the_words_cannot_be_shown(tab: Tab, site: BookSite, server: str) -> None:
    url = site.add(
        "/unseen", f"<p style='height: 200vh'>A gap.</p><h2 id=legs>Legs</h2><div hidden>{WORDS}</div>", server
    )
    cite(tab, url, f"{url}#legs")
    tab.page.locator("a.cite").click()
    expect(tab.page.locator("#legs")).to_be_in_viewport()


@pytest.mark.parametrize(
    "replace",
    [
        "document.body.replaceChildren(document.createElement('main'))",
        "document.body = document.createElement('body')",
        "document.documentElement.replaceChild(document.createElement('body'), document.body)",
    ],
)
def test_the_widget_stays_when_the_site_replaces_the_body(tab: Tab, site: BookSite, server: str, replace: str) -> None:
    page = tab.open(site.add("/swap", CONTENT, server))
    tab.ask("Does it walk?")
    for _ in range(2):
        page.evaluate(f"() => void ({replace})")
        expect(page.locator("#bookbound-widget")).to_have_count(1)
    expect(page.locator(".turn")).to_have_count(1)
    page.evaluate("document.body.className = 'dark-mode'")
    page.locator("#bookbound-widget[data-scheme=dark]").wait_for(state="attached")
    tab.ask("Does it walk far?")
    assert tab.problems == []


@pytest.mark.parametrize(
    ("canonical", "here", "cited", "link"),
    [
        ("https://book.example/walking", "/walking", "https://book.example/walking#legs", "/walking#legs"),
        ("https://book.example/walking/", "/walking", "https://book.example/running/#far", "/running/#far"),
        ("https://book.example/v2/walking.html", "/walking", "https://book.example/v2/run.html#far", "/run.html#far"),
        ("https://book.example/stable/walking", "/latest/walking", "https://book.example/stable/run", "/latest/run"),
        ("https://book.example/en/", "/", "https://book.example/en/run", "/run"),
        ("https://book.example/en/", "/", "https://book.example/en/a%3Fb%23c?d=e%26f#g", "/a%3Fb%23c?d=e%26f#g"),
        ("https://book.example/v2/walking", "/walking", "https://book.example/v1/run", "https://book.example/v1/run"),
        ("https://book.example/other", "/walking", "https://book.example/other#a", "https://book.example/other#a"),
        ("https://book.example/walking", "/walking", "https://other.example/run", "https://other.example/run"),
        ("javascript:alert(1)", "/walking", "https://book.example/run", "https://book.example/run"),
    ],
)
def test_citations_stay_on_the_copy_of_the_site_that_names_its_original(
    tab: Tab, site: BookSite, server: str, canonical: str, here: str, cited: str, link: str
) -> None:
    head = f'<link rel="canonical" href="{canonical}">'
    cite(tab, site.add(here, CONTENT, server, head=head), cited)
    href = (tab.page.locator("a.cite").get_attribute("href") or "").partition(":~:")[0]
    assert href.removesuffix("#") == (site.address + link if link.startswith("/") else link)


def test_a_selection_that_is_longer_than_the_screen_is_offered_next_to_the_panel(
    tab: Tab, site: BookSite, server: str
) -> None:
    words = "".join(f"<p style='text-align: right'>Line {n} of a long page.</p>" for n in range(99))
    page = tab.open(site.add("/long", words, server))
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main'))")
    page.locator(".ask-selection").click()
    assert "Line 0" in page.locator(".chip").inner_text()


def test_the_last_question_is_in_view_on_the_next_page(new_tab: Any, site: BookSite, server: str) -> None:
    tab: Tab = new_tab(viewport={"width": 1200, "height": 480})
    url = site.add("/last", CONTENT, server)
    tab.open(url)
    for question in ("Does it walk?", "Does it run?", "Does it jump?"):
        tab.ask(question)
    tab.page.goto(url)
    expect(tab.page.locator(".question").last).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(
    "style",
    [
        "body { transform: scale(0.9) }",
        "body { zoom: 1.5 }",
        "html { zoom: 2; transform: rotate(3deg) } body { filter: blur(2px); opacity: 0.1; overflow: hidden }",
        "body { contain: strict; height: 50px } ::backdrop { background: black }",
    ],
)
def test_what_a_site_does_to_its_whole_page_does_not_move_the_widget(
    new_tab: Any, site: BookSite, server: str, style: str
) -> None:
    tab: Tab = new_tab(reduced_motion="reduce")
    page = tab.open(site.add("/plain", CONTENT, server))
    place = page.locator(".panel").bounding_box()
    page.goto(site.add("/moved", CONTENT, server, style=style))
    assert page.locator(".panel").bounding_box() == place
    assert (
        page.evaluate("getComputedStyle(document.querySelector('#bookbound-widget'), '::backdrop').display") == "none"
    )
    tab.ask("Does it walk?")
    page.evaluate("document.body.replaceChildren(document.createElement('main'))")
    expect(page.locator(".turn")).to_have_count(1)
    assert page.locator(".panel").bounding_box() == place
    assert tab.problems == []


@pytest.mark.parametrize(
    "style",
    [
        "* { all: unset }",
        "* { all: unset !important }",
        "div { display: none !important }",
        "body > * { visibility: hidden; pointer-events: none }",
    ],
)
def test_rules_of_the_site_do_not_reach_the_widget(tab: Tab, site: BookSite, server: str, style: str) -> None:
    page = tab.open(site.add("/ruled", "<p>A page.</p>", server, style=style))
    expect(page.locator("textarea")).to_be_focused()
    assert page.locator(".panel").evaluate("panel => getComputedStyle(panel).visibility") == "visible"


def test_a_vote_is_seen_in_forced_colours(new_tab: Any, site: BookSite, server: str) -> None:
    tab: Tab = new_tab(forced_colors="active")
    script_replies(tab.page, make_reply())
    tab.page.route("**/v1/votes", lambda route: route.fulfill(headers={"Access-Control-Allow-Origin": "*"}, json=None))
    page = tab.open(site.add("/forced", CONTENT, server))
    tab.ask("Does it walk?")
    page.get_by_role("button", name="Helpful", exact=True).click()
    width = "(button) => getComputedStyle(button).borderTopWidth"
    assert page.locator(".icon[aria-pressed=true]").evaluate(width) != page.locator(".icon").first.evaluate(width)


def test_a_question_that_is_sent_twice_at_once_is_answered_once(tab: Tab, site: BookSite, server: str) -> None:
    page = tab.open(site.add("/twice", CONTENT, server))
    statuses = page.evaluate(
        "Promise.all([1, 2].map(() => Bookbound.ask('Does it walk?'))).then((all) => all.map((each) => each?.status))"
    )
    assert statuses == [None, "answered"]
    expect(page.locator(".stopped")).to_have_count(1)
    expect(page.get_by_role("button", name="Send")).to_be_visible()
