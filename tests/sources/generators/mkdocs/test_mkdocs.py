"""An MkDocs site is read with its order, chapters, URLs and snippets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources import parse_book
from bookbound.sources.generators.mkdocs import SnippetResolver
from bookbound.sources.generators.mkdocs.config import find_mkdocs_site
from bookbound.sources.includes import IncludeLoader, substitute

Site = Callable[[dict[str, str]], Path]

CONFIG = """
site_name: The Manual
site_url: https://manual.example/en/
nav:
  - Home: index.md
  - quick.md
  - Guide:
    - guide/index.md
    - Deep:
      - The first: guide/b.md
      - guide/a.md
    - Elsewhere: https://other.example/
  - "":
    - reference/index.md
    - reference/api.md
markdown_extensions:
  - toc: {permalink: true}
  - pymdownx.superfences:
      custom_fences:
        - format: !!python/name:pymdownx.superfences.fence_code_format
plugins: [search, mkdocstrings]
extra: {key: !ENV [SECRET_TOKEN, none]}
"""
PAGES = {
    "docs/index.md": "# The Manual\n\nHome.",
    "docs/quick.md": "# Quick start\n\nQuick.",
    "docs/guide/index.md": "# The guide",
    "docs/guide/a.md": "a",
    "docs/guide/b.md": "# B",
    "docs/reference/index.md": "# All names",
    "docs/reference/api.md": "# API",
    "docs/zeta.md": "# Zeta",
    "docs/extra/readme.md": "# Lower case",
    "docs/extra/README.md": "# More",
    "docs/extra/one two.md": "# Two words",
}


def pages(root: Path) -> dict[str, Page]:
    return {page.file: page for page in parse_book(root).pages}


def test_pages_are_in_the_order_of_the_navigation_and_unlisted_ones_follow(site: Site) -> None:
    book = parse_book(site({"mkdocs.yml": CONFIG, **PAGES}))
    assert (book.title, book.kind) == ("The Manual", "mkdocs")
    address = "https://manual.example/en/"
    assert [(page.file.removeprefix("docs/"), page.url.removeprefix(address), page.chapter) for page in book.pages] == [
        ("index.md", "", "Home"),
        ("quick.md", "quick/", "Quick start"),
        ("guide/index.md", "guide/", "Guide"),
        ("guide/b.md", "guide/b/", "Guide"),
        ("guide/a.md", "guide/a/", "Guide"),
        ("reference/index.md", "reference/", "All names"),
        ("reference/api.md", "reference/api/", "All names"),
        ("zeta.md", "zeta/", "Zeta"),
        ("extra/README.md", "extra/", "Extra"),
        ("extra/one two.md", "extra/one%20two/", "Extra"),
        ("extra/readme.md", "extra/readme/", "Extra"),
    ]
    assert [(notice.file, notice.lost) for notice in book.notices] == [("mkdocs.yml", False)]
    assert "mkdocstrings" in book.notices[0].message


def test_without_a_navigation_the_index_page_is_first_and_folders_are_last(site: Site) -> None:
    book = parse_book(site({"mkdocs.yml": "site_name: M\nuse_directory_urls: false", **PAGES}))
    assert [page.url for page in book.pages] == [
        "/index.html",
        "/quick.html",
        "/zeta.html",
        "/extra/index.html",
        "/extra/one%20two.html",
        "/extra/readme.html",
        "/guide/index.html",
        "/guide/a.html",
        "/guide/b.html",
        "/reference/index.html",
        "/reference/api.html",
    ]
    assert [page.chapter for page in book.pages[:4]] == ["The Manual", "Quick start", "Zeta", "Extra"]


def test_excluded_pages_are_reported_and_missing_ones_are_lost(site: Site) -> None:
    config = "nav: [a.md, gone.md]\nexclude_docs: |\n  *.draft.md\n  /old/\n  !keep.draft.md\n"
    found = {"docs/a.md": "a", "docs/x.draft.md": "x", "docs/keep.draft.md": "k", "docs/old/b.md": "b"}
    book = parse_book(site({"mkdocs.yml": config, **found, "docs/templates/t.md": "t", "docs/index.md": "i"}))
    assert [page.file for page in book.pages] == ["docs/a.md", "docs/index.md", "docs/keep.draft.md"]
    assert {notice.file for notice in book.notices if not notice.lost} == {
        "docs/x.draft.md",
        "docs/old/b.md",
        "docs/templates/t.md",
    }
    assert [notice.message for notice in book.notices if notice.lost] == ["lists gone.md, which does not exist"]


def test_an_index_page_replaces_the_readme_of_its_folder(site: Site) -> None:
    root = site({"mkdocs.yml": "site_name: M", "docs/README.md": "r", "docs/index.md": "i"})
    assert [page.text for page in parse_book(root).pages] == ["i"]


def test_a_folder_in_the_navigation_is_expanded_by_its_navigation_file(site: Site) -> None:
    config = "nav: [{Guide: guide/}]\nplugins: [{literate-nav: {nav_file: README.md}}]"
    table = "# Guide\n\n- [Second](b.md)\n- [First](a.md)"
    root = site({"mkdocs.yml": config, "docs/guide/README.md": table, "docs/guide/a.md": "a", "docs/guide/b.md": "b"})
    assert [(page.file, page.title) for page in parse_book(root).pages] == [
        ("docs/guide/README.md", "Guide"),
        ("docs/guide/b.md", "Second"),
        ("docs/guide/a.md", "First"),
    ]


def test_a_summary_can_replace_the_navigation(site: Site) -> None:
    summary = "- [Second](b.md)\n- [First](a.md)\n- [Part](part/)"
    files = {"docs/SUMMARY.md": summary, "docs/a.md": "a", "docs/b.md": "b", "docs/part/c.md": "c"}
    book = parse_book(site({"mkdocs.yml": "plugins: [literate-nav]", **files}))
    assert [(page.file, page.title) for page in book.pages] == [
        ("docs/b.md", "Second"),
        ("docs/a.md", "First"),
        ("docs/part/c.md", "C"),
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"mkdocs.yml": "docs_dir: text", "text/a.md": "a"},
        {"docs/en/mkdocs.yml": "", "docs/en/docs/a.md": "a", "docs/hi/mkdocs.yml": "INHERIT: ../en/mkdocs.yml"},
        {"mkdocs.yaml": "site_name: M", "docs/a.md": "a"},
    ],
)
def test_a_site_is_recognised_by_its_files(site: Site, files: dict[str, str]) -> None:
    assert [page.url for page in parse_book(site(files)).pages] == ["/a/"]


def test_the_docs_folder_alone_finds_the_configuration_above_it(site: Site) -> None:
    root = site({"mkdocs.yml": "site_url: https://x.example", "docs/a.md": "a"})
    assert [(page.file, page.url) for page in parse_book(root / "docs").pages] == [("a.md", "https://x.example/a/")]


def test_a_configuration_inherits_only_from_files_inside_the_folder(site: Site, tmp_path: Path) -> None:
    (tmp_path / "outside.yml").write_text("site_name: Outside")
    base = "site_name: Base\nsite_url: https://base.example\nmarkdown_extensions: {toc: {separator: _}}"
    root = site({"base.yml": base, "docs/a.md": "# One two", "mkdocs.yml": "INHERIT: base.yml\nsite_name: Own"})
    book = parse_book(root)
    assert (book.title, book.pages[0].url, book.pages[0].blocks[0].anchor) == (
        "Own",
        "https://base.example/a/",
        "one_two",
    )
    (root / "mkdocs.yml").write_text("INHERIT: ../outside.yml")
    assert parse_book(root).title != "Outside"


@pytest.mark.parametrize(
    ("slugify", "anchor"),
    [
        ("!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}", "größe-a---b"),
        ("!!python/name:pymdownx.slugs.uslugify_cased", "Größe-A---b"),
        ("!!python/name:markdown.extensions.toc.slugify_unicode", "größe-a-b"),
        ("!!python/name:os.system", "groe-a-b"),
    ],
)
def test_a_slug_function_is_recognised_by_its_name_and_never_run(site: Site, slugify: str, anchor: str) -> None:
    config = f"markdown_extensions:\n  - toc:\n      slugify: {slugify}\n"
    page = parse_book(site({"mkdocs.yml": config, "docs/a.md": "## Größe A - b"})).pages[0]
    assert page.blocks[0].anchor == anchor


def test_a_configuration_can_use_yaml_aliases(site: Site) -> None:
    config = "common: &common {site_name: Once}\n<<: *common\nextra: {a: &a [1], b: *a}\nsite_url: !ENV [URL, 'https://e.example']"
    book = parse_book(site({"mkdocs.yml": config, "docs/a.md": "a"}))
    assert (book.title, book.pages[0].url) == ("Once", "https://e.example/a/")


ORDERED = {
    "docs/.pages": "nav:\n  - start.md\n  - Big: guide\n  - ...\n  - Group: [z.md, Named: y.md]\n  - last",
    **{f"docs/{name}.md": f"# {name}" for name in "index start a y z guide/a guide/b guide/index guide/sub/c".split()},
    **{f"docs/{name}.md": f"# {name}" for name in "last/one last/two last/un mid/m".split()},
    "docs/guide/.pages": "title: The Guide\norder: desc",
    "docs/last/.pages": "arrange: [two.md, one.md]",
    "docs/mid/.pages": "title: Middle",
}


def test_awesome_pages_files_order_their_folders(site: Site) -> None:
    book = parse_book(site({"mkdocs.yml": "plugins: [awesome-pages]", **ORDERED}))
    assert [(page.file.removeprefix("docs/").removesuffix(".md"), page.chapter) for page in book.pages] == [
        ("start", "start"),
        *(
            ("guide/sub/c", "The Guide"),
            ("guide/index", "The Guide"),
            ("guide/b", "The Guide"),
            ("guide/a", "The Guide"),
        ),
        *(("index", "index"), ("a", "a"), ("mid/m", "Middle"), ("z", "Group"), ("y", "Group")),
        *(("last/two", "Last"), ("last/one", "Last"), ("last/un", "Last")),
    ]
    assert book.notices == ()


def test_awesome_nav_files_order_their_folders(site: Site) -> None:
    nav = "nav: [b.md, 'c*', Named: a.md]"
    pages = {f"docs/{name}.md": "x" for name in ("a", "b", "c1", "c2")}
    root = site({"mkdocs.yml": "plugins: [awesome-nav]", "docs/.nav.yml": nav, **pages})
    assert [page.title for page in parse_book(root).pages] == ["B", "C1", "C2", "Named"]


@pytest.mark.parametrize("broken", ["nav: 3", "[", "nav: [{}]", "nav: [[...]]", "nav: [{a: {b: c}}, 3]", "arrange: x"])
def test_a_broken_folder_order_is_ignored(site: Site, broken: str) -> None:
    root = site({"mkdocs.yml": "plugins: [awesome-pages]", "docs/.pages": broken, "docs/a.md": "a"})
    assert [page.text for page in parse_book(root).pages] == ["a"]


@pytest.mark.parametrize(
    "broken", ["nav: [", "nav: 3", "- a", "nav: [{a: {b: {c: 3}}}]", "a: &x [*x]", "docs_dir: '\\0'"]
)
def test_a_broken_configuration_is_ignored(site: Site, broken: str) -> None:
    assert [page.text for page in parse_book(site({"mkdocs.yml": broken, "docs/a.md": "a"})).pages] == ["a"]


SHOWN = """# Title { #own .wide }

