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

# Each crash costs the start of a process, and a file that caused three causes more.
MAX_CRASHES = 3
_PASSED_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_OPEN_ERRORS = {
    "password": "The PDF is protected by a password: save a copy without one and index that.",
    "broken": "The file is not a readable PDF: open it in a PDF viewer and save it again.",
    "pages": f"The PDF has more than {pdfium.MAX_PAGES} pages: save it in parts, and index those.",
    "large": "The PDF is larger than 1 GB: save it with smaller pictures, or in parts, and index that.",
}
_LIMIT_EXCEEDED = "The PDF takes too much time or memory to open: open it in a PDF viewer and save it again."


class OutlineEntry(NamedTuple):
    """An entry of the outline with the page and height that it names, or -1."""

    depth: int
    title: str
    page: int
    height: float


class PdfPage(NamedTuple):
    """A printed page and its words; `error` says why a page could not be read."""

    number: int
    label: str = ""
    height: float = 0.0
    words: tuple[PdfWord, ...] = ()
    has_pictures: bool = False
    error: str = ""

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> Self:
        if "words" not in data:
            return cls(number, error="is broken")
        words = tuple(PdfWord(*word) for word in data["words"])
        return cls(number, data["label"], data["height"], words, data["pictures"])


class PdfInfo(NamedTuple):
    """A PDF's metadata."""

    title: str
    page_count: int
    outline: tuple[OutlineEntry, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["title"], data["pages"], tuple(OutlineEntry(*entry) for entry in data["outline"]))


def open_pdf(path: Path) -> tuple[PdfInfo, Iterator[PdfPage]]:
    """Return a PDF's metadata and its pages."""
    messages = _run_process(path, 0)
    first = next(messages, {})
    if "pages" not in first:
        raise SourceError(_OPEN_ERRORS.get(first.get("error", ""), _LIMIT_EXCEEDED))
    info = PdfInfo.from_json(first)
    return info, _read_pages(path, info.page_count, messages)


def _read_pages(path: Path, page_count: int, messages: Generator[dict[str, Any]]) -> Iterator[PdfPage]:
    number = crashes = 0
    while True:
        for data in messages:
            number += 1
            yield PdfPage.from_json(number, data)
        if number >= page_count:
            return
        crashes += 1
        last = page_count if crashes == MAX_CRASHES else number + 1
        yield from (PdfPage(lost, error="could not be read") for lost in range(number + 1, last + 1))
        number = last
        if number == page_count:
            return
        messages = _run_process(path, number)
        next(messages, None)


def _run_process(path: Path, start: int) -> Generator[dict[str, Any]]:
    """Yield the messages of the process; an incomplete last line is dropped."""
    # Native code reads an untrusted file there, so the process gets no secrets from the environment.
    environment = {name: os.environ[name] for name in _PASSED_ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-P", pdfium.__file__, str(path.resolve()), str(start)]
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, stderr=null, env=environment) as process:
        try:
            for line in process.stdout or ():
                yield json.loads(line)
        except json.JSONDecodeError:
            return
        finally:
            process.kill()
