"""Reads files within a size limit and records which ones a reader opens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from stat import S_ISREG
from typing import Generic, NamedTuple, TypeVar

from bookbound.domain.document import SourceNotice
from bookbound.sources.decoding import UTF16_MARKS, decode_html, decode_text

MAX_PAGE_BYTES = 20_000_000
"""The largest page that is read; no author writes a longer one."""
MAX_CONFIG_BYTES = 200_000
"""The largest configuration file that is read."""
_BINARY_CHECK_BYTES = 8192
# Readers open files in about thirty places; a context variable records them all without passing a recorder through.
_opened_paths: ContextVar[set[Path] | None] = ContextVar("opened", default=None)
T = TypeVar("T")


class Loaded(NamedTuple, Generic[T]):
    """What a file contains, or nothing, and the notices about it."""

    value: T | None
    notices: list[SourceNotice]


@contextmanager
def record_opened_paths() -> Iterator[set[Path]]:
    """Record every path that a reader tries to open inside this block, even if no file exists there."""
    paths: set[Path] = set()
    token = _opened_paths.set(paths)
    try:
        yield paths
    finally:
        _opened_paths.reset(token)


def load_bytes(path: Path, file: str, max_bytes: int = MAX_PAGE_BYTES) -> Loaded[bytes]:
    """Read a file's bytes; pipes, devices and files that are too large are never opened."""
    if (opened_paths := _opened_paths.get()) is not None:
        opened_paths.add(path)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            reason = "could not be read (not a file)"
        elif found.st_size > max_bytes:
            reason = f"is larger than {max_bytes // 1000} kB"
        else:
            with path.open("rb") as opened:
                return Loaded(opened.read(max_bytes), [])
    except OSError as error:
        reason = f"could not be read ({error.strerror or 'input error'})"
    return Loaded(None, [SourceNotice(file, f"{reason}; left out", lost=True)])


def load_text(path: Path, file: str, max_bytes: int = MAX_PAGE_BYTES) -> Loaded[str]:
    """Read a file as text with plain newlines."""
    data, notices = load_bytes(path, file, max_bytes)
    if data is None:
        return Loaded(None, notices)
    if b"\0" in data[:_BINARY_CHECK_BYTES] and not data.startswith(UTF16_MARKS):
        return Loaded(None, [SourceNotice(file, f"has binary data at byte {data.index(0)}; left out", lost=True)])
    text, bad_byte = decode_text(data)
    if bad_byte is not None:
        message = f"is not UTF-8 at byte {bad_byte}; save it as UTF-8 if words look wrong"
        notices = [SourceNotice(file, message)]
    return Loaded(text, notices)


def load_html_text(path: Path, file: str) -> Loaded[str]:
    """Read an HTML file as text in the encoding that it declares."""
    data, notices = load_bytes(path, file)
    return Loaded(None if data is None else decode_html(data), notices)


def load_config_text(path: Path) -> str | None:
    """Read a configuration file, or return nothing if that is not possible."""
    return load_text(path, path.name, MAX_CONFIG_BYTES).value
