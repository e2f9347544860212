"""Finds, sorts and names the files of a book's folder, and reports those that are not read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bookbound.domain.document import SourceNotice

MARKDOWN_SUFFIXES = frozenset((".md", ".mdx", ".markdown"))
TEXT_SUFFIXES = frozenset((".rst", ".txt"))
NOTEBOOK_SUFFIXES = frozenset((".ipynb",))
HTML_SUFFIXES = frozenset((".html", ".htm", ".xhtml"))
DOCUMENT_SUFFIXES = frozenset((".epub", ".pdf", ".docx"))
"""Files that can each be a book."""
_UNREAD_SUFFIXES = frozenset(
    ".doc .odt .rtf .pages .ppt .pptx .odp .mobi .azw3 .fb2 .djvu .adoc .org .tex".split(),
)
_SUFFIXES_BY_KIND = {
    "markdown": MARKDOWN_SUFFIXES,
    "text": TEXT_SUFFIXES,
    "jupyter": NOTEBOOK_SUFFIXES,
    "html": HTML_SUFFIXES,
    **{suffix[1:]: frozenset((suffix,)) for suffix in (".epub", ".pdf", ".docx")},
}
NON_PAGE_NAMES = re.compile(r"(?i)(?:requirements[\w-]*|cmakelists|robots|licen[cs]e|constraints)\.txt")
"""Names of text files that are not written for readers."""
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "_build", "venv", "site-packages"))
_BUILD_FOLDERS = frozenset(("build", "dist", "out", "site", "public", "book", "_book", "html", "target"))
_MAX_JOINED_NAMES = 5
_MAX_NAME_CHARS = 100
_MAX_SUMMARIZED_NOTICES = 3


def find_files(root: Path, suffixes: frozenset[str], is_built: bool = False) -> tuple[list[Path], list[SourceNotice]]:
    """Find the files below `root` with one of the `suffixes`, in natural order, and report those that are unreadable.

    Skips hidden folders, installed packages, built sites, indexes and links that leave the folder. If the site
    `is_built`, only hidden folders are skipped.
    """
    found: list[Path] = []
    errors: list[tuple[Path, str]] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            children = list(folder.iterdir())
        except OSError:
            errors.append((folder, "this folder could not be read"))
            continue
        for path in children:
            try:
                is_dir = path.is_dir()
                is_page = path.suffix.lower() in suffixes and not path.name.startswith(".")
                wanted = is_source_folder(path, is_built) if is_dir else is_page
                error = _rejection_reason(path, root) if wanted else ""
            except OSError:
                wanted, error = True, "could not be opened"
            if error:
                errors.append((path, error))
            elif wanted:
                (folders if is_dir else found).append(path)
    named = ((printable_path(path.relative_to(root)), error) for path, error in sorted(errors))
    notices = [SourceNotice(name, f"{error}; left out", lost=True) for name, error in named]
    return sorted(found, key=lambda path: natural_sort_key(path.relative_to(root).as_posix())), notices


def _rejection_reason(path: Path, root: Path) -> str:
    if printable_path(path.relative_to(root)) != path.relative_to(root).as_posix():
        return "its name is not UTF-8: rename it"
    if path.is_symlink() and not is_inside(path, root):
        return "is a link that leaves the folder"
    return "" if path.is_file() or path.is_dir() else "is not a file that can be opened"


def is_source_folder(folder: Path, is_built: bool = False) -> bool:
    """Whether a folder can contain pages: it is not hidden, installed, built or an index."""
    if folder.name.startswith(".") or folder.is_symlink():
        return False
    if is_built:
        return True
    is_index = (folder / "current").is_file() and (folder / "generations").is_dir()
    is_built_site = folder.name in _BUILD_FOLDERS and (folder / "index.html").exists()
    return not (folder.name in _SKIPPED_FOLDERS or is_index or is_built_site)


def natural_sort_key(name: str) -> tuple[object, ...]:
    """Return a sort key that puts 2 before 10, a name before its extensions and a page before its folder."""
    *folders, last = name.lower().split("/")
    stem, dot, suffix = last.rpartition(".")
    page = (split_numbers(stem), False, split_numbers(suffix)) if dot and stem else (split_numbers(last), False, ())
    return (*((split_numbers(folder), True, ()) for folder in folders), page)


def split_numbers(name: str) -> tuple[tuple[int, int, str], ...]:
    """Split a name into words and numbers; numbers compare by their count of digits first, so any length works."""
    parts = ((part, part.lstrip("0")) for part in re.split(r"(\d+)", name))
    return tuple((0, len(digits), digits) if part.isdecimal() else (1, 0, part) for part, digits in parts)


def join_first_names(names: Sequence[str]) -> str:
    """Join the first names, each cut to a maximum length, and count the rest."""
    more = f" and {len(names) - _MAX_JOINED_NAMES} more" if len(names) > _MAX_JOINED_NAMES else ""
    return ", ".join(name[:_MAX_NAME_CHARS] for name in names[:_MAX_JOINED_NAMES]) + more


def printable_path(path: Path) -> str:
    """Return a path as text, with escapes for bytes that are not UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def is_file(path: Path) -> bool:
    """Whether a path is a file; unlike `Path.is_file`, never raise an error."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; unlike `Path.is_dir`, never raise an error."""
    return os.path.isdir(path)  # noqa: PTH112


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path is inside a folder after following all links."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def resolve_relative_path(folder: Path, target: str) -> Path | None:
    """Resolve a path that a file in `folder` refers to; return nothing if no file can have this name."""
    try:
        encoded = os.fsencode(target)
    except UnicodeEncodeError:  # a lone surrogate
        return None
    return None if b"\0" in encoded else Path(os.path.normpath(folder / target))


