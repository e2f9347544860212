"""Reads books with hostile files: one bad file never breaks a book, and time grows with size only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import file_loader, files, parse_book

Site = Callable[[dict[str, str]], Path]

LIMITS = pytest.mark.skipif(sys.platform == "win32", reason="this system cannot limit processor time")
LIMITED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from bookbound.sources import parse_book
text = "".join(page.text for page in parse_book(Path(sys.argv[1])).pages)
assert "alpha" in text and "omega" in text, text[:200]
"""


def read_within_limits(root: Path) -> None:
    limited = subprocess.run([sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True, check=False)
    assert (limited.returncode, limited.stderr) == (0, "")


def messages(book: ParsedBook) -> dict[str, str]:
    return {notice.file: notice.message for notice in book.notices}


def test_a_link_to_itself_is_reported(site: Site) -> None:
    root = site({"a.md": "a"})
    (root / "loop.md").symlink_to("loop.md")
    (root / "docs").symlink_to("docs")
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["a.md"]
    assert "left out" in messages(book)["loop.md"]
    with pytest.raises(SourceError):
        parse_book(root / "docs")


def test_digits_that_are_not_decimal_sort_as_letters(site: Site) -> None:
    assert [page.file for page in parse_book(site({"²1.md": "a", "1.md": "b", "①.md": "c"})).pages] == [
        "1.md",
        "²1.md",
        "①.md",
    ]


def test_a_name_that_is_not_utf8_is_reported_with_escapes(site: Site) -> None:
    root = site({"a.md": "a"})
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/a\xff.md")).write_text("b")
        Path(os.fsdecode(os.fsencode(root) + b"/b\xfe")).mkdir()
    except OSError:
        pytest.skip("names are UTF-8 on this system")
    Path(os.fsdecode(os.fsencode(root) + b"/b\xfe/c.md")).write_text("c")
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["a.md"]
    assert set(messages(book)) == {"a\\xff.md", "b\\xfe"}
    with pytest.raises(SourceError, match="Rename"):
        parse_book(Path(os.fsdecode(os.fsencode(root) + b"/a\xff.md")))
    renamed = root.rename(os.fsdecode(os.fsencode(root) + b"\xff"))
    assert parse_book(renamed).title == "Site\\xff"


def test_a_table_of_contents_can_link_to_an_impossible_name(site: Site) -> None:
    book = parse_book(
        site({"SUMMARY.md": "- [x](a%00.md)\n- [A](a.md)", "a.md": "a", "book.json": '{"root": "a\\u0000"}'})
    )
    assert [(page.file, page.chapter) for page in book.pages] == [("a.md", "A")]
    assert files.resolve_relative_path(Path("book"), "a\0.md") is None


@pytest.mark.parametrize(
    ("field", "title"),
    [
        (r'title: "\uD800x"', "\ufffdx"),
        (r'title: "\ud83d\ude00"', "\U0001f600"),
        (f"title: 0x{'f' * 5000}", "A"),
        (f"? 0x{'f' * 5000}\n: x", "A"),
        (f"sidebar_position: {'9' * 401}", "A"),
        (f"sidebar_position: 0x{'f' * 5000}", "A"),
        (r'slug: "/\uD800\0"', "A"),
        (f"title: {'long ' * 10_000}", ("long " * 200).strip()),
    ],
)
def test_no_front_matter_field_breaks_a_page(site: Site, field: str, title: str) -> None:
    page = f"---\n{field}\n---\nText"
    root = site({"site/docs/A.md": page, "site/docs/_category_.json": "{}", "folder/A.md": page, "folder/b.md": "b"})
    for folder in ("site", "folder"):
        first = parse_book(root / folder).pages[0]
        assert (first.title, first.text[-4:]) == (title, "Text")
        first.url.encode()


@pytest.mark.parametrize("field", [r'"label": "\ud800x"', f'"position": {"9" * 401}', f'"position": {"9" * 5000}'])
def test_no_category_field_breaks_a_book(site: Site, field: str) -> None:
    [page] = parse_book(site({"docs/x/_category_.json": f"{{{field}}}", "docs/x/a.md": "a"})).pages
    assert page.chapter in ("\ufffdx", "X")


@pytest.mark.slow
def test_folders_can_be_nested_deeper_than_the_stack(site: Site) -> None:
    root = site({"a.md": "a"})
    folders = [root / ("d/" * depth) for depth in range(1, 1_101)]
    for folder in folders:
        folder.mkdir()
    (page := folders[-1] / "b.md").write_text("b")
    configured = {"docusaurus.config.js": "export default {docs: {path: '.'}}"}
    try:
        books = [parse_book(root), parse_book(site(configured))]
    finally:
        page.unlink()
        for folder in reversed(folders):
            folder.rmdir()
    for book in books:
        assert [page.file for page in book.pages] == ["a.md", "d/" * 1_100 + "b.md"]


def test_a_path_that_is_too_long_to_open_is_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root := site({"a.md": "a"}))
    for _ in range(30):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["a.md"]
    assert ["left out" in notice.message for notice in book.notices] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
