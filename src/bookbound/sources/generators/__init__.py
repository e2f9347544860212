"""Reads the sources of documentation generators, and finds their configuration files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from bookbound.domain.document import SourceNotice
from bookbound.sources import files


class _Site(Protocol):
    @property
    def docs(self) -> Path: ...


SiteT = TypeVar("SiteT", bound=_Site)


def find_sites(
    root: Path,
    config_names: Sequence[str],
    load: Callable[[Path], list[SiteT]],
    below: Iterable[Path] = (),
    levels: int = 1,
) -> tuple[list[SiteT], list[SourceNotice]]:
    """Find the sites that are configured in `root` or one of the folders `below`, else the one whose pages `root` has.

    That one has its configuration in one of the `levels` folders above. A notice names a configuration in `root` whose
    pages are elsewhere.
    """
    notices = []
    for home in (root, *below):
        config = find_file(home, config_names)
        sites = load(config) if config else []
        inside = [site for site in sites if files.is_inside(site.docs, root)]
        if config and len(inside) < len(sites):
            message = "its pages are outside of this folder: name a folder that contains both"
            notices.append(SourceNotice(config.name, message))
        found = [site for site in inside if files.is_folder(site.docs)]
        if found:
            return found, notices
    for home in enclosing_folders(root, levels):
        config = find_file(home, config_names)
        for site in load(config) if config else []:
            if os.path.realpath(site.docs) == os.path.realpath(root):
                return [site], notices
    return [], notices


def find_file(folder: Path, names: Iterable[str]) -> Path | None:
    return next((folder / name for name in names if files.is_file(folder / name)), None)


def enclosing_folders(root: Path, levels: int = 1) -> list[Path]:
    """List the folders above a path as it is named and, if it is a link, above its target."""
    parents = [parent for path in (root.absolute(), root.resolve()) for parent in list(path.parents)[:levels]]
    return list(dict.fromkeys(parents))
