"""Generators share one way to find their configuration."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bookbound.sources.generators import find_sites


class Site(NamedTuple):
    docs: Path


def load(config: Path) -> list[Site]:
    return [Site(config.parent / name) for name in config.read_text().split()]


def test_a_site_is_found_in_the_folder_below_it_and_above_its_pages(tmp_path: Path) -> None:
    docs = tmp_path / "site" / "docs"
    docs.mkdir(parents=True)
    (tmp_path / "site" / "site.conf").write_text("docs")
    assert find_sites(tmp_path / "site", ["site.conf"], load) == ([Site(docs)], [])
    assert find_sites(tmp_path, ["site.conf"], load) == ([], [])
    assert find_sites(tmp_path, ["site.conf"], load, below=[tmp_path / "site"]) == ([Site(docs)], [])
    assert find_sites(docs, ["site.conf"], load) == ([Site(docs)], [])
    (docs / "part").mkdir()
    assert find_sites(docs / "part", ["site.conf"], load, levels=2) == ([], [])


def test_pages_outside_of_the_folder_are_reported(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "site" / "site.conf").write_text("../other missing")
    sites, [notice] = find_sites(tmp_path / "site", ["site.conf"], load)
    assert (sites, notice.file, "outside" in notice.message) == ([], "site.conf", True)
