"""Reads sites that several generators built from one small book."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from bookbound.domain.document import Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.html.built_site import is_html_source, read_html

SITES = Path(__file__).parents[1] / "sites"
Site = Callable[[dict[str, str]], Path]

# The headings of each page of the source, and the anchors that each generator makes of them.
HOME = ["# The Lamp Book", "## What is a lamp?", "## Who keeps it", "### Day keepers", "### Night keepers"]
PLAN = [
    "# The plan",
    "## Step one",
    "## Step two",
    "## Step three: test",
    "## FAQ",
    "### Is it safe?",
    "### Is it bright?",
]
OIL = ["# Oil", "## Kinds of oil", "## Storing oil", "## Formula", "## Notes"]
CLEAN = [
    "# Cleaning",
    "## Tools & cloths",
    "## The wick",
    "### Trimming",
    "### Trimming",
    "## Costs (2024)",
    "## Wie schön",
]
PLAN_ANCHORS = "step-one step-two step-three-test faq is-it-safe is-it-bright".split()
HOME_ANCHORS = "what-is-a-lamp who-keeps-it day-keepers night-keepers".split()

BUILT: dict[str, list[tuple[str, str, list[str], list[str]]]] = {
    "mkdocs": [
        ("https://lamps.example/book/", "The Lamp Book", HOME, ["the-lamp-book", *HOME_ANCHORS]),
        ("https://lamps.example/book/care/oil/", "Care", OIL, "oil kinds-of-oil storing-oil formula notes".split()),
        (
            "https://lamps.example/book/care/clean/",
            "Care",
            [*CLEAN, "## Résumé"],
            "cleaning tools-cloths the-wick trimming trimming_1 costs-2024 wie-schon resume".split(),
        ),
        ("https://lamps.example/book/wiring/plan/", "Wiring", PLAN, ["the-plan", *PLAN_ANCHORS]),
    ],
    "docusaurus": [
        ("https://lamps.example/book/", "The Lamp Book", HOME, ["", *HOME_ANCHORS]),
        (
            "https://lamps.example/book/care/oil",
            "Care",
            [*OIL[:3], OIL[4]],
            ["", "kinds-of-oil", "storing-oil", "notes"],
        ),
        (
            "https://lamps.example/book/care/clean",
            "Care",
            [*CLEAN, "## Own id"],
            ["", *"tools--cloths the-wick trimming trimming-1 costs-2024 wie-schön chosen".split()],
        ),
        ("https://lamps.example/book/wiring/plan", "Wiring", PLAN, ["", *PLAN_ANCHORS]),
    ],
    "sphinx": [
        ("https://lamps.example/book/index.html", "The Lamp Book", HOME, ["the-lamp-book", *HOME_ANCHORS]),
        ("https://lamps.example/book/care/oil.html", "Care", OIL, "oil kinds-of-oil storing-oil formula notes".split()),
        (
            "https://lamps.example/book/care/clean.html",
            "Care",
            CLEAN,
            "cleaning tools-cloths the-wick trimming id1 costs-2024 wie-schon".split(),
        ),
        ("https://lamps.example/book/wiring/plan.html", "Wiring", PLAN, ["the-plan", *PLAN_ANCHORS]),
    ],
    "mdbook": [
        ("/", "The Lamp Book", HOME, ["the-lamp-book", *HOME_ANCHORS]),
        ("/care/oil.html", "Care", [*OIL[:3], OIL[4]], "oil kinds-of-oil storing-oil notes".split()),
        (
            "/care/clean.html",
            "Cleaning",
            [*CLEAN[:2], *CLEAN[5:]],
            "cleaning tools--cloths costs-2024 wie-schön".split(),
        ),
        (
            "/care/wick.html",
            "Cleaning",
            ["# The wick", "## Trimming", "## Trimming"],
            "the-wick trimming trimming-1".split(),
        ),
        (
            "/wiring/plan.html",
            "Wiring",
            [*PLAN[:2], *PLAN[4:]],
            "the-plan step-one faq is-it-safe is-it-bright".split(),
        ),
    ],
}


def headings(page: Page) -> tuple[list[str], list[str]]:
    found = [block for block in page.blocks if block.kind == "heading"]
    words = [f"{'#' * block.level} {page.text[block.start : block.end]}" for block in found]
    return words, [block.anchor for block in found]


def page(book: ParsedBook, file: str) -> Page:
    return next(each for each in book.pages if each.file.startswith(file))


@pytest.mark.parametrize("name", BUILT)
def test_pages_have_the_order_urls_and_anchors_of_the_generator(name: str) -> None:
    book = parse_book(SITES / name)
    assert [(each.url, each.chapter, *headings(each)) for each in book.pages] == BUILT[name]
    assert sum(len(anchors) for _, _, _, anchors in BUILT[name]) >= 20
    assert (book.title, book.kind, [each.position for each in book.pages]) == (
        "The Lamp Book",
        "html",
        [*range(len(book.pages))],
    )


@pytest.mark.parametrize("name", [*BUILT, "furo", "jupyter"])
def test_only_the_text_of_the_book_is_read_and_every_block_is_in_order(
    name: str, faults: Callable[[Page], list[str]]
) -> None:
    book = parse_book(SITES / name)
    assert [fault for each in book.pages for fault in faults(each)] == []
    text = "\n".join(each.text for each in book.pages)
    for around in ("Previous", "Next", "Edit this page", "Search", "¶", "#", "Skip to", "Footer", "Copy", "Table of"):
        assert around not in text.replace("# one millimetre", "")
    assert "Never touch the glass while the lamp burns." in text or name == "mdbook"


@pytest.mark.parametrize("name", ["mkdocs", "docusaurus", "sphinx", "furo", "jupyter"])
def test_code_lists_tables_and_admonitions_are_blocks(name: str) -> None:
    clean = page(parse_book(SITES / name), "care/clean")
    blocks = {block.kind: clean.text[block.start : block.end] for block in reversed(clean.blocks)}
    assert blocks["code"].startswith("def trim(wick):\n    return wick[:-1]  # one millimetre")
    assert blocks["table"].endswith("Part | Price\nWick | 2\nGlass | 30")
    assert blocks["admonition"].endswith("\n\nNever touch the glass while the lamp burns.")
    assert clean.text.count("1. Take the glass off.\n2. Wipe it:\n  - inside\n  - outside\n3. Put it back.") == 1


@pytest.mark.parametrize("name", ["mkdocs", "sphinx"])
def test_formulas_and_notes_appear_once(name: str) -> None:
    oil = page(parse_book(SITES / name), "care/oil")
    assert "The flow is q = k h and in full:\n\nq = k \\cdot h^2\n\nNotes\n\nOil ages.\n\n" in oil.text
    assert oil.text.count("After two years.") == 1


def test_pages_that_repeat_or_list_others_are_left_out_and_reported() -> None:
    notices = {notice.file: (notice.message, notice.lost) for notice in parse_book(SITES / "mdbook").notices}
    assert notices == dict.fromkeys(("404.html", "print.html"), ("lists or repeats other pages; left out", False))
    assert {notice.file for notice in parse_book(SITES / "sphinx").notices} == {"genindex.html", "search.html"}


def test_a_site_is_detected_by_its_generator_or_its_pages(site: Site) -> None:
    assert all(is_html_source(SITES / name) for name in (*BUILT, "furo", "jupyter"))
    assert not is_html_source(SITES)
    root = site({"index.html": "<p>x", "b.html": "<p>y"})
    assert is_html_source(root)
    assert is_html_source(root / "b.html")
    for name in ("a.md", "b.md", "c.rst"):
        (root / name).write_text("words")
    assert not is_html_source(root)
    assert not is_html_source(root / "a.md")
    assert not is_html_source(root / "nothing")


def test_a_plain_site_has_the_order_of_its_navigation_then_of_its_names(site: Site) -> None:
    nav = "<nav><h3>Part</h3><ul><li><a href='/c.html'>C</a><li>Group<ul><li><a href=/a.html>A</a></ul></ul></nav>"
    root = site(
        {
            name: f"{nav}<main><h1>{name}</h1>x</main>"
            for name in ("index.html", "a.html", "c.html", "p10.html", "p2.html")
        }
    )
    book = read_html(root)
    assert [each.url for each in book.pages] == ["/", "/c.html", "/a.html", "/p2.html", "/p10.html"]
    assert [each.chapter for each in book.pages] == ["index.html", "Part", "Group", "p2.html", "p10.html"]


def test_all_folders_but_hidden_ones_belong_to_a_built_site(site: Site) -> None:
    root = site(dict.fromkeys(("index.html", "build/index.html", "book/a.html", ".git/a.html"), "<main>words"))
    assert {each.file for each in read_html(root).pages} == {"index.html", "build/index.html", "book/a.html"}


def test_one_html_file_is_a_book(site: Site) -> None:
    root = site({"a b.html": "<title>Lamps | Site</title><p>words"})
    book = read_html(root / "a b.html")
    assert [(each.url, each.title, each.text) for each in book.pages] == [("/a%20b.html", "Lamps", "words")]


def test_an_unreadable_page_is_lost_and_the_others_are_not(site: Site) -> None:
    root = site({"index.html": "<main>words", "deep.html": "<div>" * 100_000})
    (root / "link.html").symlink_to("/etc/hostname")
    with (root / "huge.html").open("wb") as file:
        file.truncate(30_000_000)
    book = read_html(root)
    assert [each.file for each in book.pages] == ["index.html"]
    assert {notice.file for notice in book.notices if notice.lost} == {"deep.html", "link.html", "huge.html"}


def test_the_error_for_a_site_without_text_says_what_to_do(site: Site) -> None:
    with pytest.raises(SourceError, match="Name the folder of a built site"):
        read_html(site({"index.html": "<main></main>"}))


def test_importing_sources_loads_no_html_parser_and_no_http_client() -> None:
    check = "import bookbound.sources, sys; sys.exit(str({'selectolax', 'httpx', 'protego'} & sys.modules.keys() or 0))"
    assert subprocess.run([sys.executable, "-c", check], check=False, capture_output=True).stderr in (b"", b"0\n")


@pytest.mark.parametrize("base", ["", "https://lamps.example/book/"])
def test_pages_with_similar_urls_are_all_read(site: Site, base: str) -> None:
    names = ["index.html", "index.htm", "a.html", "a.htm", "a/index.html", "index/index.html", "a b.html", "a%20b.html"]
    canonical = f"<link rel=canonical href='{base}{{0}}'>" if base else ""
    root = site({name: canonical.format(quote(name)) + f"<main><h1>{name}</h1>Words.</main>" for name in names})
    book = read_html(root)
    assert sorted(page.file for page in book.pages) == sorted(names)
    assert len({page.url for page in book.pages}) == len(names)
    assert book.notices == ()


def test_a_page_next_to_a_folder_of_its_name_is_read_with_a_search_index(site: Site) -> None:
    pages = {name: f"<main><h1>{name}</h1>Words.</main>" for name in ("index.html", "a.html", "a/index.html")}
    listed = [{"location": name, "title": name} for name in pages]
    book = read_html(site({**pages, "search/search_index.json": json.dumps({"docs": listed})}))
    assert [page.title for page in book.pages] == list(pages)
