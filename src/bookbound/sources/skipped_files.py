"""Reports the files of a folder that are not read as pages, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import files
from bookbound.sources.table_of_contents import (
    TableOfContents,
)

NON_PAGE_NAMES = re.compile(r"(?i)(?:requirements[\w-]*|cmakelists|robots|licen[cs]e|constraints)\.txt")
"""Names of text that is none for readers."""
_SUFFIXES_BY_KIND = {
    "markdown": files.MARKDOWN_SUFFIXES,
    "text": files.TEXT_SUFFIXES,
    "jupyter": files.NOTEBOOK_SUFFIXES,
    "html": files.HTML_SUFFIXES,
    "epub": files.EPUB_SUFFIXES,
    "pdf": files.PDF_SUFFIXES,
}
# A folder of these can be read as one book.
_FOLDER_KINDS = ("markdown", "jupyter", "html")


def report_other_formats(root: Path, read: frozenset[str]) -> list[SourceNotice]:
    """One notice for each kind of files that end in none of what is `read`, counted and with the first names."""
    unread = frozenset().union(*_SUFFIXES_BY_KIND.values()) - read
    found = [path for path in files.find_files(root, unread)[0] if not NON_PAGE_NAMES.fullmatch(path.name)]
    notices = []
    for kind, ends in _SUFFIXES_BY_KIND.items():
        names = [path.relative_to(root).as_posix() for path in found if path.suffix.lower() in ends]
        if names:
            count = "1 file is" if len(names) == 1 else f"{len(names)} files are"
            how = f"--as {kind} reads such files" if kind in _FOLDER_KINDS else "name one to read it by itself"
            told = f"{count} of another kind, {kind}, and left out ({how}): {files.join_first_names(names)}"
            notices.append(SourceNotice(".", told))
    return notices


_MAX_REASONS = 3


def summarize_notices(notices: Sequence[SourceNotice]) -> str:
    """The first notices as sentences that go on from another one."""
    return "".join(f" {file}: {message}." for file, message, _ in notices[:_MAX_REASONS])


def report_unlisted_files(root: Path, paths: list[Path], summary: TableOfContents | None) -> list[SourceNotice]:
    """One notice for all the files that are no pages of the book."""
    names = [path.relative_to(root).as_posix() for path in paths if not summary or path != summary.path]
    if not names:
        return []
    file = summary.path.relative_to(root).as_posix() if summary else "."
    why = "not listed here" if summary else "about the repository, or with the address of another opening page"
    count = "1 file" if len(names) == 1 else f"{len(names)} files"
    return [SourceNotice(file, f"{count} left out, {why}: {files.join_first_names(names)}")]
