"""The mark of a source changes with what can be read of it, and making it ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from bookbound.read.prints import mark

Site = Callable[[dict[str, str]], Path]


def test_a_mark_changes_with_content_names_and_settings_and_with_nothing_else(site: Site) -> None:
    root = site({"a.md": "a", "b/c.md": "c"})
    first = mark(root)
    os.utime(root / "a.md", (1, 1))
    assert mark(root) == first
    (root / "a.md").write_text("b")
    second = mark(root)
    (root / "a.md").rename(root / "d.md")
    third = mark(root)
    (root.parent / "mkdocs.yml").write_text("site_name: x")
    assert len({first, second, third, mark(root)}) == 4


def test_what_is_no_file_is_not_opened(site: Site) -> None:
    root = site({"a.md": "a"})
    first = mark(root)
    os.mkfifo(root / "pipe.md")
    (root / "endless.md").symlink_to("/dev/zero")
    (root / "loop.md").symlink_to("loop.md")
    assert mark(root) == mark(root) != first


def test_a_source_of_another_name_has_another_mark(site: Site) -> None:
    root = site({"a.md": "a"})
    first = mark(root), mark(root / "a.md")
    (root / "a.md").rename(root / "b.md")
    assert mark(root / "b.md") != first[1]
    (root / "b.md").rename(root / "a.md")
    assert mark(root.rename(root.with_name("another"))) != first[0]


def test_a_page_of_a_built_site_counts_whatever_its_folder_is_called(site: Site) -> None:
    root = site({"index.html": "<p>a</p>", "book/index.html": "<p>b</p>"})
    first = mark(root)
    (root / "book" / "index.html").write_text("<p>c</p>")
    assert mark(root) != first
