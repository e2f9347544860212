"""Showing how a source is read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.sources.local_server import HOST, folder_responses, serve_site
from tests.sources.pdf_files import PlacedText, make_pdf

from bookbound.sources.detect import BOOK_READERS

SITE = Path(__file__).parent.parent / "sources" / "sites" / "mdbook"
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


def test_it_shows_format_chapters_pages_and_what_is_left_out(bookbound: Run, manual: Path) -> None:
    done = bookbound("inspect", str(manual))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Book      The Manual",
        "Format    mkdocs (mkdocs.yml)",
        "Pages     3 in 2 chapters",
        "Words     19",
        "Contents  1 code block, 1 table, 1 formula",
        "Anchors   4",
        "",
        "Home  1 page, 7 words",
        "  Home  /",
        "Guide  2 pages, 12 words",
        "  First  /guide/a/",
        "  Second  /guide/b/",
        "",
        "Notes",
        "  docs/draft.md: is excluded by the configuration",
    ]


def test_json_has_the_same(bookbound: Run, manual: Path) -> None:
    found = json.loads(bookbound("inspect", str(manual), "--json").stdout)
    assert (found["title"], found["kind"], found["detected_by"], found["words"]) == (
        "The Manual",
        "mkdocs",
        "mkdocs.yml",
        19,
    )
    assert found["blocks"] == {"code": 1, "table": 1, "formula": 1, "admonition": 0}
    assert [(chapter["title"], len(chapter["pages"])) for chapter in found["chapters"]] == [("Home", 1), ("Guide", 2)]
    assert found["chapters"][1]["pages"][0] == {
        "title": "First",
        "url": "/guide/a/",
        "file": "docs/guide/a.md",
        "position": 1,
        "words": 8,
        "anchors": 2,
    }
    assert (found["lost"], found["editions"], len(found["notices"])) == (False, [], 1)


def test_pages_that_cannot_be_read_exit_with_5(bookbound: Run, manual: Path) -> None:
    (manual / "docs" / "index.md").write_bytes(b"\0\0\0")
    done = bookbound("inspect", str(manual))
    assert done.returncode == 5
    assert "\nMissing\n  docs/index.md: has binary data" in done.stdout


def test_the_format_can_be_given(bookbound: Run, manual: Path) -> None:
    assert (
        "Format    markdown (--source-format)"
        in bookbound("inspect", str(manual), "--source-format", "markdown").stdout
    )


@pytest.mark.parametrize("arguments", [("nowhere",), (".", "--source-format", "word"), ()])
def test_bad_use_exits_with_2(bookbound: Run, manual: Path, arguments: tuple[str, ...]) -> None:
    done = bookbound("inspect", *arguments, cwd=manual)
    assert done.returncode == 2
    assert done.stdout == ""


def test_the_editions_of_a_source_are_listed(bookbound: Run, tmp_path: Path) -> None:
    for name, text in {
        "docusaurus.config.js": "module.exports = {}",
        "versions.json": '["1.0"]',
        "docs/a.md": "a",
        "versioned_docs/version-1.0/a.md": "a",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert "Editions  1.0, current\n" in bookbound("inspect", ".", cwd=tmp_path).stdout
    assert "/docs/next/a\n" in bookbound("inspect", ".", "--edition", "current", cwd=tmp_path).stdout
    refused = bookbound("inspect", ".", "--edition", "next", cwd=tmp_path)
    assert (refused.returncode, "one of 1.0, current" in refused.stderr) == (2, True)


@pytest.mark.parametrize("command", ["inspect", "index"])
def test_help_lists_the_formats(bookbound: Run, command: str) -> None:
    words = set(bookbound(command, "--help").stdout.replace(",", " ").replace(".", " ").split())
    assert {reader.kind for reader in BOOK_READERS} - words == set()


def test_inspect_index_and_status_count_the_pages_of_a_pdf(bookbound: Run, tmp_path: Path) -> None:
    items = [[PlacedText(72, 72, f"Page {number} speaks of motors.")] for number in range(1, 17)]
    (tmp_path / "a.pdf").write_bytes(make_pdf([*items, []]))
    found = bookbound("inspect", "a.pdf", cwd=tmp_path).stdout
    assert re.search(r"^Pages +17 in 1 chapter$", found, re.MULTILINE)
    assert "  16 pages, " in found
    assert "Printed pages" not in found
    assert "Anchors" not in found
    indexed = bookbound("index", "a.pdf", cwd=tmp_path).stdout
    assert re.search(r"^Pages +17$", indexed, re.MULTILINE)
    assert "1 part added" in indexed
    assert json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)["pages"] == 17


def test_a_search_index_of_the_generator_is_shown(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<main><h1>Home</h1>words</main>")
    assert "Search index" not in bookbound("inspect", ".", cwd=tmp_path).stdout
    (tmp_path / "searchindex.js").write_text('Search.setIndex({docnames:["index"],titles:["Home"]})')
    assert "Search index  searchindex.js\n" in bookbound("inspect", ".", cwd=tmp_path).stdout
    assert json.loads(bookbound("inspect", ".", "--json", cwd=tmp_path).stdout)["search_indexes"] == ["searchindex.js"]


def test_a_site_is_inspected_if_its_host_is_allowed(bookbound: Run) -> None:
    with serve_site(folder_responses(SITE)) as web:
        refused = bookbound("inspect", "--site", web.url)
        assert (refused.returncode, web.requested) == (2, [])
        assert "crawl_allowed_hosts" in refused.stderr
        done = bookbound("inspect", "--site", web.url, BOOKBOUND_CRAWL_ALLOWED_HOSTS=HOST)
        assert (done.returncode, done.stderr) == (0, "")
        assert "html (a site on the web)" in done.stdout
        assert f"  Cleaning  {web.url}/care/clean.html" in done.stdout.splitlines()


def test_the_password_of_an_address_is_not_shown(bookbound: Run) -> None:
    for command in ("inspect", "index"):
        done = bookbound(command, "--site", "https://user:secret@book.example/")
        assert done.returncode == 2
        assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [[], ["--site", "https://book.example/", "."]])
def test_exactly_one_source_or_site_is_needed(bookbound: Run, arguments: list[str]) -> None:
    done = bookbound("inspect", *arguments)
    assert done.returncode == 2
    assert "--site URL" in done.stderr
