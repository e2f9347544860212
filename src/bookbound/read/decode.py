"""Bytes of a file become text, whatever they are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

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
    """Every file whose text is asked for within this block, whether it could be read or not."""
    found: set[Path] = set()
    token = _opened.set(found)
    try:
        yield found
    finally:
        _opened.reset(token)


def load(path: Path, file: str, largest: int = LARGEST) -> tuple[str | None, list[Notice]]:
    """The file's text with plain newlines, or nothing, and what was odd about it."""
    if (noted := _opened.get()) is not None:
        noted.add(path)
    try:
        with path.open("rb") as file_:
            data = file_.read(_BLOCK)
            if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return None, [Notice(file, f"holds binary data at byte {data.index(0)}; left out", lost=True)]
            data += file_.read(largest + 1 - len(data))
    except OSError as error:
        return None, [Notice(file, f"could not be read ({error.strerror or 'input error'}); left out", lost=True)]
    if len(data) > largest:
        return None, [Notice(file, f"is larger than {largest // 1000} kB; left out", lost=True)]
    text, odd = decode(data)
    if odd is None:
        return text, []
    return text, [Notice(file, f"is not UTF-8 at byte {odd}; save it as UTF-8 if words come out wrong")]


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