def test_an_unreadable_folder_is_reported(site: Site) -> None:
    root = site({"a.md": "a", "closed/b.md": "b", "website/b.md": "b"})
    for name in ("closed", "website"):
        (root / name).chmod(0)
    book = parse_book(root)
    for name in ("closed", "website"):
        (root / name).chmod(0o700)
    assert [page.file for page in book.pages] == ["a.md"]
    assert set(messages(book)) == {"closed", "website"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\0" * 100, "binary"), (b" \n", "visible text"), (b"<!-- nothing -->", "visible text")],
)
def test_the_error_for_a_book_without_pages_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "only.md").write_bytes(content)
    for source in (tmp_path, tmp_path / "only.md"):
        with pytest.raises(SourceError, match=reason):
            parse_book(source)


def test_a_site_of_only_drafts_is_refused(site: Site) -> None:
    with pytest.raises(SourceError, match="marked draft"):
        parse_book(site({"docs/_category_.json": "{}", "docs/a.md": "---\ndraft: true\n---\nSecret"}))


def test_a_huge_file_is_left_out_unread(site: Site) -> None:
    root = site({"a.md": "a"})
    with (root / "empty.md").open("wb") as file:
        file.truncate(50_000_000_000)
    with (root / "large.md").open("wb") as file:
        file.write(b"words " * 2_000)
        file.truncate(file_loader.MAX_PAGE_BYTES + 1)
    with (root / "fits.md").open("wb") as file:
        file.write(b"words " * 2_000)
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["a.md", "fits.md"]
    assert all("larger than 20000 kB" in messages(book)[name] for name in ("empty.md", "large.md"))


def test_a_very_long_heading_is_a_paragraph(site: Site) -> None:
    words = "name " * 400
    for name, source in (("a.md", f"# {words}\n\n# B\n"), ("a.rst", f"{words}\n{'=' * 2_000}\n\nB\n===\n")):
        (root := site({name: source})).joinpath("a.txt").unlink(missing_ok=True)
        [page] = parse_book(root).pages
        (root / name).unlink()
        assert [block.kind for block in page.blocks] == ["paragraph", "heading"]
        assert (page.title, page.text.count("name")) == ("B", 400)


