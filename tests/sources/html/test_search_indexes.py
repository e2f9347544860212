"""Reads the search indexes in which generators list pages and headings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources import search_index_files
from tests.sources.search_index_files import Lines, make_inventory, wrap_mdbook_index

from bookbound.domain.document import ParsedBook
from bookbound.sources.html import search_index_formats
from bookbound.sources.html.built_site import read_html
from bookbound.sources.html.search_index_formats import (
    MAX_NESTED_VALUES,
    SearchIndexEntry,
    extract_members,
    parse_json_value,
    parse_search_index,
)
from bookbound.sources.html.search_indexes import (
    MAX_SEARCH_INDEX_BYTES,
    list_search_index_paths,
    load_search_indexes,
    merge_search_indexes,
)

SITES = Path(__file__).parents[1] / "sites"
Site = Callable[[dict[str, str]], Path]

# The entries of the search indexes in `sites`, in the order of each generator.
MKDOCS: Lines = [
    ("", "The Lamp Book", ""),
    ("", "What is a lamp?", "what-is-a-lamp"),
    ("", "Who keeps it", "who-keeps-it"),
    ("", "Day keepers", "day-keepers"),
    ("care/clean/", "Cleaning", ""),
    ("care/clean/", "Tools &amp; cloths", "tools-cloths"),
    ("care/clean/", "The wick", "the-wick"),
    ("care/clean/", "Trimming", "trimming"),
    ("care/clean/", "Trimming", "trimming_1"),
    ("care/clean/", "Wie schön", "wie-schon"),
    ("care/oil/", "Oil", ""),
    ("care/oil/", "Kinds of <em>oil</em>", "kinds-of-oil"),
    ("wiring/plan/", "The plan", ""),
    ("wiring/plan/", "Step three: test", "step-three-test"),
]
MDBOOK: Lines = [
    ("index.html", "The Lamp Book", "the-lamp-book"),
    ("index.html", "What is a lamp?", "what-is-a-lamp"),
    ("care/oil.html", "Oil", "oil"),
    ("care/oil.html", "Storing oil", "storing-oil"),
    ("care/clean.html", "Cleaning", "cleaning"),
    ("care/clean.html", "Tools & cloths", "tools--cloths"),
    ("care/clean.html", "Wie schön", "wie-schön"),
    ("care/wick.html", "The wick", "the-wick"),
    ("care/wick.html", "Trimming", "trimming"),
    ("care/wick.html", "Trimming", "trimming-1"),
    ("wiring/plan.html", "The plan", "the-plan"),
    ("wiring/plan.html", "Is it safe?", "is-it-safe"),
]
SPHINX: Lines = [
    ("care/clean", "Cleaning", ""),
    ("care/clean", "Tools & cloths", "tools-cloths"),
    ("care/clean", "Trimming", "trimming"),
    ("care/clean", "Trimming", "id1"),
    ("care/oil", "Oil", ""),
    ("care/oil", "Storing oil", "storing-oil"),
    ("index", "The Lamp Book", ""),
    ("index", "Who keeps it", "who-keeps-it"),
    ("wiring/plan", "The plan", ""),
    ("wiring/plan", "Is it bright?", "is-it-bright"),
]
INDEXES = {
    "mkdocs": ("search/search_index.json", search_index_files.mkdocs(MKDOCS)),
    "mdbook": ("searchindex-4a1b2c3d.js", wrap_mdbook_index(search_index_files.mdbook(MDBOOK))),
    "sphinx": ("searchindex.js", search_index_files.sphinx(SPHINX)),
}


def paged(name: str) -> str:
    return f"<html><body><main><h1>{name}</h1><p>Words.</p></main></body></html>"


def notices(book: ParsedBook) -> dict[str, tuple[str, bool]]:
    return {notice.file: (notice.message, notice.lost) for notice in book.notices}


@pytest.mark.parametrize("name", INDEXES)
def test_a_search_index_lists_the_pages_and_anchors_of_the_site(name: str, tmp_path: Path) -> None:
    root = shutil.copytree(SITES / name, tmp_path / name)
    file, text = INDEXES[name]
    (root / file).parent.mkdir(exist_ok=True)
    (root / file).write_text(text)
    book, without = read_html(root), read_html(SITES / name)
    assert (book.search_indexes, without.search_indexes) == ((file,), ())
    assert (book.pages, book.notices) == (without.pages, without.notices)
    listed = merge_search_indexes(load_search_indexes(root)[0], "https://lamps.example/book/").pages
    assert len(listed) == len(book.pages)
    agreed = 0
    for page in book.pages:
        words = {block.anchor: page.text[block.start : block.end] for block in page.blocks if block.kind == "heading"}
        mapped = listed[f"lamps.example/book/{page.file}".removesuffix(".html").removesuffix("/index")]
        assert mapped.title == page.title
        for title, anchors in mapped.anchors.items():
            assert [words.get(anchor) for anchor in anchors] == [title] * len(anchors)
            agreed += len(anchors)
    assert agreed >= 6


def test_indexes_of_all_generator_versions_are_parsed_alike() -> None:
    name = 'It\'s a \\ "lamp"'
    bare = search_index_files.mdbook([("a.html", name, "a"), ("a.html", "Öl's", "öl"), ("b/c.html", "B", "b")])
    expected = [("a.html", name), ("a.html#a", name), ("a.html#öl", "Öl's"), ("b/c.html", "B"), ("b/c.html#b", "B")]
    for text in (bare, f"window.search = {bare};", f"Object.assign(window.search, {bare});", wrap_mdbook_index(bare)):
        assert parse_search_index("searchindex.js", text.encode()) == expected
    pages = [("care/clean.html", "Cleaning"), ("care/oil.html", "Oil"), ("index.html", "The Lamp Book")]
    old, new = (
        parse_search_index("searchindex.js", search_index_files.sphinx(SPHINX, old).encode()) for old in (True, False)
    )
    assert old[:3] == new[:3] == pages
    assert len(old) == 4
    assert len(new) == len(SPHINX)


def test_an_inventory_lists_pages_and_places_but_not_the_search_page() -> None:
    listed = make_inventory(
        "a.run py:function 1 api/#$ -\nplan std:label -1 wiring/#$ The plan\nsearch std:label -1 search/ Search Page\n"
        "index std:doc -1  The Lamp Book\nwiring std:doc -1 wiring/ Wiring\n"
    )
    assert parse_search_index("objects.inv", listed) == [
        SearchIndexEntry("", "The Lamp Book"),
        SearchIndexEntry("wiring/", "Wiring"),
        SearchIndexEntry("api/#a.run", "a.run"),
        SearchIndexEntry("wiring/#plan", "The plan"),
    ]


def test_a_page_in_neither_index_nor_navigation_is_left_out(site: Site) -> None:
    nav = "<nav><ul><li><a href=/kept.html>K</a></ul></nav>"
    root = site(
        {
            "index.html": nav + paged("Home"),
            **{f"{name}.html": paged(name) for name in ("search", "kept", "demo", "genindex")},
            "searchindex.js": search_index_files.sphinx([("index", "Home", ""), ("search", "Searching well", "")]),
        }
    )
    book = read_html(root)
    assert [page.url for page in book.pages] == ["/", "/kept.html", "/search.html"]
    assert notices(book) == {
        "demo.html": ("is in neither the site's search index nor its navigation; left out", False),
        "genindex.html": ("lists or repeats other pages; left out", False),
    }


def test_the_copy_of_the_first_page_in_mdbook_is_read_once(site: Site) -> None:
    onward = "<a rel=next href=plan.html>on</a>"
    pages = {"index.html": paged("Intro") + onward, "intro.html": paged("Intro") + onward, "plan.html": paged("Plan")}
    index = search_index_files.mdbook([("intro.html", "Intro", "intro"), ("plan.html", "Plan", "plan")])
    assert [page.url for page in read_html(site({**pages, "searchindex.json": index})).pages] == [
        "/intro.html",
        "/plan.html",
    ]


def test_the_index_orders_pages_without_navigation(site: Site) -> None:
    lines: Lines = [(f"{name}.html", name, "") for name in ("index", "z", "b", "a", "c")]
    nav = "<nav><ul><li><a href=a.html>A</a><li><a href=z.html>Z</a></ul></nav>"
    pages = {f"{name}.html": paged(name) for name, _, _ in ((page[:-5], "", "") for page, _, _ in lines)}
    root = site({**pages, "searchindex.js": f"window.search = {search_index_files.mdbook(lines)};"})
    assert [page.title for page in read_html(root).pages] == ["index", "z", "b", "a", "c"]
    (root / "index.html").write_text(nav + pages["index.html"])
    assert [page.title for page in read_html(root).pages] == ["index", "a", "z", "b", "c"]


def test_the_index_supplies_missing_titles_and_anchors(site: Site) -> None:
    body = "<main><h2>Wick</h2><p>x<h2>Twice</h2><p>y<h2>Twice</h2><p>z<h2 id=own>Own</h2><p>w</main>"
    given: Lines = [
        ("a/", "Lamp &amp; oil", ""),
        *[("a/", title, at) for title, at in (("Wick", "wick"), ("Twice", "t"), ("Twice", "t_1"), ("Own", "o"))],
    ]
    index = search_index_files.mkdocs([("", "Home", ""), *given])
    pages = {"index.html": paged("Home"), "a/index.html": body}
    page = read_html(site({**pages, "search/search_index.json": index})).pages[1]
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == ["wick", "", "", "own"]
    bare = {"index.html": paged("Home"), "a/index.html": "<title>A</title><main>Words alone</main>"}
    page = read_html(site({**bare, "search/search_index.json": index})).pages[1]
    assert page.title == "Lamp & oil"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("search/search_index.json", '{"docs": [{"location": '),
        ("search/search_index.json", '{"docs": ' + "[" * 100_000),
        ("searchindex.js", "Search.setIndex("),
        ("searchindex.js", '{"doc_urls": 5, "index": []}'),
        ("searchindex-12ab.js", '{"' + '\\"' * 1_000_000),
        ("searchindex.json", '{"doc_urls": [' + "[]," * MAX_NESTED_VALUES),
        ("objects.inv", "# Sphinx inventory version 2\n"),
        ("searchindex.js", search_index_files.sphinx([("index", "Home", "")]) + " " * MAX_SEARCH_INDEX_BYTES),
    ],
)
def test_a_broken_index_is_reported_and_not_used(site: Site, name: str, text: str) -> None:
    book = read_html(site({"index.html": paged("Home"), "b.html": paged("B"), name: text}))
    assert [page.url for page in book.pages] == ["/", "/b.html"]
    assert notices(book) == {name: ("is not a readable search index; the pages are found without it", False)}
    assert book.search_indexes == ()


def test_the_index_of_another_site_is_not_used(site: Site) -> None:
    index = search_index_files.sphinx([("index", "Home", ""), ("x", "X", ""), ("y", "Y", "")])
    book = read_html(site({"index.html": paged("Home"), "b.html": paged("B"), "searchindex.js": index}))
    assert [page.url for page in book.pages] == ["/", "/b.html"]
    assert notices(book) == {"searchindex.js": ("lists pages that do not exist; not used", False)}


def test_an_index_that_is_too_large_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index_formats, "MAX_INDEX_ENTRIES", 100)
    for count, expected in ((100, 100), (101, 0)):
        docs = [{"location": "a", "title": "A"}] * count
        assert len(parse_search_index("search/search_index.json", json.dumps({"docs": docs}).encode())) == expected


def test_an_index_behind_a_link_out_of_the_folder_is_not_opened(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text(search_index_files.sphinx([("index", "Home", "")]))
    root = site({"index.html": paged("Home"), "b.html": paged("B")})
    (root / "searchindex.js").symlink_to(tmp_path / "secret.js")
    assert read_html(root).search_indexes == ()


def test_a_single_page_uses_no_index_and_one_of_two_equal_indexes_is_enough(site: Site) -> None:
    index = search_index_files.mdbook([("index.html", "Home", ""), ("b.html", "B", "")])
    pages = {"index.html": paged("Home"), "b.html": paged("B")}
    root = site({**pages, "searchindex.js": f"window.search = {index};", "searchindex.json": index})
    assert read_html(root).search_indexes == ("searchindex.json",)
    alone = read_html(root / "b.html")
    assert ([page.url for page in alone.pages], alone.search_indexes) == (["/b.html"], ())


def test_the_generator_decides_the_paths_of_the_indexes() -> None:
    newer = '<ol class=chapter></ol><script>window.path_to_searchindex_js = "searchindex-4a1b2c3d.js";</script>'
    assert list_search_index_paths(newer) == ("searchindex-4a1b2c3d.js",)
    assert list_search_index_paths("<ol class=chapter></ol>") == ("searchindex.js",)
    assert list_search_index_paths("<meta name=generator content='mkdocs-1.6.1'>") == ("search/search_index.json",)
    built_with = "<div class=wy-nav-side></div><footer>Built with <a href='https://www.mkdocs.org/'>MkDocs</a></footer>"
    assert list_search_index_paths(built_with) == ("search/search_index.json",)
    assert list_search_index_paths("<div class=sphinxsidebar></div>") == ("objects.inv", "searchindex.js")
    assert (
        list_search_index_paths("<p>words")
        == list_search_index_paths("<meta name=generator content='Docusaurus'>")
        == ()
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4, alphabet="abc1_"), JSON))
def test_extracted_members_equal_parsed_json(whole: dict[str, object]) -> None:
    found = extract_members(json.dumps(whole), whole.keys())
    assert {name: parse_json_value(written) for name, written in found.items()} == whole


@given(st.text(alphabet="{}[]:,\"\\ab1'\n", max_size=60))
def test_extracted_members_are_parts_of_the_text(text: str) -> None:
    assert all(written in text for written in extract_members(text, ("a", "b", "ab", "")).values())


PARTS = st.sampled_from(
    """Search.setIndex( JSON.parse(' ') { } [ ] , : "docs" "location" "a#b" 1 -1 doc_urls docnames titles alltitles
    "index" "documentStore" null " \\ ' "//[x" """.split()
)
NAMES = st.sampled_from(["search/search_index.json", "searchindex.js", "objects.inv"])


@given(NAMES, st.binary(max_size=80) | st.lists(PARTS, max_size=30).map(lambda parts: "".join(parts).encode()), JSON)
def test_any_index_is_parsed_or_empty(name: str, data: bytes, inner: object) -> None:
    keys = ("docs", "doc_urls", "docnames", "titles", "alltitles", "index")
    index = {"documentStore": {"docs": inner}}
    whole = json.dumps(dict.fromkeys(keys, inner) | {"index": index} if data else dict.fromkeys(keys[:-1], inner))
    for text in (data, whole.encode(), make_inventory(whole)):
        found = merge_search_indexes({name: parse_search_index(name, text)}, "https://lamps.example/")
        assert all(page.url.startswith("http") for page in found.pages.values())
