"""The files of a book's folder that a reader may open."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bookbound.book import Notice

_NEVER = frozenset(("node_modules", "__pycache__", "_build", "venv", "site-packages"))
_OUTPUTS = frozenset(("build", "dist", "out", "site", "public", "book", "_book", "html", "target"))


def find(root: Path, suffixes: frozenset[str]) -> tuple[list[Path], list[Notice]]:
    """Files below `root` that end in one of `suffixes`, in natural order, and those that were left out.

    Hidden folders, installed packages and built sites are passed over, and links that lead out of the folder.
    """
    found: list[Path] = []
    notices: list[Notice] = []
    home = root.resolve()

    def unreadable(error: OSError) -> None:
        folder = Path(error.filename or root)
        notices.append(Notice(folder.relative_to(root).as_posix(), "this folder could not be read; left out"))

    for folder, folders, names in os.walk(root, onerror=unreadable):
        here = Path(folder)
        folders[:] = [name for name in folders if _is_source(here / name)]
        for name in names:
            path = here / name
            if path.suffix.lower() not in suffixes or name.startswith("."):
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(home):
                notices.append(Notice(path.relative_to(root).as_posix(), "is a link that leaves the folder; left out"))
            elif path.is_file():
                found.append(path)
    return sorted(found, key=lambda path: natural(path.relative_to(root).as_posix())), notices


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key in which 2 comes before 10, and a folder's pages before its folders' ."""
    parts = re.split(r"(\d+)", name.lower())
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)


def readable(name: str) -> str:
    """A file's or folder's name as words."""
    words = re.sub(r"^\d+[-_. ]+(?=\D)", "", name)
    words = re.sub(r"[-_\s]+", " ", words).strip() or name
    return words[:1].upper() + words[1:]


def _is_source(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _NEVER or folder.is_symlink():
        return False
    return not (folder.name in _OUTPUTS and (folder / "index.html").exists())
