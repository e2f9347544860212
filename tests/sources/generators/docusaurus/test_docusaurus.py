"""A Docusaurus site is read with its routes, titles, chapters and order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources import parse_book
from bookbound.sources.generators.docusaurus.site_pages import PartialResolver, split_number_prefix
from bookbound.sources.includes import IncludeLoader, substitute

Site = Callable[[dict[str, str]], Path]
NO_NUMBER = float("inf")

CONFIG = """
// url: 'https://wrong.example',
const config = {
  title: 'The Book\\'s Name',
  url: "https://book.example",
  baseUrl: '/base/',
  presets: [['classic', {
    blog: {routeBasePath: 'news'},
    docs: {
      routeBasePath: 'learn',
    },
  }]],
  themeConfig: {navbar: {title: 'Nav'}},
};
"""


def pages(root: Path) -> dict[str, Page]:
    return {page.file: page for page in parse_book(root).pages}


@pytest.mark.parametrize(
    ("name", "stripped", "number"),
    [
        ("01-intro", "intro", 1),
        ("01_intro", "intro", 1),
        ("01. intro", "intro", 1),
        ("1 - intro", "intro", 1),
        ("003---intro", "intro", 3),
        ("2021-11-01-foo", "2021-11-01-foo", NO_NUMBER),
        ("7.0-foo", "7.0-foo", NO_NUMBER),
        ("7_0_foo", "7_0_foo", NO_NUMBER),
        ("intro-01", "intro-01", NO_NUMBER),
        ("01", "01", NO_NUMBER),
        ("01-", "01-", NO_NUMBER),
    ],
)
def test_a_number_prefix_orders_a_page_and_is_not_part_of_its_name(name: str, stripped: str, number: float) -> None:
    assert split_number_prefix(name) == (stripped, number)


def test_the_configuration_gives_the_title_and_the_url(site: Site) -> None:
    book = parse_book(site({"docusaurus.config.js": CONFIG, "docs/intro.md": "# Hi"}))
    assert (book.title, book.kind) == ("The Book's Name", "docusaurus")
    assert book.pages[0].url == "https://book.example/base/learn/intro"


def test_routes_follow_ids_slugs_indexes_and_prefixes(site: Site) -> None:
    found = pages(
        site(
            {
                "docs/_category_.json": "{}",
                "docs/index.md": "Home",
                "docs/01-start/02-first.md": "a",
                "docs/01-start/README.md": "b",
                "docs/guide/guide.mdx": "c",
                "docs/guide/own.md": "---\nid: other\n---\nd",
                "docs/guide/abs.md": "---\nslug: /else/where\n---\ne",
                "docs/guide/rel.md": "---\nslug: near/by\n---\nf",
                "docs/guide/up.md": "---\nslug: ../up\n---\ng",
                "docs/2021-11-01-news.md": "h",
                "docs/guide/raw/01-kept.md": "---\nparse_number_prefixes: false\n---\ni",
                "docs/two words.md": "j",
            }
        )
    )
    assert {file.removeprefix("docs/"): page.url for file, page in found.items()} == {
        "index.md": "/docs/",
        "01-start/02-first.md": "/docs/start/first",
        "01-start/README.md": "/docs/start/",
        "guide/guide.mdx": "/docs/guide/",
        "guide/own.md": "/docs/guide/other",
        "guide/abs.md": "/docs/else/where",
        "guide/rel.md": "/docs/guide/near/by",
        "guide/up.md": "/docs/up",
        "2021-11-01-news.md": "/docs/2021-11-01-news",
        "guide/raw/01-kept.md": "/docs/guide/raw/01-kept",
        "two words.md": "/docs/two%20words",
    }


@pytest.mark.parametrize(("setting", "url"), [("true", "/docs/a/"), ("false", "/docs/a")])
def test_the_configuration_decides_about_trailing_slashes(site: Site, setting: str, url: str) -> None:
    root = site({"docusaurus.config.ts": f"export default {{trailingSlash: {setting}}};", "docs/a.md": "Hi"})
    assert parse_book(root).pages[0].url == url


def test_pages_are_in_the_order_of_the_generated_sidebar(site: Site) -> None:
    root = site(
        {
            "docs/zeta.md": "no position",
            "docs/alpha.md": "no position",
            "docs/intro.md": "---\nsidebar_position: 1\n---\nfirst",
            "docs/03-three/b.md": "b",
            "docs/03-three/a.md": "a",
            "docs/03-three/index.md": "lead",
            "docs/late/_category_.json": '{"position": 2.5, "label": "Early after all"}',
            "docs/late/02-b.md": "b",
            "docs/late/01-a.md": "a",
            "docs/yaml/_category_.yml": "position: 2\nlabel: From YAML",
            "docs/yaml/a.md": "a",
        }
    )
    order = [page.file.removeprefix("docs/") for page in parse_book(root).pages]
    assert order == [
        *("intro.md", "yaml/a.md", "late/01-a.md", "late/02-b.md"),
        *("03-three/index.md", "03-three/a.md", "03-three/b.md", "alpha.md", "zeta.md"),
    ]


def test_the_chapter_of_a_page_is_its_top_category_or_itself(site: Site) -> None:
    found = pages(
        site(
            {
                "docs/intro.md": "# Welcome",
                "docs/a/_category_.json": '{"label": "Part A"}',
                "docs/a/deep/x.md": "x",
                "docs/02-get-started/x.md": "x",
                "docs/led/index.md": "---\ntitle: The lead\n---\nx",
            }
        )
    )
    assert {file: page.chapter for file, page in found.items()} == {
        "docs/intro.md": "Welcome",
        "docs/a/deep/x.md": "Part A",
        "docs/02-get-started/x.md": "Get started",
        "docs/led/index.md": "The lead",
    }


def test_a_title_comes_from_the_front_matter_or_the_heading_or_the_file_name(site: Site) -> None:
    found = pages(
        site(
            {
                "docs/_category_.json": "{}",
                "docs/a.md": "---\ntitle: Front\n---\n# Heading\n\ntext",
                "docs/b.md": "# The `code` heading\n\ntext",
                "docs/01-c.md": "text",
            }
        )
    )
    assert [found[f"docs/{name}.md"].title for name in ("a", "b", "01-c")] == ["Front", "The code heading", "c"]


def test_the_title_of_the_front_matter_is_shown_above_a_page_without_a_heading(site: Site) -> None:
    shown = '---\nid: x\ntitle: "Shown"\n---\n\nText'
    found = pages(
        site(
            {
                "docs/_category_.json": "{}",
                "docs/a.md": shown,
                "docs/b.md": shown.replace("id: x", "hide_title: true"),
                "docs/c.md": shown.replace("Text", "# Own\n\nText"),
            }
        )
    )
    assert [found[f"docs/{name}.md"].text for name in "abc"] == ["Shown\n\nText", "Text", "Own\n\nText"]
    page = found["docs/a.md"]
    assert (page.blocks[0].kind, page.blocks[0].level, page.spans[0].start) == ("heading", 1, shown.index("Shown"))


def test_unpublished_pages_are_left_out(site: Site) -> None:
    book = parse_book(
        site(
            {
                "docs/_category_.json": "{}",
                "docs/a.md": "a",
                "docs/_partial.md": "no",
                "docs/_partials/b.md": "no",
                "docs/draft.md": "---\ndraft: true\n---\nno",
                "docs/hidden.md": "---\nunlisted: true\n---\nno",
                "CHANGELOG.md": "no",
                "blog/post.md": "no",
            }
        )
    )
    assert [page.file for page in book.pages] == ["docs/a.md"]
    assert [notice.file for notice in book.notices] == ["docs/draft.md", "docs/hidden.md"]


PARTS = """import Part from './_part.mdx';
import Other from "@site/docs/parts/_other.md";

