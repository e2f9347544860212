"""The files of a folder that could be read, though not as pages of this book."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import endings, files

NOT_PAGES = re.compile(r"(?i)(?:requirements[\w-]*|cmakelists|robots|licen[cs]e|constraints)\.txt")
"""Names of text that is none for readers."""

_ENDINGS = {
    "markdown": endings.MARKDOWN,
    "text": endings.TEXT,
    "jupyter": endings.NOTEBOOKS,
    "html": endings.HTML,
    "epub": endings.EPUB,
    "pdf": endings.PDF,
}
# A folder of these can be read as one book.
_TOGETHER = ("markdown", "jupyter", "html")


def others(root: Path, read: frozenset[str]) -> list[Notice]:
    """One notice for each kind of files that end in none of what is `read`, counted and with the first names."""
    unread = frozenset().union(*_ENDINGS.values()) - read
    found = [path for path in files.find(root, unread)[0] if not NOT_PAGES.fullmatch(path.name)]
    notices = []
    for kind, ends in _ENDINGS.items():
        names = [path.relative_to(root).as_posix() for path in found if path.suffix.lower() in ends]
        if names:
            count = "1 file is" if len(names) == 1 else f"{len(names)} files are"
            how = f"--as {kind} reads such files" if kind in _TOGETHER else "name one to read it by itself"
            told = f"{count} of another kind, {kind}, and left out ({how}): {files.first_of(names)}"
            notices.append(Notice(".", told))
    return notices
