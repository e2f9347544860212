"""Fingerprints a source: any file that a reader could open changes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.search_index_files import make_inventory

from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source

Site = Callable[[dict[str, str]], Path]


def test_a_fingerprint_changes_with_contents_names_and_settings_only(site: Site) -> None:
    root = site({"a.md": "a", "b/c.md": "c"})
    first = fingerprint_source(root)
    os.utime(root / "a.md", (1, 1))
    assert fingerprint_source(root) == first
    (root / "a.md").write_text("b")
    second = fingerprint_source(root)
    (root / "a.md").rename(root / "d.md")
    third = fingerprint_source(root)
    (root.parent / "mkdocs.yml").write_text("site_name: x")
    assert len({first, second, third, fingerprint_source(root)}) == 4


def test_pipes_devices_and_loops_are_not_opened(site: Site) -> None:
    root = site({"a.md": "a"})
    first = fingerprint_source(root)
    os.mkfifo(root / "pipe.md")
    (root / "endless.md").symlink_to("/dev/zero")
    (root / "loop.md").symlink_to("loop.md")
    assert fingerprint_source(root) == fingerprint_source(root) != first


def test_a_renamed_source_has_another_fingerprint(site: Site) -> None:
    root = site({"a.md": "a"})
    first = fingerprint_source(root), fingerprint_source(root / "a.md")
    (root / "a.md").rename(root / "b.md")
    assert fingerprint_source(root / "b.md") != first[1]
    (root / "b.md").rename(root / "a.md")
    assert fingerprint_source(root.rename(root.with_name("another"))) != first[0]


def test_all_folders_of_a_built_site_count(site: Site) -> None:
    root = site({"index.html": "<p>a</p>", "book/index.html": "<p>b</p>"})
    first = fingerprint_source(root)
    (root / "book" / "index.html").write_text("<p>c</p>")
    assert fingerprint_source(root) != first


ORDERED = {"a.md": "# A\n\nWords.", "b.md": "# B\n\nWords.", "c/d.md": "# D\n\nWords."}
LISTED = {"SUMMARY.md": "* [A](a.md)", "c/SUMMARY.md": "* [D](d.md)", **ORDERED}
AWESOME = {f"docs/{name}": text for name, text in ORDERED.items()}


@pytest.mark.parametrize(
    ("before", "name", "text"),
    [
        ({"mkdocs.yml": "plugins: [awesome-pages]", **AWESOME}, "docs/.pages", "nav: [b.md, a.md]"),
        ({"mkdocs.yml": "plugins: [awesome-nav]", **AWESOME}, "docs/c/.nav.yml", "title: Another"),
        ({"mkdocs.yml": "INHERIT: .base.yml", **AWESOME}, ".base.yml", "site_name: Another"),
        (LISTED, ".gitbook.yaml", "root: ./c"),
        ({"c/list.md": "* [D](d.md)", **ORDERED}, ".gitbook.yaml", "structure:\n  summary: c/list.md"),
    ],
)
def test_a_new_hidden_file_that_changes_the_book_changes_the_fingerprint(
    site: Site, before: dict[str, str], name: str, text: str
) -> None:
    book = parse_book(root := site(before))
    first = fingerprint_source(root, book.outside_files)
    assert fingerprint_source(root, book.outside_files) == first
    (root / name).write_text(text)
    after = parse_book(root)
    assert (after.title, after.pages) != (book.title, book.pages)
    assert fingerprint_source(root, book.outside_files) != first


def test_files_that_detection_opens_in_subfolders_are_not_recorded(site: Site) -> None:
    assert parse_book(site(ORDERED)).outside_files == (".gitbook.yaml",)


def test_an_inventory_outside_the_source_changes_the_fingerprint(site: Site) -> None:
    root = site({"source/conf.py": "", "source/index.rst": "Index\n=====\n\nSee :ref:`place`.\n"}) / "source"
    texts, fingerprints = [], []
    outside = parse_book(root).outside_files
    for title in ("", "Old", "New"):
        if title:
            build(root.parent / "build" / "html", title)
        texts.append(parse_book(root).pages[0].text.split("See ")[1])
        fingerprints.append(fingerprint_source(root, outside))
    assert (texts, len(set(fingerprints))) == (["place.", "Old.", "New."], 3)


def test_an_inventory_behind_a_link_out_of_the_source_is_not_read(site: Site, tmp_path: Path) -> None:
    root = site({"source/conf.py": "", "source/index.rst": "Index\n=====\n\nSee :ref:`place`.\n"}) / "source"
    build(tmp_path / "away", "Elsewhere")
    (root / "objects.inv").symlink_to(tmp_path / "away" / "objects.inv")
    assert "Elsewhere" not in parse_book(root).pages[0].text


def build(folder: Path, title: str) -> None:
    """Write an inventory with one titled place."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "objects.inv").write_bytes(make_inventory(f"place std:label -1 a.html#place {title}\n"))


@pytest.mark.parametrize("added", ["versioned_docs/version-1.0/b.md", "config/_default/params.toml"])
def test_related_folders_next_to_the_pages_count(site: Site, added: str) -> None:
    root = site({"docs/a.md": "a"})
    first = fingerprint_source(root / "docs")
    (root / added).parent.mkdir(parents=True)
    (root / added).write_text("b")
    assert fingerprint_source(root / "docs") != first
