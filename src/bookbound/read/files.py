"""The files of a book's folder that a reader may open."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bookbound.book import Notice

_NEVER = frozenset(("node_modules", "__pycache__", "_build", "venv", "site-packages"))
_OUTPUTS = frozenset(("build", "dist", "out", "site", "public", "book", "_book", "html", "target"))

_NAMED = 5
_LONGEST_NAME = 100


def find(root: Path, suffixes: frozenset[str], built: bool = False) -> tuple[list[Path], list[Notice]]:
    """Files below `root` that end in one of `suffixes`, in natural order, and those that were left out.

    Hidden folders, installed packages, built sites and indexes are passed over, and links that lead out of the folder;
    below what was `built` itself every folder may hold pages that is not hidden.
    """
    found: list[Path] = []
    faults: list[tuple[Path, str]] = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            inside = list(folder.iterdir())
        except OSError:
            faults.append((folder, "this folder could not be read"))
            continue
        for path in inside:
            try:
                is_folder = path.is_dir()
                wanted = is_source(path, built) if is_folder else _is_page(path, suffixes)
                fault = _fault(path, root) if wanted else ""
            except OSError:
                wanted, fault = True, "could not be opened"
            if fault:
                faults.append((path, fault))
            elif wanted:
                (waiting if is_folder else found).append(path)
    notices = [Notice(shown(path.relative_to(root)), f"{fault}; left out", lost=True) for path, fault in sorted(faults)]
    return sorted(found, key=lambda path: natural(path.relative_to(root).as_posix())), notices


def natural(name: str) -> tuple[object, ...]:
    """A sort key in which 2 comes before 10, a name before those that go on from it, and a page before its folder."""
    *folders, last = name.lower().split("/")
    stem, dot, ending = last.rpartition(".")
    page = (_counted(stem), False, _counted(ending)) if dot and stem else (_counted(last), False, ())
    return (*((_counted(folder), True, ()) for folder in folders), page)


def _counted(name: str) -> tuple[tuple[int, int, str], ...]:
    """Words and numbers in turn; of two numbers the one with more digits is the larger, however many there are."""
    parts = ((part, part.lstrip("0")) for part in re.split(r"(\d+)", name))
    return tuple((0, len(digits), digits) if part.isdecimal() else (1, 0, part) for part, digits in parts)


def readable(name: str) -> str:
    """A file's or folder's name as words."""
    words = re.sub(r"^\d+[-_. ]+(?=\D)", "", name)
    words = re.sub(r"[-_\s]+", " ", words).strip() or name
    return words[:1].upper() + words[1:]


def first_of(names: Sequence[str]) -> str:
    """The first of some names, cut where they are endless, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(name[:_LONGEST_NAME] for name in names[:_NAMED]) + more


def shown(path: Path) -> str:
    """A path as it can be printed: what of a name is not UTF-8 is written as numbers."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def is_file(path: Path) -> bool:
    """Whether a file stands at a path, as far as one is allowed to look."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder stands at a path, as far as one is allowed to look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, all links followed, stays within a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def beside(folder: Path, target: str) -> Path | None:
    """Where a path that was written in a file of `folder` leads; nothing where no file can be called so."""
    try:
        written = os.fsencode(target)
    except UnicodeEncodeError:  # half of a character
        return None
    return None if b"\0" in written else Path(os.path.normpath(folder / target))


def _fault(path: Path, root: Path) -> str:
    """Why a page or a folder of pages cannot be part of the book, or nothing."""
    if shown(path.relative_to(root)) != path.relative_to(root).as_posix():
        return "its name is not UTF-8: rename it"
    if path.is_symlink() and not is_inside(path, root):
        return "is a link that leaves the folder"
    return "" if path.is_file() or path.is_dir() else "is no file that can be opened"


def _is_page(path: Path, suffixes: frozenset[str]) -> bool:
    return path.suffix.lower() in suffixes and not path.name.startswith(".")


def is_source(folder: Path, built: bool = False) -> bool:
    """Whether a folder may hold pages: it is neither hidden nor installed, built or an index."""
    if folder.name.startswith(".") or folder.is_symlink():
        return False
    if built:
        return True
    if folder.name in _NEVER:
        return False
    if (folder / "current").is_file() and (folder / "generations").is_dir():
        return False
    return not (folder.name in _OUTPUTS and (folder / "index.html").exists())