!!! note "Mind this"
    Words in it.

??? tip
    Folded.

=== "Linux"
    apt

=== "Windows"
    choco

Press ++ctrl+alt+del++ now. C++ stays. :material-heart: The HTML text.
{: .lead }

Term
:   Its meaning.

[TOC]

A note[^1].

*[HTML]: Hyper Text

[^1]: At the foot.
"""


def test_markup_of_extensions_is_not_text(site: Site) -> None:
    page = parse_book(site({"mkdocs.yml": "", "docs/a.md": SHOWN})).pages[0]
    assert page.text.split("\n") == [
        *("Title", "", "Mind this", "", "Words in it.", "", "tip", "", "Folded.", "", "Linux", "", "apt", ""),
        *("Windows", "", "choco", "", "Press ctrl+alt+del now. C++ stays. The HTML text.", "", "Term"),
        *("Its meaning.", "", "A note.", "", "At the foot."),
    ]


EXTENSIONS = "caret critic emoji inlinehilite mark tilde".split()
# Source and visible text with these extensions.
MARKED = {
    "H~2~O, x^2^ and ~~del~~": "H2O, x2 and del",
    "^^ins^^ ==mark== a == b": "ins mark a == b",
    "{++added++} {--gone--} {==marked==}{>>a comment<<}": "added gone markeda comment",
    "`#!python code()` and `#!`": "code() and #!",
    'Press ++cmd+"My key"++ :smile: :material-account:{ .x } at 10:30:45': 'Press cmd+"My key" at 10:30:45',
    '!!! danger ""\n    No title.': "No title.",
    "=== C\n\nNo tab.": "=== C\n\nNo tab.",
    "/// details | Title\n    type: warning\nWords.\n///": "Title\n\nWords.",
}


@pytest.mark.parametrize(("written", "shown"), MARKED.items())
def test_markup_of_the_extensions_that_a_site_uses_is_not_text(
    site: Site, written: str, shown: str, faults: Callable[[Page], list[str]]
) -> None:
    config = "markdown_extensions:\n" + "".join(f"  - pymdownx.{name}\n" for name in EXTENSIONS)
    [page] = parse_book(site({"mkdocs.yml": config, "docs/a.md": written})).pages
    assert page.text == shown
    assert faults(page) == []


def test_markup_of_other_extensions_is_text(site: Site) -> None:
    text = "x^2^ ==mark== :smile: `#!python code()`"
    assert parse_book(site({"mkdocs.yml": "", "docs/a.md": text})).pages[0].text == text.replace("`", "")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("sec", "three"),
        ("1:2", "one two"),
        ("2,4:4", "two three four three"),
        (":2", "one two"),
        ("", "one two three four"),
    ],
)
def test_a_snippet_can_be_a_section_or_ranges_of_lines(site: Site, part: str, words: str) -> None:
    file = "one\ntwo\n<!-- --8<-- [start:sec] -->\nthree\n<!-- --8<-- [end:sec] -->\nfour\n"
    page = f'--8<-- "part.txt{":" * bool(part)}{part}"'
    assert parse_book(site({"mkdocs.yml": "", "docs/a.md": page, "part.txt": file})).pages[0].text == words


def test_snippets_are_inserted_where_a_page_includes_them(site: Site, faults: Callable[[Page], list[str]]) -> None:
    page = """Before.