def report_other_formats(root: Path, read: frozenset[str]) -> list[SourceNotice]:
    """Report each kind of book files whose suffix is not among those that are `read`."""
    unread = frozenset().union(*_SUFFIXES_BY_KIND.values()) - read
    found = [path for path in find_files(root, unread)[0] if not NON_PAGE_NAMES.fullmatch(path.name)]
    notices = []
    for kind, suffixes in _SUFFIXES_BY_KIND.items():
        if names := [path.relative_to(root).as_posix() for path in found if path.suffix.lower() in suffixes]:
            problem = f"of another kind, {kind}, and left out (--source-format mixed reads all kinds)"
            notices.append(SourceNotice(".", describe_group(names, problem)))
    return notices + report_unread_formats(root)


def describe_group(names: Sequence[str], problem: str, noun: str = "file") -> str:
    """Say how many files or pages have a problem, and which."""
    count = f"1 {noun} is" if len(names) == 1 else f"{len(names)} {noun}s are"
    return f"{count} {problem}: {join_first_names(names)}"


def report_unread_formats(root: Path) -> list[SourceNotice]:
    """Report the documents in formats that no reader reads."""
    names = [path.relative_to(root).as_posix() for path in find_files(root, _UNREAD_SUFFIXES)[0]]
    count = "1 file cannot be read and is" if len(names) == 1 else f"{len(names)} files cannot be read and are"
    message = f"{count} left out (save as DOCX, PDF, EPUB or Markdown): {join_first_names(names)}"
    return [SourceNotice(".", message)] if names else []


def detect_file_kind(path: Path) -> str:
    """Return the format of a file by its suffix, or nothing."""
    return next((kind for kind, suffixes in _SUFFIXES_BY_KIND.items() if path.suffix.lower() in suffixes), "")


def report_unlisted_files(root: Path, paths: list[Path], contents: Path | None) -> list[SourceNotice]:
    """Report the files that are not pages of the book in one notice; `contents` is the table of contents, if any."""
    names = [path.relative_to(root).as_posix() for path in paths if path != contents]
    file = contents.relative_to(root).as_posix() if contents else "."
    reason = "not listed here" if contents else "about the repository, or with the URL of another index page"
    count = "1 file" if len(names) == 1 else f"{len(names)} files"
    return [SourceNotice(file, f"{count} left out, {reason}: {join_first_names(names)}")] if names else []


def summarize_notices(notices: Sequence[SourceNotice]) -> str:
    """Return the first notices as sentences that continue a message."""
    return "".join(f" {file}: {message}." for file, message, _ in notices[:_MAX_SUMMARIZED_NOTICES])
