"""Reads a PDF's pages from the PDFium child process; a crash loses one page, not the book."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from bookbound.domain.errors import SourceError
from bookbound.sources.pdf import pdfium
from bookbound.sources.pdf.pdfium import PdfWord

MAX_CRASHES = 3
"""How many pages may break the process before the rest is given up."""
_PASSED_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_OPEN_ERRORS = {
    "password": "The PDF is protected by a password: save a copy without one and index that.",
    "broken": "The file is no PDF that can be opened: open it in a PDF viewer and save it anew.",
    "large": "The PDF is larger than 1 GB: save it with smaller pictures, or in parts, and index that.",
}
_LIMIT_EXCEEDED = "The PDF takes more time or memory to open than a book may: open it in a PDF viewer and save it anew."


class OutlineEntry(NamedTuple):
    """An entry of the outline: how deep it stands, and the page and height that it names; -1 for none."""

    depth: int
    title: str
    page: int
    height: float


class PdfPage(NamedTuple):
    """A page as it was printed: its number from 1, its label, its height, and its words; `fault` where it broke."""

    number: int
    label: str = ""
    height: float = 0.0
    words: tuple[PdfWord, ...] = ()
    pictures: bool = False
    fault: str = ""

    @classmethod
    def of(cls, number: int, said: dict[str, Any]) -> Self:
        """What the process said of a page."""
        if "words" not in said:
            return cls(number, fault="is broken")
        words = tuple(PdfWord(*word) for word in said["words"])
        return cls(number, said["label"], said["height"], words, said["pictures"])


class PdfInfo(NamedTuple):
    """What a PDF says of itself."""

    title: str
    pages: int
    outline: tuple[OutlineEntry, ...]

    @classmethod
    def of(cls, said: dict[str, Any]) -> Self:
        """What the process said first."""
        return cls(said["title"], said["pages"], tuple(OutlineEntry(*entry) for entry in said["outline"]))


def open_pdf(path: Path) -> tuple[PdfInfo, Iterator[PdfPage]]:
    """What a PDF says of itself, and its pages."""
    said = _run_process(path, 0)
    first = next(said, {})
    if "pages" not in first:
        raise SourceError(_OPEN_ERRORS.get(first.get("fault", ""), _LIMIT_EXCEEDED))
    about = PdfInfo.of(first)
    return about, _read_pages(path, about.pages, said)


def _read_pages(path: Path, pages: int, said: Generator[dict[str, Any]]) -> Iterator[PdfPage]:
    number = crashes = 0
    while number < pages:
        for page in said:
            number += 1
            yield PdfPage.of(number, page)
        if number >= pages:
            return
        number, crashes = number + 1, crashes + 1
        if crashes == MAX_CRASHES:
            yield from (PdfPage(rest, fault="could not be read") for rest in range(number, pages + 1))
            return
        yield PdfPage(number, fault="could not be read")
        said = _run_process(path, number)
        next(said, None)


def _run_process(path: Path, start: int) -> Generator[dict[str, Any]]:
    """What the process says line by line; a line that it did not finish was not said."""
    # The process runs native code on a foreign file: it is told nothing that it does not need.
    environment = {name: os.environ[name] for name in _PASSED_ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-P", pdfium.__file__, str(path.resolve()), str(start)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=environment) as process:
        try:
            for line in process.stdout or ():
                yield json.loads(line)
        except json.JSONDecodeError:
            return
        finally:
            process.kill()