DOCUSAURUS = {"docusaurus.config.js": "export default {}"}
HOSTILE: dict[str, tuple[str, str]] = {
    "names": (".rst", "a." * 100_000),
    "roles": (".rst", ":a:" * 60_000),
    "equal headings": (".rst", "same\n----\n\n" * 20_000),
    "spaces before a target": (".rst", "`a" + " " * 200_000 + "b`"),
    "definitions": (".rst", ".. |x| replace:: " * 10_000),
    "lines of equals": (".rst", "= x\n\n" * 40_000),
    "endless tables": (".rst", "=== ===\n\nx\n\n" * 30_000),
    "columns": (".rst", "= " * 50_000 + "=\n" + "a\n" * 50_000),
    "double brackets": (".md", "[[" * 200_000),
    "brackets": (".md", "[" * 400_000),
    "bracketed lines": (".md", "[a\n" * 60_000),
    "brackets in a title": (".md", "# x\n\n:::note " + "[" * 200_000),
    "pictures": (".md", "![" * 100_000),
    "footnotes": (".md", "[^" * 100_000),
    "templates": (".md", "{* " * 33_000 + "{% " * 33_000),
    "anchors": (".md", "# " + "{#a " * 50_000),
    "an anchor": (".md", "# {#" + "a" * 200_000),
    "spaces after a key": (".md", "{% label=" + " " * 200_000 + "%}"),
    "cells": (".md", "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "x\n" * 20_000),
    "tags": (".md", "<div>" * 20_000 + "x" + "</div>" * 20_000),
    "comments": (".mdx", "{/*" * 150_000),
    "line comments": (".mdx", "{//" * 33_000 + "\n" + "a " * 50_000),
    "imports": (".mdx", "import a\n" * 22_000),
    "unwrapped code": (".mdx", "```mdx-code-block\n" * 20_000 + "```"),
    "elements": (".mdx", "<A b={" * 20_000 + "x" + "}/>" * 20_000),
}


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize("kind", HOSTILE)
def test_time_grows_with_size_only_and_no_word_is_lost(site: Site, kind: str) -> None:
    suffix, hostile = HOSTILE[kind]
    page = {f"docs/a{suffix}": f"alpha\n\n{hostile}\n\nomega"}
    root = site(page | (DOCUSAURUS if suffix == ".mdx" else {}))
    read_within_limits(root)


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize(
    "config", [" " * 200_000, "/* " * 60_000, "{title:'" * 20_000, "docs: {" * 25_000, "\n" * 190_000]
)
def test_a_javascript_configuration_takes_time_in_proportion_to_its_size(site: Site, config: str) -> None:
    root = site({"docusaurus.config.js": config[:190_000], "docs/a.md": "alpha omega"})
    read_within_limits(root)


MARKUP: dict[str, str] = {
    "attributes": "{ .a " * 10_000,
    "code": "{* a " * 10_000 + "{! a " * 10_000,
    "definitions": "a\n: b\n\n" * 4_000,
    "escaped": "\\{{#" * 10_000,
    "hidden": "```rust\n" + "# \n" * 10_000 + "```",
    "includes": "{{#include " * 8_000 + "{{#a" + " " * 50_000,
    "keys": "++a+" * 10_000,
    "same": "## same\n\n" * 5_000,
    "shortcodes": "{{< highlight " * 8_000,
    "snippets": "--8<--\n" * 10_001,
}
GENERATORS = {
    "docs/": {"mkdocs.yml": "markdown_extensions: [abbr]"},
    "src/": {"book.toml": "", "src/SUMMARY.md": "\n".join(f"- [A]({name}.md)" for name in MARKUP)},
    "content/": {"hugo.toml": ""},
}


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize("folder", GENERATORS)
def test_generator_markup_takes_time_in_proportion_to_its_size(site: Site, folder: str) -> None:
    pages = {f"{folder}{name}.md": f"alpha\n\n{hostile}\n\nomega" for name, hostile in MARKUP.items()}
    root = site({**GENERATORS[folder], **pages})
    read_within_limits(root)


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize("config", ["[" * 50_000, "a: {" * 10_000, "- " * 20_000, "x: &a [*a]\n" * 1_000])
def test_a_yaml_configuration_takes_time_in_proportion_to_its_size(site: Site, config: str) -> None:
    root = site({"mkdocs.yml": config, "docs/a.md": "alpha omega"})
    read_within_limits(root)
