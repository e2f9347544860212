"""Tests the author's page at `/report` in a real Chromium, on a log that real questions wrote."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect
from tests.server.page.conftest import NO_STORAGE, Tab
from tests.server.page.test_widget_in_browser import AXE, AXE_TAGS
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository
from tests.server.server_process import run_fast_server
from tests.server.test_index_routes import add_key

from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.server.api_keys import KeyKind
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings

SERVERS = ("report_server", "changing_server", "several_books_server")
HORN = "# Horn\n\n## Sound\n\nThe horn of the lighthouse sounds {} times in thick fog.\n"
GONG = "# Gong\n\nThe gong is made of bronze.\n"
ANSWERED = "How many times does the horn of the lighthouse sound in thick fog?"
REFUSED = ("Who won the football world cup?", "Who was the winner of the football world cup?")
MARKUP = "<img src=x onerror=alert(1)> Is pasta healthy?"


FIGURES = {"Questions": "5", "Answered": "2", "Unsure": "0", "Refused": "3", "Helpful": "50\u00a0%"}
INDEXING_MILLISECONDS = 120_000


class ReportServer(NamedTuple):
    address: str
    key: str
    source: Path


class Questioner:
    """Asks the server and votes as a reader does."""

    def __init__(self, address: str) -> None:
        self._address = address

    def post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read() or b"null")

    def ask(self, question: str) -> Any:
        return self.post("/v1/answers", {"question": question})

    def wait_for_log(self, key: str, count: int) -> None:
        """Wait until the questions are logged, which happens a moment after their replies."""
        request = urllib.request.Request(f"{self._address}/v1/report", headers={"X-API-Key": key})
        deadline, asked = time.monotonic() + 60, -1
        while asked != count:
            assert time.monotonic() < deadline, f"{asked} questions are logged"
            with urllib.request.urlopen(request, timeout=60) as response:
                asked = json.load(response)["questions"]["asked"]

    def wait_for_answer(self, words: str) -> None:
        """Wait until answers come from another generation, which the server opens within a second or two."""
        deadline = time.monotonic() + 60
        while words not in (answer := self.ask(ANSWERED)["answer"]):
            assert time.monotonic() < deadline, answer
            time.sleep(0.2)


def index_twice(folder: Path) -> tuple[Settings, Path]:
    """A book with two generations: its horn sounded two times, and now sounds three times."""
    (source := folder / "book").mkdir()
    (source / "gong.md").write_text(GONG)
    settings = Settings(index=folder / "index")
    for number in ("two", "three"):
        (source / "horn.md").write_text(HORN.format(number))
        bootstrap.index_book(source, settings)
    return settings, source


@pytest.fixture(scope="module")
def report_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportServer]:
    """A server that readers have asked and voted on."""
    settings, source = index_twice(tmp_path_factory.mktemp("report"))
    key = add_key(settings, KeyKind.ADMIN)[1]
    with run_fast_server(settings.index, BOOKBOUND_SOURCE=str(source)) as address:
        reader = Questioner(address)
        for vote in ("up", "down"):
            reply = reader.ask(ANSWERED)
            assert (reply["status"], "three times" in reply["answer"]) == ("answered", True)
            reader.post("/v1/votes", {"request_id": reply["request_id"], "vote": vote})
        for question in (*REFUSED, MARKUP):
            assert reader.ask(question)["status"] == "refused"
        reader.wait_for_log(key, 5)
        yield ReportServer(address, key, source)


@pytest.fixture(scope="module")
def changing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportServer]:
    """A server whose index the tests change."""
    settings, source = index_twice(tmp_path_factory.mktemp("changing"))
    key = add_key(settings, KeyKind.ADMIN)[1]
    with run_fast_server(settings.index, BOOKBOUND_SOURCE=str(source)) as address:
        yield ReportServer(address, key, source)


@pytest.fixture(scope="module")
def several_books_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportServer]:
    """A server of two books, one with two editions, whose log has questions to both; it knows no source."""
    folder = tmp_path_factory.mktemp("several")
    settings = Settings(index=folder / "index")
    for name, edition in (("ants", "1.0"), ("ants", "2.0"), ("bees", "")):
        (source := folder / f"edition {edition}" / name).mkdir(parents=True)
        (source / "life.md").write_text(f"# Life of {name}\n\nThe life of {name} is short.\n")
        bootstrap.index_book(source, settings.with_book(BookRef(name, edition)))
    with closing(make_repository(None, log_folder(settings.index))) as repository:
        repository.write(
            [
                make_entry("How long do ants live?", book_ref=BookRef("ants", "2.0")),
                make_refused_entry("Do ants sing?", book_ref=BookRef("ants", "1.0")),
                make_refused_entry("Do bees sing?", book_ref=BookRef("bees")),
            ]
        )
    key = add_key(settings, KeyKind.ADMIN)[1]
    with run_fast_server(settings.index, BOOKBOUND_BOOK="ants", BOOKBOUND_ACCESS_MODE="keys") as address:
        yield ReportServer(address, key, folder)


def sign_in(tab: Tab, server: ReportServer, place: str = "") -> Page:
    tab.page.goto(f"{server.address}/report{place}")
    tab.page.get_by_label("Admin key").fill(server.key)
    tab.page.get_by_label("Admin key").press("Enter")
    tab.page.locator("#bb-data > *").first.wait_for()
    tab.page.locator("#bb-index").wait_for()
    return tab.page


def read_table(page: Page, title: str) -> list[list[str]]:
    """The rows of the table next to a plot, newest day first."""
    plot = page.locator(f"[data-plot='{title}']")
    plot.locator("summary").click()
    return [row.locator("th, td").all_inner_texts() for row in plot.locator("tbody tr").all()]


def test_a_wrong_key_is_refused_and_the_right_one_stays_in_this_tab(tab: Tab, report_server: ReportServer) -> None:
    urls: list[str] = []
    tab.page.on("request", lambda request: urls.append(request.url))
    page = tab.page
    page.goto(f"{report_server.address}/report")
    for wrong in ("bookbound_admin_wrong", "schlüssel"):
        page.get_by_label("Admin key").fill(wrong)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#bb-key-problem")).to_contain_text("This key is not valid")
        assert page.locator("#bb-signed-in").is_hidden()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0
    sign_in(tab, report_server)
    page.reload()
    page.locator("[data-plot]").first.wait_for()
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    assert all(url.startswith(report_server.address) and report_server.key not in url for url in urls)
    other = tab.new_page()
    other.goto(f"{report_server.address}/report")
    expect(other.get_by_label("Admin key")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin key")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    assert page.locator("#bb-data").inner_text() == ""


def test_an_author_can_sign_in_and_out_if_the_browser_blocks_storage(tab: Tab, report_server: ReportServer) -> None:
    tab.page.add_init_script(NO_STORAGE)
    page = sign_in(tab, report_server)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin key")).to_be_focused()
    assert tab.problems == []


def test_a_key_that_could_not_be_checked_does_not_sign_in(tab: Tab, changing_server: ReportServer) -> None:
    page = tab.page
    page.route("**/v1/index/reindex", lambda route: route.fulfill(status=503, body="busy"))
    page.goto(f"{changing_server.address}/report")
    page.get_by_label("Admin key").fill("unchecked")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#bb-key-problem")).to_contain_text("Try again")
    assert page.locator("#bb-signed-in").is_hidden()
    assert page.evaluate("sessionStorage.length") == 0


def test_an_address_that_names_no_book_shows_the_default_one_and_signing_out_clears_it(
    tab: Tab, changing_server: ReportServer
) -> None:
    page = sign_in(tab, changing_server, "#%")
    expect(page.locator("h1:visible")).to_have_text("What readers ask Book")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin key")).to_be_visible()
    assert page.title() == "Report"
    assert str(changing_server.source) not in page.locator("main").text_content()  # type: ignore[operator]


def test_a_refusal_of_one_request_is_shown_and_keeps_the_reader_signed_in(
    tab: Tab, changing_server: ReportServer
) -> None:
    page = sign_in(tab, changing_server)
    refusal = {"error": {"message": "Not from this site."}}
    page.route("**/v1/report?*", lambda route: route.fulfill(status=403, json=refusal))
    page.get_by_label("Period").select_option("Last 7 days")
    expect(page.locator("#bb-problem")).to_have_text("Not from this site.")
    expect(page.locator("#bb-signed-in")).to_be_visible()


def test_figures_plots_and_tables_show_what_was_asked(tab: Tab, report_server: ReportServer) -> None:
    page = sign_in(tab, report_server)
    expect(page.locator("h1:visible")).to_have_text("What readers ask Book")
    figures = [page.locator(f"[data-figure={name}] strong").inner_text() for name in FIGURES]
    assert dict(zip(FIGURES, figures, strict=True)) == FIGURES
    assert read_table(page, "Questions by day")[0][1:] == ["2", "0", "3"]
    assert read_table(page, "Votes by day")[0][1:] == ["1", "1"]
    assert all(cell.endswith("s") for cell in read_table(page, "Time of a reply")[0][1:])
    bars = page.locator("[data-plot='Questions by day'] svg")
    assert "5 in 31 days" in (bars.get_attribute("aria-label") or "")
    heights = {name: bars.locator(f".fill-{name}").bounding_box()["height"] for name in ("answered", "refused")}  # type: ignore[index]
    assert heights["refused"] / heights["answered"] == pytest.approx(1.5, rel=0.05)
    assert "2 answered, 0 unsure, 3 refused" in (bars.locator(".day title").text_content() or "")
    assert page.locator("[data-plot='Time of a reply'] circle").count() == 2
    assert page.locator(".chapters-most li").all_inner_texts() == ["Horn\n2"]
    assert page.locator(".never li").all_inner_texts() == ["Gong"]
    assert page.locator(".unhelpful .question").all_inner_texts() == [ANSWERED]
    assert tab.problems == []


def test_unanswered_questions_are_grouped_and_their_markup_is_text(tab: Tab, report_server: ReportServer) -> None:
    page = sign_in(tab, report_server)
    tab.page.on("dialog", lambda dialog: tab.problems.append(dialog.message))
    groups = page.locator(".groups > li")
    assert groups.locator(".count").all_inner_texts() == ["2×", "1×"]
    groups.first.locator("summary").click()
    shown = [groups.first.locator(".question").inner_text(), groups.first.locator("ul li").inner_text()]
    assert sorted(shown) == sorted(REFUSED)
    assert groups.nth(1).locator(".question").inner_text() == MARKUP
    assert page.locator("#bb-data img").count() == 0
    assert tab.problems == []


def test_another_period_is_chosen_by_keyboard(tab: Tab, report_server: ReportServer) -> None:
    page = sign_in(tab, report_server)
    page.get_by_label("Period").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-plot='Questions by day'] svg")).to_have_attribute(
        "aria-label", re.compile("5 in 8 days")
    )
    assert tab.problems == []


def test_a_rollback_needs_a_confirmation_and_changes_the_generation_that_answers(
    tab: Tab, changing_server: ReportServer
) -> None:
    reader = Questioner(changing_server.address)
    reader.wait_for_answer("three times")
    page = sign_in(tab, changing_server)
    roll_back = page.locator("#bb-generations").get_by_role("button")
    roll_back.press("Enter")
    expect(page.get_by_role("dialog", name="Roll back the index?")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(roll_back).to_be_focused()
    roll_back.click()
    page.get_by_role("button", name="Cancel").click()
    assert page.locator("#bb-generations li").count() == 2
    assert "three times" in reader.ask(ANSWERED)["answer"]
    roll_back.click()
    page.get_by_role("button", name="Roll back", exact=True).click()
    expect(page.locator("#bb-index-status")).to_contain_text("Answers now come from the index of")
    expect(page.locator("#bb-generations li")).to_have_count(1)
    reader.wait_for_answer("two times")
    assert tab.problems == []


def test_a_new_index_needs_a_confirmation_and_is_answered_from(tab: Tab, changing_server: ReportServer) -> None:
    page = sign_in(tab, changing_server)
    before = page.locator("#bb-generations li").count()
    (changing_server.source / "horn.md").write_text(HORN.format("seven"))
    start = page.get_by_role("button", name="Re-index…")
    start.click()
    page.get_by_role("button", name="Cancel").click()
    expect(start).to_be_enabled()
    assert page.locator("#bb-progress").is_hidden()
    start.click()
    page.get_by_role("button", name="Re-index", exact=True).click()
    expect(page.locator("#bb-progress")).to_be_visible()
    expect(start).to_be_disabled()
    status = page.locator("#bb-index-status")
    expect(status).to_contain_text("A new index is published: 1 page changed.", timeout=INDEXING_MILLISECONDS)
    expect(page.locator("#bb-generations li")).to_have_count(before + 1)
    Questioner(changing_server.address).wait_for_answer("seven times")
    assert tab.problems == []


def test_a_failed_index_says_why_and_the_old_one_stays(tab: Tab, changing_server: ReportServer) -> None:
    page = sign_in(tab, changing_server)
    before = page.locator("#bb-generations").inner_text()
    moved = changing_server.source.rename(changing_server.source.with_name("moved"))
    try:
        page.get_by_role("button", name="Re-index…").click()
        page.get_by_role("button", name="Re-index", exact=True).click()
        problem = page.locator("#bb-index-problem")
        expect(problem).to_contain_text("the index stayed as it was", timeout=INDEXING_MILLISECONDS)
        assert page.locator("#bb-generations").inner_text() == before
        page.reload()
        expect(problem).to_contain_text("the index stayed as it was")
    finally:
        moved.rename(changing_server.source)
    assert tab.problems == []


def test_each_book_and_edition_has_its_report(tab: Tab, several_books_server: ReportServer) -> None:
    page = sign_in(tab, several_books_server)
    books = page.locator("#bb-book")
    assert books.locator("option").all_inner_texts() == [
        "Ants",
        "Ants, edition 2.0",
        "Ants, edition 1.0",
        "Bees",
        "All books",
    ]
    for name, title, asked in (
        ("Bees", "What readers ask Bees", "1"),
        ("Ants, edition 1.0", "What readers ask Ants, edition 1.0", "1"),
        ("All books", "What readers ask all books", "3"),
        ("Ants", "What readers ask Ants", "2"),
        ("Bees", "What readers ask Bees", "1"),
    ):
        books.select_option(name)
        expect(page.locator("h1:visible")).to_have_text(title)
        expect(page.locator("[data-figure=Questions] strong")).to_have_text(asked)
        expect(page.locator("#bb-index")).to_be_visible(visible=name != "All books")
    page.reload()
    expect(page.locator("h1:visible")).to_have_text("What readers ask Bees")
    expect(page.locator("#bb-source")).to_contain_text("set `source`")
    assert page.get_by_role("button", name="Re-index…").is_hidden()
    assert tab.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_the_report_is_accessible_and_fits_in_every_width(
    new_tab: Any, report_server: ReportServer, scheme: str, width: int
) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed. Install it: npm --prefix widget install --no-save")
    tab: Tab = new_tab(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = tab.page
    page.goto(f"{report_server.address}/report")
    found = run_axe(page)
    sign_in(tab, report_server)
    for summary in page.locator("summary").all():
        summary.click()
    found += run_axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator("#bb-generations").get_by_role("button").first.click()
    found += run_axe(page)
    assert found == [], json.dumps(found, indent=1)


def run_axe(page: Page) -> list[Any]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "(tags) => axe.run(document, { runOnly: tags }).then((result) => result.violations)"
    return [(each["id"], each["nodes"][0]["target"]) for each in page.evaluate(run, AXE_TAGS)]
