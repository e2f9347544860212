"""Bytes of a file become text, whatever they are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from stat import S_ISREG

from bookbound.book import Notice

# A byte that is no UTF-8 is read as Windows wrote it.
_STRAY = {0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(128, 256)}


LARGEST = 20_000_000
"""The most bytes of a page that are read; no author wrote a longer one."""

LARGEST_SETTINGS = 200_000
"""The most bytes of a file that says how a book is put together."""

_BLOCK = 8192
_opened: ContextVar[set[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def opened() -> Iterator[set[Path]]:
    """Every path whose content is asked for within this block, whether or not a file stands there."""
    found: set[Path] = set()
    token = _opened.set(found)
    try:
        yield found
    finally:
        _opened.reset(token)


def load(path: Path, file: str, largest: int = LARGEST) -> tuple[str | None, list[Notice]]:
    """The file's text with plain newlines, or nothing, and what was odd about it."""
    data, notices = content(path, file, largest)
    if data is None:
        return None, notices
    if b"\0" in data[:_BLOCK] and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None, [Notice(file, f"holds binary data at byte {data.index(0)}; left out", lost=True)]
    text, odd = decode(data)
    if odd is None:
        return text, []
    return text, [Notice(file, f"is not UTF-8 at byte {odd}; save it as UTF-8 if words come out wrong")]


def content(path: Path, file: str, largest: int = LARGEST) -> tuple[bytes | None, list[Notice]]:
    """The file's bytes, or nothing, and why not; what is no file, such as a pipe, or too large is never opened."""
    if (noted := _opened.get()) is not None:
        noted.add(path)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            return None, [Notice(file, "could not be read (no file); left out", lost=True)]
        if found.st_size > largest:
            return None, [Notice(file, f"is larger than {largest // 1000} kB; left out", lost=True)]
        with path.open("rb") as opened:
            return opened.read(largest), []
    except OSError as error:
        return None, [Notice(file, f"could not be read ({error.strerror or 'input error'}); left out", lost=True)]


def decode(data: bytes) -> tuple[str, int | None]:
    """Text with plain newlines, and the offset of the first byte that is not UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return plain(data.decode("utf-16", errors="replace")), 0
    words = data.removeprefix(codecs.BOM_UTF8)
    try:
        return plain(words.decode("utf-8")), None
    except UnicodeDecodeError as error:
        text = words.decode("utf-8", errors="surrogateescape").translate(_STRAY)
        return plain(text), error.start + len(data) - len(words)


def plain(text: str) -> str:
    """Text with plain newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
