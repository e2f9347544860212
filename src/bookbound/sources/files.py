"""Finds the files of a book's folder that may be opened, and sorts and names them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bookbound.domain.document import SourceNotice

_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "_build", "venv", "site-packages"))
_BUILD_FOLDERS = frozenset(("build", "dist", "out", "site", "public", "book", "_book", "html", "target"))
_MAX_JOINED_NAMES = 5
_MAX_NAME_CHARS = 100


def find_files(root: Path, suffixes: frozenset[str], built: bool = False) -> tuple[list[Path], list[SourceNotice]]:
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
                wanted = is_source_folder(path, built) if is_folder else _has_page_suffix(path, suffixes)
                fault = _rejection_reason(path, root) if wanted else ""
            except OSError:
                wanted, fault = True, "could not be opened"
            if fault:
                faults.append((path, fault))
            elif wanted:
                (waiting if is_folder else found).append(path)
    notices = [
        SourceNotice(printable_path(path.relative_to(root)), f"{fault}; left out", lost=True)
        for path, fault in sorted(faults)
    ]
    return sorted(found, key=lambda path: natural_sort_key(path.relative_to(root).as_posix())), notices


def natural_sort_key(name: str) -> tuple[object, ...]:
    """A sort key in which 2 comes before 10, a name before those that go on from it, and a page before its folder."""
    *folders, last = name.lower().split("/")
    stem, dot, ending = last.rpartition(".")
    page = (_split_numbers(stem), False, _split_numbers(ending)) if dot and stem else (_split_numbers(last), False, ())
    return (*((_split_numbers(folder), True, ()) for folder in folders), page)


def _split_numbers(name: str) -> tuple[tuple[int, int, str], ...]:
    """Words and numbers in turn; of two numbers the one with more digits is the larger, however many there are."""
    parts = ((part, part.lstrip("0")) for part in re.split(r"(\d+)", name))
    return tuple((0, len(digits), digits) if part.isdecimal() else (1, 0, part) for part, digits in parts)


def join_first_names(names: Sequence[str]) -> str:
    """The first of some names, cut where they are endless, and how many more there are."""
    more = f" and {len(names) - _MAX_JOINED_NAMES} more" if len(names) > _MAX_JOINED_NAMES else ""
    return ", ".join(name[:_MAX_NAME_CHARS] for name in names[:_MAX_JOINED_NAMES]) + more


def printable_path(path: Path) -> str:
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


def resolve_relative_path(folder: Path, target: str) -> Path | None:
    """Where a path that was written in a file of `folder` leads; nothing where no file can be called so."""
    try:
        written = os.fsencode(target)
    except UnicodeEncodeError:  # half of a character
        return None
    return None if b"\0" in written else Path(os.path.normpath(folder / target))


def _rejection_reason(path: Path, root: Path) -> str:
    """Why a page or a folder of pages cannot be part of the book, or nothing."""
    if printable_path(path.relative_to(root)) != path.relative_to(root).as_posix():
        return "its name is not UTF-8: rename it"
    if path.is_symlink() and not is_inside(path, root):
        return "is a link that leaves the folder"
    return "" if path.is_file() or path.is_dir() else "is no file that can be opened"


def _has_page_suffix(path: Path, suffixes: frozenset[str]) -> bool:
    return path.suffix.lower() in suffixes and not path.name.startswith(".")


def is_source_folder(folder: Path, built: bool = False) -> bool:
    """Whether a folder may hold pages: it is neither hidden nor installed, built or an index."""
    if folder.name.startswith(".") or folder.is_symlink():
        return False
    if built:
        return True
    if folder.name in _SKIPPED_FOLDERS:
        return False
    if (folder / "current").is_file() and (folder / "generations").is_dir():
        return False
    return not (folder.name in _BUILD_FOLDERS and (folder / "index.html").exists())


MARKDOWN_SUFFIXES = frozenset((".md", ".mdx", ".markdown"))
TEXT_SUFFIXES = frozenset((".rst", ".txt"))
NOTEBOOK_SUFFIXES = frozenset((".ipynb",))
HTML_SUFFIXES = frozenset((".html", ".htm", ".xhtml"))
EPUB_SUFFIXES = frozenset((".epub",))
PDF_SUFFIXES = frozenset((".pdf",))
