"""Saying what a source is taken for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.pdf_files import Put, pdf

from bookbound.sources.detect import BOOK_READERS

Run = Callable[..., subprocess.CompletedProcess[str]]

PAGES = {
    "mkdocs.yml": "site_name: The Manual\nnav: [index.md, {Guide: [guide/a.md, guide/b.md]}]\nexclude_docs: draft.md",
    "docs/index.md": "# Home\n\nSome words here.\n\n```py\nx = 1\n```",
    "docs/guide/a.md": "# First\n\n## Deeper\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "docs/guide/b.md": "# Second\n\n$$\nx = 1\n$$",
    "docs/draft.md": "no",
}


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        path = tmp_path / "manual" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "manual"


def test_it_says_kind_sign_chapters_pages_and_what_is_left_out(bookbound: Run, manual: Path) -> None:
    done = bookbound("inspect", str(manual))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Book        The Manual",
        "Kind        mkdocs (mkdocs.yml)",
        "Pages       3 in 2 chapters",
        "Words       19",
        "Among them  1 code block, 1 table, 1 formula",
        "Anchors     4",
        "",
        "Home  1 page, 7 words",
        "  Home  /",
        "Guide  2 pages, 12 words",
        "  First  /guide/a/",
        "  Second  /guide/b/",
        "",
        "To know",
        "  docs/draft.md: is excluded by the configuration",
    ]


def test_it_says_the_same_as_json(bookbound: Run, manual: Path) -> None:
    told = json.loads(bookbound("inspect", str(manual), "--json").stdout)
    assert (told["title"], told["kind"], told["sign"], told["words"]) == ("The Manual", "mkdocs", "mkdocs.yml", 19)
    assert told["blocks"] == {"code": 1, "table": 1, "formula": 1, "admonition": 0}
    assert [(chapter["title"], len(chapter["pages"])) for chapter in told["chapters"]] == [("Home", 1), ("Guide", 2)]
    assert told["chapters"][1]["pages"][0] == {
        "title": "First",
        "url": "/guide/a/",
        "file": "docs/guide/a.md",
        "position": 1,
        "words": 8,
        "anchors": 2,
    }
    assert (told["lost"], told["editions"], len(told["notices"])) == (False, [], 1)


def test_pages_that_could_not_be_read_end_it_with_five(bookbound: Run, manual: Path) -> None:
    (manual / "docs" / "index.md").write_bytes(b"\0\0\0")
    done = bookbound("inspect", str(manual))
    assert done.returncode == 5
    assert "\nMissing\n  docs/index.md: holds binary data" in done.stdout


def test_a_kind_may_be_named(bookbound: Run, manual: Path) -> None:
    assert "Kind        markdown (as you said)" in bookbound("inspect", str(manual), "--as", "markdown").stdout


@pytest.mark.parametrize("arguments", [("nowhere",), (".", "--as", "word"), ()])
def test_bad_use_ends_it_with_two(bookbound: Run, manual: Path, arguments: tuple[str, ...]) -> None:
    done = bookbound("inspect", *arguments, cwd=manual)
    assert done.returncode == 2
    assert done.stdout == ""


def test_editions_are_named_where_a_source_holds_several(bookbound: Run, tmp_path: Path) -> None:
    for name, text in {
        "docusaurus.config.js": "module.exports = {}",
        "versions.json": '["1.0"]',
        "docs/a.md": "a",
        "versioned_docs/version-1.0/a.md": "a",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert "Editions    1.0, current\n" in bookbound("inspect", ".", cwd=tmp_path).stdout
    assert "/docs/next/a\n" in bookbound("inspect", ".", "--edition", "current", cwd=tmp_path).stdout
    refused = bookbound("inspect", ".", "--edition", "next", cwd=tmp_path)
    assert (refused.returncode, "choose one of 1.0, current" in refused.stderr) == (2, True)


@pytest.mark.parametrize("command", ["inspect", "index"])
def test_help_lists_the_kinds(bookbound: Run, command: str) -> None:
    words = set(bookbound(command, "--help").stdout.replace(",", " ").replace(".", " ").split())
    assert {reader.kind for reader in BOOK_READERS} - words == set()


def test_a_book_of_printed_pages_says_how_many(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf([[Put(72, 72, "One page.")], [Put(72, 72, "Another page.")]]))
    told = bookbound("inspect", "a.pdf", cwd=tmp_path).stdout
    assert "Leaves      2\n" in told
    assert "Anchors" not in told


def test_it_names_the_map_that_the_generator_made(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<main><h1>Home</h1>words</main>")
    assert "Map " not in bookbound("inspect", ".", cwd=tmp_path).stdout
    (tmp_path / "searchindex.js").write_text('Search.setIndex({docnames:["index"],titles:["Home"]})')
    assert "Map         searchindex.js (the generator's own)\n" in bookbound("inspect", ".", cwd=tmp_path).stdout
    assert json.loads(bookbound("inspect", ".", "--json", cwd=tmp_path).stdout)["maps"] == ["searchindex.js"]