--8<-- "docs/part.md"

``` py
--8<-- "code.py:keep"
```

;--8<-- "shown.md"

--8<-- "code.py:1:2"

--8<--
docs/part.md
--8<--

{* code.py ln[2:3] hl[1] *}

After.
"""
    code = "one = 1\ntwo = 2\n# --8<-- [start:keep]\nkept = 3\n# --8<-- [end:keep]\n"
    files = {"docs/a.md": page, "docs/part.md": "## Inner\n\nWords of the part.", "code.py": code}
    book = parse_book(site({"mkdocs.yml": "exclude_docs: part.md", **files}))
    [read_page] = book.pages
    assert read_page.text.split("\n\n") == [
        *("Before.", "Inner", "Words of the part.", "kept = 3", '--8<-- "shown.md"', "one = 1 two = 2"),
        *("Inner", "Words of the part.", "two = 2\n# --8<-- [start:keep]", "After."),
    ]
    assert [block.anchor for block in read_page.blocks if block.kind == "heading"] == ["inner", "inner_1"]
    assert faults(read_page) == []
    inner = next(run for run in read_page.spans if read_page.text[run.at :].startswith("Inner"))
    assert page[inner.start : inner.end] == '--8<-- "docs/part.md"'


def test_missing_and_outside_snippets_are_reported_and_cycles_end(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Secret.")
    page = '--8<-- "gone.md"\n\n--8<-- "../secret.md"\n\n--8<-- "docs/a.md"\n\nText.'
    book = parse_book(site({"mkdocs.yml": "", "docs/a.md": page}))
    assert "Secret" not in book.pages[0].text
    assert book.pages[0].text.count("Text.") <= 11
    [notice] = [notice for notice in book.notices if notice.lost]
    assert notice.message.startswith("includes 2 files that cannot be read here: gone.md, ../secret.md")


def test_snippets_that_multiply_are_limited(site: Site) -> None:
    bomb = {f"docs/{n}.md": f'--8<-- "docs/{n + 1}.md"\n\n' * 30 + "x" for n in range(12)}
    assert len(parse_book(site({"mkdocs.yml": "nav: [0.md]\nexclude_docs: '[1-9]*.md'", **bomb})).pages) == 1


@given(st.text(alphabet='-8<"a.md:;{}*![]\n +=', max_size=120))
def test_any_text_can_be_searched_for_snippets(text: str) -> None:
    here = Path(__file__).parent
    expanded = substitute(text, SnippetResolver(IncludeLoader(here), [here]).find_includes(text))
    assert isinstance(expanded.text, str)


MKDOCS_ORDER = """index getting-started user-guide/README user-guide/installation user-guide/writing-your-docs
user-guide/choosing-your-theme user-guide/customizing-your-theme user-guide/localizing-your-theme
user-guide/configuration user-guide/cli user-guide/deploying-your-docs dev-guide/README dev-guide/themes
dev-guide/translations dev-guide/plugins dev-guide/api about/release-notes about/license""".split()
# Headings of docs/user-guide/writing-your-docs.md, in their order.
MKDOCS_ANCHORS = """writing-your-docs file-layout index-pages configure-pages-and-navigation writing-with-markdown
internal-links linking-to-pages linking-to-images-and-media linking-from-raw-html meta-data yaml-style-meta-data
multimarkdown-style-meta-data tables fenced-code-blocks""".split()


@pytest.mark.slow
def test_the_real_mkdocs_manual_is_read_in_its_order(shared: Path) -> None:
    folder = shared / "data" / "books" / "mkdocs_docs"
    if not folder.is_dir():
        pytest.skip("the manual of MkDocs is not among the real books here")
    book = parse_book(folder)
    assert (book.title, book.kind) == ("MkDocs", "mkdocs")
    assert [page.file for page in book.pages] == [f"docs/{name}.md" for name in MKDOCS_ORDER]
    assert list(dict.fromkeys(page.chapter for page in book.pages)) == [
        *("Home", "Getting Started", "User Guide", "Developer Guide", "About")
    ]
    writing = book.pages[4]
    assert writing.url == "https://www.mkdocs.org/user-guide/writing-your-docs/"
    found = [block.anchor for block in writing.blocks if block.kind == "heading"]
    assert [anchor for anchor in found if anchor in MKDOCS_ANCHORS] == MKDOCS_ANCHORS


@pytest.mark.slow
def test_a_site_with_one_of_many_languages_is_read(shared: Path) -> None:
    folder = shared / "data" / "books" / "fastapi_docs"
    if not folder.is_dir():
        pytest.skip("the manual of FastAPI is not among the real books here")
    site, _ = find_mkdocs_site(folder)
    assert site is not None
    assert site.docs == folder / "docs" / "en" / "docs"


def test_the_title_of_a_page_comes_from_the_navigation_or_the_page(site: Site) -> None:
    config = "nav: [{From the nav: a.md}, b.md, c.md]\nexclude_docs: |\n  d.md\n"
    own = "---\ntitle: From the fields\n---\n# From the heading"
    pages = {"docs/a.md": own, "docs/b.md": own, "docs/c.md": "# From the heading", "docs/d.md": own}
    book = parse_book(site({"mkdocs.yml": config, **pages}))
    assert [page.title for page in book.pages] == ["From the nav", "From the fields", "From the heading"]
    assert [notice.file for notice in book.notices] == ["docs/d.md"]
