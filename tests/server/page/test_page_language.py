"""Tests that pages have the language and the direction of their book."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.replies import make_block, make_place, make_reply
from tests.server.page.test_widget_in_browser import AXE, AXE_TAGS
from tests.server.page.test_widget_is_safe import script_replies
from tests.server.server_process import run_fast_server

from bookbound import bootstrap
from bookbound.server.page.book_page import detect_page_language
from bookbound.settings import Settings

SERVERS = ("urdu_server",)
URDU = "روبوٹ دو ٹانگوں پر چلتا ہے اور اس کے گھٹنے میں ایک موٹر ہوتی ہے۔ بیٹری ہر چار گھنٹے کے بعد بدلی جاتی ہے۔"
URDU_PAGE = f"""# روبوٹ کی کتاب

{URDU}

## حصے

| نام | وزن |
|---|---|
| Motor | 2 kg |
| بیٹری | 5 kg |
"""
COLUMNS = (".panel", "article", "#bb-contents")
URDU_HTML = 'lang="ur" dir="rtl"'
ALIGNED = """(cells) => cells.map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const [words, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
  return box.right - words.right < words.left - box.left + 1 ? "right" : "left";
})"""
LINE_HEIGHTS = """(each) => each.map((element) => {
  const { lineHeight, fontSize } = getComputedStyle(element);
  return parseFloat(lineHeight) / parseFloat(fontSize);
})"""


@pytest.fixture(scope="module")
def urdu_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("urdu")
    (folder / "book").mkdir()
    (folder / "book" / "index.md").write_text(URDU_PAGE, encoding="utf-8")
    bootstrap.index_book(folder / "book", Settings(index=folder / "index"))
    with run_fast_server(folder / "index", BOOKBOUND_ALLOWED_ORIGINS="*") as address:
        yield address


@pytest.mark.parametrize(
    ("text", "tag", "direction"),
    [
        ("The robot walks on two legs, and it is not fast.", "en", "ltr"),
        ("ros2 run `x`", "en", "ltr"),
        ("", "en", "ltr"),
        (
            "Der Roboter ist nicht schnell, und die Batterie wird mit dem Ladegerät des Herstellers geladen. " * 2,
            "de",
            "ltr",
        ),
        (URDU, "ur", "rtl"),
        ("يمشي الروبوت على ساقين وفي ركبته محرك واحد.", "ar", "rtl"),
        ("ربات روی دو پا راه می‌رود و در زانوی آن یک موتور بزرگ است.", "und", "rtl"),
        ("הרובוט הולך על שתי רגליים ויש לו מנוע בברך.", "he", "rtl"),
        ("Робот ходит на двух ногах, и в колене есть мотор.", "und", "ltr"),
        ("ロボットは二本の足で歩きます。膝にはモーターがあります。", "ja", "ltr"),
    ],
)
def test_the_language_and_the_direction_of_a_text_are_detected(text: str, tag: str, direction: str) -> None:
    assert detect_page_language(text) == (tag, direction)


@pytest.mark.parametrize("width", [1440, 320])
def test_a_book_from_right_to_left_is_shown_so(new_tab: Any, urdu_server: str, width: int) -> None:
    tab: Tab = new_tab(viewport={"width": width, "height": 800})
    page = tab.page
    page.goto(urdu_server)
    expect(page.locator("html")).to_have_attribute("lang", "ur")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator("#bookbound-widget .root[dir=rtl].left")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator("article :is(th, td)").evaluate_all(ALIGNED) == ["right"] * 6
    if width == 1440:
        lefts = [page.locator(each).evaluate("(box) => box.getBoundingClientRect().left") for each in COLUMNS]
        assert lefts == sorted(lefts)
    assert tab.problems == []


def test_axe_finds_no_violation_on_a_page_from_right_to_left(new_tab: Any, urdu_server: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed. Install it: npm --prefix widget install --no-save")
    page = new_tab(viewport={"width": 1440, "height": 900}, bypass_csp=True).page
    page.goto(urdu_server)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("(tags) => axe.run(document, { runOnly: tags })", AXE_TAGS)["violations"]
    assert [each["id"] for each in found] == []


def test_urdu_in_the_widget_has_room_and_its_tables_are_straight(tab: Tab, site: BookSite, urdu_server: str) -> None:
    table = make_block("table", header=["نام", "وزن"], rows=[["Motor", "2 kg"], ["بیٹری", "5 kg"]], sources=[1])
    sources = [make_place(number=1, path=["روبوٹ"], quotes=[URDU])]
    script_replies(tab.page, make_reply(blocks=[make_block(text=URDU), table], sources=sources))
    page = tab.open(site.add("/urdu", f"<p>{URDU}</p>", urdu_server, attributes={"questions": "وزن؟"}, html=URDU_HTML))
    page.locator(".suggestion").first.wait_for()
    rooms = page.locator(".greeting, .suggestion, textarea").evaluate_all(LINE_HEIGHTS)
    tab.ask("وزن؟")
    rooms += page.locator(".reply p, .place, td, .question p").evaluate_all(LINE_HEIGHTS)
    assert min(rooms) >= 2
    assert page.locator(".reply :is(th, td)").evaluate_all(ALIGNED) == ["right"] * 6


def test_a_table_has_the_direction_of_its_text_in_every_widget(tab: Tab, site: BookSite, urdu_server: str) -> None:
    table = make_block("table", header=["نام", "وزن"], rows=[["Motor", "2 kg"]])
    script_replies(tab.page, make_reply(blocks=[table]))
    page = tab.open(site.add("/english", "<p>Words.</p>", urdu_server))
    tab.ask("Weight?")
    assert page.locator(".reply :is(th, td)").evaluate_all(ALIGNED) == ["right"] * 4
