"""Where a Sphinx project stands and how it is put together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Notice
from bookbound.read import decode, files
from bookbound.read.sphinx.config import Config, load_config
from bookbound.read.sphinx.inventory import Inventory, read_inventory
from bookbound.read.sphinx.order import pattern

_HOMES = ("", "source", "src", "docs", "doc", "docs/source", "doc/source", "docs/src")
_BUILT = ("", "_build/html", "build/html", "../build/html", "../_build/html")
_ALSO = (".md", ".ipynb")
_LOOKED_INTO = 200


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of a project's pages, and its configuration."""

    home: Path
    config: Config = field(default_factory=Config)
    notices: tuple[Notice, ...] = ()

    def files(self) -> tuple[list[Path], list[Path], list[Notice]]:
        """The files of its pages, others that become pages where they are listed, and what is odd about files."""
        ends = frozenset(Path(f"x{end}").suffix.lower() for end in (*self.config.suffixes, *_ALSO))
        found, notices = files.find(self.home, ends)
        excluded = [pattern(name.rstrip("/")) for name in self.config.excluded]
        kept = [path for path in found if not _is_excluded(path.relative_to(self.home), excluded)]
        pages = [path for path in kept if path.name.endswith(self.config.suffixes)]
        others = [path for path in kept if not path.name.endswith(self.config.suffixes)]
        return pages, [path for path in others if path.suffix.lower() in _ALSO], notices

    def name(self, path: Path) -> str:
        """What a page is called within the project: its path without its ending."""
        name = path.relative_to(self.home).as_posix()
        ending = next((end for end in self.config.suffixes if name.endswith(end)), path.suffix)
        return name.removesuffix(ending)

    def address(self, name: str) -> str:
        """Where a page opens: below the project's own address, where it has one."""
        return f"{self.config.address.rstrip('/')}/{quote(name)}.html"

    def inventory(self) -> Inventory:
        """What a built copy in the project or beside it lists."""
        for name in _BUILT:
            path = self.home / name / "objects.inv"
            data = decode.content(path, path.name)[0] if files.is_inside(path, self.home / "..") else None
            if data is not None:
                return read_inventory(data)
        return {}


def find_project(source: Path) -> Project | None:
    """The project of a folder; where it shows none, the home is what the pages that list others have in common."""
    own = own_project(source)
    if own:
        return own
    # What lists the pages of others stands above them.
    pages = sorted(files.find(source, frozenset((".rst",)))[0], key=lambda path: len(path.parts))
    listing = [path for path in pages[:_LOOKED_INTO] if _lists_pages(path)]
    return Project(Path(os.path.commonpath([path.parent for path in listing]))) if listing else None


def own_project(source: Path) -> Project | None:
    """The project that stands where a folder would keep one: that of a `conf.py`, else of an index that lists pages."""
    homes = [source / name for name in _HOMES if files.is_folder(source / name)]
    for home in homes:
        if files.is_file(home / "conf.py"):
            config, notices = load_config(home / "conf.py")
            if any(files.is_file(home / f"{config.root}{end}") for end in (*config.suffixes, *_ALSO)):
                return Project(home, config, tuple(notices))
    for home in homes:
        for root in _indexes(home):
            if _lists_pages(root):
                # An index that ends otherwise tells what all pages end in.
                return Project(home, Config(suffixes=(root.name.removeprefix("index"),)))
    return None


def _indexes(home: Path) -> Iterable[Path]:
    try:
        return sorted(home.glob("index*.rst"))
    except OSError:
        return ()


def _lists_pages(path: Path) -> bool:
    text, _ = decode.load(path, path.name, decode.LARGEST_SETTINGS) if files.is_file(path) else (None, [])
    return ".. toctree::" in (text or "")


def _is_excluded(path: Path, excluded: list[re.Pattern[str]]) -> bool:
    """Whether a pattern takes in a path, or a folder that it stands in."""
    names = [path.as_posix(), *(folder.as_posix() for folder in path.parents)]
    return any(each.fullmatch(name) for each in excluded for name in names)