Before.

<Part name="Ann" />

<Other></Other>

```jsx
import Gone from './_gone.mdx';
<Part name="code" />
```

Use `<Part />`.
"""


def test_a_partial_is_inserted_where_the_page_uses_it(site: Site, faults: Callable[[Page], list[str]]) -> None:
    files = {
        "docusaurus.config.js": "module.exports = {}",
        "docs/a.mdx": PARTS,
        "docs/_part.mdx": "import Other from './parts/_other.md';\n\n## Of {props.name}\n\n<Other/>",
        "docs/parts/_other.md": "---\nid: x\n---\nOther *words*.",
    }
    book = parse_book(site(files))
    [page] = book.pages
    code = "import Gone from './_gone.mdx';\n<Part name=\"code\" />"
    assert page.text.split("\n\n") == ["Before.", "Of Ann", "Other words.", "Other words.", code, "Use <Part />."]
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == ["of-ann"]
    assert (faults(page), book.notices) == ([], ())


def test_missing_or_outside_partials_are_reported_and_cycles_end(site: Site, tmp_path: Path) -> None:
    (tmp_path / "_secret.md").write_text("Secret.")
    imports = "import A from './_gone.md'\nimport B from '../../_secret.md'\nimport C from './_c.md'\n\n"
    source = f"{imports}Text.\n\n<A/><B/>\n\n<C/>"
    cycle = "import C from './_c.md'\n\nCycle.\n\n<C/>"
    book = parse_book(site({"docusaurus.config.js": "module.exports = {}", "docs/a.md": source, "docs/_c.md": cycle}))
    assert "Secret" not in book.pages[0].text
    assert 1 <= book.pages[0].text.count("Cycle.") <= 11
    assert [notice.lost for notice in book.notices] == [True]


@given(st.text(alphabet="import A from './_a.md'\n<>/`~ ", max_size=120))
def test_any_text_can_be_searched_for_partials(text: str) -> None:
    here = Path(__file__)
    source = "import A from './_a.md'\n" + text
    assert isinstance(
        substitute(source, PartialResolver(IncludeLoader(here.parent), here.parent).find_includes(source, here)).text,
        str,
    )


@pytest.mark.parametrize(("info", "shown"), [("js", False), ("js {1}", True)])
def test_highlight_comments_in_code_are_not_read(site: Site, info: str, shown: bool) -> None:
    code = f"```{info}\n// highlight-next-line\na = 1;\n# highlight-start\n{{/* highlight-end */}}\n```"
    root = site({"docusaurus.config.js": "module.exports = {}", "docs/a.md": code})
    assert ("highlight" in parse_book(root).pages[0].text) is shown


@pytest.mark.parametrize(
    "files",
    [
        {"docusaurus.config.js": "module.exports = {}", "docs/a.md": "a"},
        {"website/docusaurus.config.js": "module.exports = {}", "website/docs/a.md": "a"},
        {"website/docs/a.md": "a"},
        {"docs/part/_category_.json": "{}", "docs/a.md": "a"},
        {"part/_category_.yml": "label: x", "a.md": "a"},
        {"docusaurus.config.js": "export default {docs: {path: 'text'}}", "text/a.md": "a"},
    ],
)
def test_a_site_is_recognised_by_its_files(site: Site, files: dict[str, str]) -> None:
    book = parse_book(site(files))
    assert (book.kind, len(book.pages)) == ("docusaurus", 1)


def test_the_docs_folder_alone_finds_the_configuration_above_it(site: Site) -> None:
    root = site({"docusaurus.config.js": CONFIG, "docs/a.md": "a"})
    page = parse_book(root / "docs").pages[0]
    assert (page.file, page.url) == ("docs/a.md", "https://book.example/base/learn/a")


def test_a_page_has_the_same_url_for_any_path_to_its_folder(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = site({"docusaurus.config.js": CONFIG, "docs/a.md": "a"})
    url = "https://book.example/base/learn/a"
    (tmp_path / "outside").symlink_to(root / "docs")
    assert [page.url for page in parse_book(tmp_path / "outside").pages] == [url]
    monkeypatch.chdir(root / "docs")
    assert [(page.file, page.url) for page in parse_book(Path()).pages] == [("docs/a.md", url)]
    (root / "docs").rename(root / "content")
    (root / "docs").symlink_to(root / "content")
    for folder in (root / "docs", root / "content"):
        assert [(page.file, page.url) for page in parse_book(folder).pages] == [("docs/a.md", url)]
    assert [(page.file, page.url) for page in parse_book(root).pages] == [("docs/a.md", url)]


def test_the_docs_folder_may_be_next_to_the_website_folder(site: Site) -> None:
    config = "export default {docs: {path: '../docs'}}"
    root = site({"website/docusaurus.config.js": config, "docs/a.md": "a"})
    assert [(page.file, page.url) for page in parse_book(root).pages] == [("docs/a.md", "/docs/a")]


@pytest.mark.parametrize("outward", ["../other", "/etc", "docs/../../other"])
def test_docs_outside_of_the_folder_are_not_read(site: Site, tmp_path: Path, outward: str) -> None:
    config = f"export default {{docs: {{path: '{outward}'}}}}"
    root = site({"docusaurus.config.js": config, "notes/a.md": "a"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.md").write_text("secret")
    book = parse_book(root)
    assert [(page.file, page.text) for page in book.pages] == [("notes/a.md", "a")]
    assert [(notice.file, "outside" in notice.message) for notice in book.notices] == [("docusaurus.config.js", True)]


def test_a_docs_folder_that_links_out_of_the_book_is_not_read(site: Site, tmp_path: Path) -> None:
    root = site({"docusaurus.config.js": "export default {}", "a.md": "a"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_category_.json").write_text("{}")
    (tmp_path / "other" / "secret.md").write_text("secret")
    (root / "docs").symlink_to(tmp_path / "other")
    assert [page.text for page in parse_book(root).pages] == ["a"]


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({"docs/x.md": "---\ntitle: Introduction\nslug: /\n---\n# The Book"}, "The Book"),
        ({"docs/01-intro.md": "---\ntitle: The Book\n---\nText"}, "The Book"),
        ({"docs/index.mdx": "# The Book"}, "The Book"),
        ({"docs/intro.md": "# Introduction"}, "Site"),
        ({"docs/part/intro.md": "# A Part"}, "Site"),
    ],
)
def test_without_a_configuration_the_home_page_gives_the_title_of_the_book(
    site: Site, files: dict[str, str], title: str
) -> None:
    assert parse_book(site({"docs/_category_.json": "{}", "docs/z.md": "# Z"} | files)).title == title


def test_broken_categories_and_front_matter_are_ignored(site: Site) -> None:
    book = parse_book(site({"docs/x/_category_.json": "{broken", "docs/x/a.md": "---\na: [\n---\nText"}))
    assert (book.pages[0].text, book.pages[0].chapter) == ("Text", "X")
    assert "YAML" in book.notices[0].message


def test_the_example_book_is_read_without_notices(example_book: Path, faults: Callable[[Page], list[str]]) -> None:
    book = parse_book(example_book)
    assert book.kind == "docusaurus"
    assert len(book.pages) > 10
    assert book.notices == ()
    assert [fault for page in book.pages for fault in faults(page)] == []
    assert all(page.url.startswith("https://") for page in book.pages)
