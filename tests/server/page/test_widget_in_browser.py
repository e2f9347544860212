"""Tests the widget in a real Chromium, on a site whose book the real server answers from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.server.page.book_site import BookSite, render_markdown
from tests.server.page.conftest import Tab

SERVERS = ("book_server",)
QUESTION = "What are the three parts of a strain wave gear?"
OFF_TOPIC = "Who won the 2022 football world cup?"
ANATOMY, INTRO = "/docs/foundations/anatomy", "/docs"
AXE = Path(__file__).resolve().parents[3] / "widget" / "node_modules" / "axe-core" / "axe.min.js"
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
HIGHLIGHTED = "() => [...(CSS.highlights.get('bookbound-quote') ?? [])].map(String)"


@pytest.fixture(scope="module")
def anatomy(site: BookSite, book_server: str, example_book: Path) -> str:
    """The URL of a page that the answer cites."""
    content = render_markdown(example_book / "docs" / "01-foundations" / "02-anatomy-of-a-humanoid.md")
    return site.add(ANATOMY, content, book_server, strict=True)


@pytest.fixture(scope="module")
def intro(site: BookSite, book_server: str, example_book: Path) -> str:
    return site.add(INTRO, render_markdown(example_book / "docs" / "intro.md"), book_server, strict=True)


def select_words(tab: Tab, words: str) -> None:
    """Select a paragraph that contains some words, as a reader does with the keyboard."""
    tab.page.evaluate(
        """(words) => {
          const paragraph = [...document.querySelectorAll("main p")].find((each) => each.textContent.includes(words));
          paragraph.scrollIntoView({ block: "center" });
          getSelection().selectAllChildren(paragraph);
        }""",
        words,
    )


def test_an_answer_quotes_the_book_and_cites_its_place(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    tab.ask(QUESTION)
    assert "circular spline" in page.locator(".reply.answered").inner_text()
    assert page.locator(".sources .path").first.inner_text().endswith("Actuators › Strain wave gears")
    page.locator("a.cite").first.hover()
    assert "an elliptical wave generator" in page.locator(".popover").inner_text()
    assert "Strain wave gears" in page.locator(".popover").inner_text()
    assert tab.problems == []


def test_a_citation_of_this_page_scrolls_to_the_words_and_highlights_them(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    tab.ask(QUESTION)
    before = page.evaluate("document.body.innerHTML.length")
    page.locator("a.cite").first.click()
    (first, *_) = page.evaluate(HIGHLIGHTED)
    assert first.startswith("A strain wave gear, often called")
    assert first.endswith("circular spline")
    assert page.url == f"{anatomy}#strain-wave-gears"
    page.wait_for_timeout(1000)  # it scrolls smoothly
    top = page.evaluate("[...CSS.highlights.get('bookbound-quote')][0].getBoundingClientRect().top")
    assert 0 <= top <= 800
    assert page.evaluate("document.body.innerHTML.length") == before
    assert page.locator(".panel").is_visible()


def test_a_citation_of_another_page_opens_it_and_the_conversation_goes_along(
    tab: Tab, intro: str, anatomy: str
) -> None:
    page = tab.open(intro)
    tab.ask(QUESTION)
    link = page.locator("a.cite").first.get_attribute("href") or ""
    assert link.startswith(f"{anatomy}#strain-wave-gears:~:text=")
    page.locator("a.cite").first.click()
    page.wait_for_url(lambda url: url.startswith(f"{anatomy}#strain-wave-gears"))
    assert "circular spline" in page.locator(".reply.answered").inner_text()
    other = tab.new_page()
    other.goto(anatomy)
    other.locator(".launcher").click()
    assert other.locator(".turn").count() == 0
    assert other.locator(".welcome").is_visible()


def test_selected_text_is_asked_about_with_the_keyboard(tab: Tab, anatomy: str) -> None:
    tab.page.goto(anatomy)
    tab.page.locator(".launcher").wait_for()
    select_words(tab, "flexspline")
    tab.page.locator(".ask-selection").wait_for()
    tab.page.keyboard.press("Alt+a")
    assert "flexspline" in tab.page.locator(".chip").inner_text()
    tab.ask("How many teeth more does the ring have than the cup?")
    assert tab.page.locator(".selection-place").inner_text().endswith("Strain wave gears")
    assert "two teeth" in tab.page.locator(".reply").inner_text()
    assert tab.page.locator(".chip").is_hidden()


def test_selected_text_is_offered_next_to_the_mouse_and_can_be_removed(tab: Tab, anatomy: str) -> None:
    tab.page.goto(anatomy)
    tab.page.locator(".launcher").wait_for()
    tab.page.get_by_text("likes to spin fast with little torque").click(click_count=3)
    tab.page.locator(".ask-selection").click()
    assert "brushless" in tab.page.locator(".chip").inner_text()
    tab.page.get_by_role("button", name="Remove the selected text").click()
    assert tab.page.locator(".chip").is_hidden()


def test_selected_text_is_offered_to_a_finger(new_tab: Any, anatomy: str) -> None:
    page = new_tab(viewport={"width": 390, "height": 800}, has_touch=True).page
    page.goto(anatomy)
    page.locator("main p").first.tap()
    # As the handles of a phone do.
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main p'))")
    page.locator(".ask-selection").tap()
    assert page.locator("main p").first.inner_text() in page.locator(".chip").inner_text()


def test_a_refusal_does_not_look_like_an_answer(tab: Tab, anatomy: str) -> None:
    tab.open(anatomy)
    tab.ask(OFF_TOPIC)
    assert tab.page.locator(".reply.refused .label").inner_text() == "No answer in this book"
    assert tab.page.locator(".reply.answered, a.cite").count() == 0


def test_a_note_comes_before_an_answer_about_the_book_and_instead_of_the_refusal_of_a_greeting(
    tab: Tab, anatomy: str
) -> None:
    page = tab.open(anatomy)
    tab.ask("hello")
    assert page.locator(".reply").inner_text().startswith("Hello! Ask me anything that")
    tab.ask("What is this book about?")
    assert page.locator(".reply.answered .note").first.inner_text().startswith("From the opening of")


def test_everything_works_with_the_keyboard_alone(tab: Tab, anatomy: str) -> None:
    page = tab.page
    page.goto(anatomy)
    page.locator(".launcher").focus()
    page.keyboard.press("Enter")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    tab.wait()
    assert "circular spline" in page.locator("[role=status]").inner_text()
    page.keyboard.press("Shift+Tab")
    for _ in range(12):
        if page.locator("a.cite:focus").count():
            break
        page.keyboard.press("Shift+Tab")
    assert page.locator(".popover").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".popover").is_hidden()
    page.keyboard.press("Enter")
    assert page.evaluate(HIGHLIGHTED)
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_hidden()
    assert page.locator(".launcher:focus").count() == 1


def test_typing_a_question_triggers_no_shortcut_of_the_site(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    page.evaluate("window.keys = []; document.addEventListener('keydown', (event) => keys.push(event.key))")
    page.keyboard.type("s/")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+k")
    assert page.evaluate("keys") == ["Control", "k"]
    assert page.locator("textarea").input_value() == "s/"
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    assert page.evaluate("keys.at(-1)") == "s"


def test_a_narrow_screen_shows_a_modal_panel_without_overflow(new_tab: Any, anatomy: str) -> None:
    tab: Tab = new_tab(viewport={"width": 320, "height": 640})
    page = tab.open(anatomy)
    tab.ask(QUESTION)
    assert page.locator(".panel").get_attribute("aria-modal") == "true"
    assert page.locator(".panel").bounding_box() == {"x": 0, "y": 0, "width": 320, "height": 640}
    assert page.locator(".log").evaluate("(log) => log.scrollWidth <= log.clientWidth")
    for _ in range(30):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "bookbound-widget"
    page.locator("a.cite").first.click()
    assert page.locator(".panel").is_hidden()
    assert page.evaluate(HIGHLIGHTED)


def test_a_finger_sees_the_quote_with_the_first_tap_and_goes_there_with_the_second(new_tab: Any, anatomy: str) -> None:
    tab: Tab = new_tab(viewport={"width": 390, "height": 800}, has_touch=True)
    tab.page.goto(anatomy)
    tab.page.locator(".launcher").tap()
    tab.ask(QUESTION)
    cite = tab.page.locator("a.cite").first
    cite.tap()
    assert "elliptical wave generator" in tab.page.locator(".popover").inner_text()
    assert tab.page.evaluate(HIGHLIGHTED) == []
    cite.tap()
    assert tab.page.locator(".panel").is_hidden()
    assert tab.page.evaluate(HIGHLIGHTED)


@pytest.mark.parametrize(
    ("html", "style", "accent", "scheme"),
    [
        ('lang="en" data-theme="dark"', ":root{--ifm-color-primary:#25c2a0}", "rgb(37, 194, 160)", "dark"),
        ('lang="en" data-theme="light"', ":root{--ifm-color-primary:#2e8555}", "rgb(46, 133, 85)", "light"),
        ('lang="en" data-md-color-scheme="slate"', ":root{--md-primary-fg-color:#7e56c2}", "rgb(126, 86, 194)", "dark"),
        ('lang="en"', "body{background:#111}", "rgb(52, 87, 213)", "dark"),
    ],
)
def test_the_widget_follows_the_colours_of_the_site(
    tab: Tab, site: BookSite, book_server: str, html: str, style: str, accent: str, scheme: str
) -> None:
    url = site.add("/colours", "<p>A page.</p>", book_server, html=html, style=style)
    tab.page.goto(url)
    assert tab.page.locator(".launcher").evaluate("(each) => getComputedStyle(each).backgroundColor") == accent
    assert tab.page.locator("#bookbound-widget").get_attribute("data-scheme") == scheme


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_site_without_colours_gets_those_of_the_browser(new_tab: Any, anatomy: str, scheme: str) -> None:
    tab: Tab = new_tab(color_scheme=scheme)
    tab.page.goto(anatomy)
    tab.page.locator(f"#bookbound-widget[data-scheme={scheme}]").wait_for(state="attached")


def test_nothing_moves_for_readers_who_want_no_motion(new_tab: Any, anatomy: str) -> None:
    tab: Tab = new_tab(reduced_motion="reduce")
    page = tab.open(anatomy)
    assert page.locator(".panel").evaluate("(panel) => getComputedStyle(panel).animationName") == "none"
    tab.ask(QUESTION)
    page.locator("a.cite").first.click()
    top = page.evaluate("[...CSS.highlights.get('bookbound-quote')][0].getBoundingClientRect().top")
    assert 0 <= top <= 800


def test_a_site_can_have_its_own_button(tab: Tab, site: BookSite, book_server: str) -> None:
    url = site.add("/own", "<button id=own>Ask</button>", book_server, attributes={"position": "none"}, strict=True)
    page = tab.page
    page.goto(url)
    assert page.locator(".launcher").is_hidden()
    page.locator("#own").focus()
    page.evaluate("Bookbound.open()")
    assert page.locator(".panel").is_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "own"


def test_the_widget_follows_a_change_of_the_theme(tab: Tab, site: BookSite, book_server: str) -> None:
    tab.page.goto(site.add("/colours", "<p>A page.</p>", book_server, html='lang="en" data-theme="light"'))
    tab.page.locator("#bookbound-widget[data-scheme=light]").wait_for(state="attached")
    tab.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    tab.page.locator("#bookbound-widget[data-scheme=dark]").wait_for(state="attached")


@pytest.mark.parametrize(
    ("language", "words", "direction"),
    [
        ("de-AT", "Das Buch befragen", "ltr"),
        ("es", "Pregunta al libro", "ltr"),
        ("ur", "کتاب سے پوچھیں", "rtl"),
        ("fr", "Ask the book", "ltr"),
    ],
)
def test_the_widget_speaks_the_language_of_its_tag(
    tab: Tab, site: BookSite, book_server: str, language: str, words: str, direction: str
) -> None:
    url = site.add("/language", "<p>A page.</p>", book_server, attributes={"language": language}, strict=True)
    tab.page.goto(url)
    assert tab.page.locator(".launcher").inner_text() == words
    assert tab.page.locator(".root").evaluate("(root) => getComputedStyle(root).direction") == direction


def test_a_book_in_another_script_is_asked_by_the_titles_of_its_chapters(
    tab: Tab, site: BookSite, book_server: str
) -> None:
    tab.open(site.add("/script", "<p>A page.</p>", book_server, attributes={"language": "ur"}, strict=True))
    expect(tab.page.locator(".suggestion").first).to_have_text("ROS 2")


def test_a_refusal_is_in_the_language_of_the_widget(tab: Tab, site: BookSite, book_server: str) -> None:
    tab.open(site.add("/refused", "<p>A page.</p>", book_server, attributes={"language": "ur"}, strict=True))
    tab.ask("Who won the 2022 football world cup?")
    expect(tab.page.locator(".reply.refused")).to_contain_text("یہ معلومات اس کتاب میں نہیں ہیں۔")


def test_the_attributes_set_colour_side_placeholder_and_questions(tab: Tab, site: BookSite, book_server: str) -> None:
    attributes = {"color": "#aa0000", "position": "left", "placeholder": "Ask away", "questions": "One? | Two?"}
    page = tab.open(site.add("/attributes", "<p>A page.</p>", book_server, attributes=attributes))
    assert page.locator(".suggestion").all_inner_texts() == ["One?", "Two?"]
    assert page.locator("textarea").get_attribute("placeholder") == "Ask away"
    assert page.locator(".send").evaluate("(each) => getComputedStyle(each).backgroundColor") == "rgb(170, 0, 0)"
    box = page.locator(".panel").bounding_box()
    assert box
    assert box["x"] == 20


def test_the_field_grows_with_the_question_and_shrinks_again(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    field = page.locator("textarea")

    def height() -> float:
        return float(field.evaluate("(field) => field.offsetHeight"))

    empty = height()
    assert empty >= 36
    field.fill("one line\nand another\nand a third")
    assert height() >= empty + 40
    field.fill("")
    assert height() == empty


def test_suggested_questions_come_from_the_chapters_of_the_book(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    page.locator(".suggestion").first.wait_for()
    assert page.locator(".suggestion").first.inner_text() == "What does the book say about ROS 2?"
    assert page.locator("#bb-title").inner_text() == "Physical AI: A Field Guide to Humanoid Robots"


def test_a_page_can_open_ask_and_listen(tab: Tab, anatomy: str) -> None:
    tab.page.goto(anatomy)
    tab.page.locator(".launcher").wait_for()
    seen = tab.page.evaluate(
        """async (question) => {
          const seen = [];
          for (const name of ["open", "ask", "reply", "close"]) Bookbound.on(name, () => seen.push(name));
          const stop = Bookbound.on("reply", () => seen.push("never"));
          stop();
          Bookbound.open();
          const reply = await Bookbound.ask(question);
          Bookbound.close();
          return [...seen, reply.status];
        }""",
        OFF_TOPIC,
    )
    assert seen == ["open", "ask", "reply", "close", "refused"]


def test_an_answer_is_copied_with_its_citations_and_the_conversation_is_cleared(new_tab: Any, anatomy: str) -> None:
    tab: Tab = new_tab(permissions=["clipboard-read", "clipboard-write"])
    page = tab.open(anatomy)
    tab.ask(QUESTION)
    page.get_by_role("button", name="Copy with sources").click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert "circular spline" in text
    assert re.search(r"^\[1\] .*Strain wave gears: http.*#strain-wave-gears$", text, re.MULTILINE)
    page.get_by_role("button", name="Clear the conversation").click()
    page.reload()
    page.locator(".welcome").wait_for()
    assert page.locator(".turn").count() == 0


def test_a_vote_is_stored_and_can_be_changed(tab: Tab, anatomy: str) -> None:
    page = tab.open(anatomy)
    tab.ask(QUESTION)
    with page.expect_response("**/v1/votes") as first:
        page.get_by_role("button", name="Helpful", exact=True).click()
    with page.expect_response("**/v1/votes") as second:
        page.get_by_role("button", name="Not helpful").click()
    assert (first.value.status, second.value.status) == (204, 204)
    assert json.loads(second.value.request.post_data or "").keys() == {"request_id", "vote"}
    expect(page.locator("[role=status]")).to_have_text("Thank you for your vote.")
    page.reload()
    expect(page.get_by_role("button", name="Not helpful")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("height", [1000, 720])
def test_the_words_behind_a_citation_need_no_scrolling(tab: Tab, site: BookSite, book_server: str, height: int) -> None:
    page = tab.open(site.add("/popover", "<h1>A chapter</h1>", book_server, attributes={"language": "ur"}))
    page.set_viewport_size({"width": 900, "height": height})
    tab.ask(QUESTION)
    page.locator("a.cite").first.hover()
    popover = page.locator("#bb-popover")
    expect(popover.locator("blockquote").first).to_be_visible()
    assert popover.evaluate("(box) => box.scrollHeight <= box.clientHeight")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ur"])
def test_axe_finds_no_violation(
    tab: Tab, site: BookSite, book_server: str, example_book: Path, theme: str, language: str
) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed. Install it: npm --prefix widget install --no-save")
    content = "<h1>A chapter</h1>" + render_markdown(example_book / "docs" / "intro.md")
    style = "[data-theme=dark] body{background:#1b1b1d;color:#eee} [data-theme=dark] a{color:#9cf}"
    attributes = {"language": language}
    html = f'lang="en" data-theme="{theme}"'
    page = tab.open(site.add("/axe", content, book_server, attributes=attributes, html=html, style=style))
    page.locator(".suggestion").first.wait_for()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "(tags) => axe.run(document, { runOnly: tags }).then((result) => result.violations)"
    violations = page.evaluate(run, AXE_TAGS)
    for question in (QUESTION, "Which actuator has high impact tolerance?", OFF_TOPIC):
        tab.ask(question)
    page.locator("a.cite").first.focus()
    violations += page.evaluate(run, AXE_TAGS)
    found = [(each["id"], each["nodes"][0]["target"], each["nodes"][0].get("failureSummary")) for each in violations]
    assert found == [], json.dumps(found, indent=1)
