"""A mark for a source that stays the same while nothing changes that any reader could read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from bookbound.read import files
from bookbound.read.decode import LARGEST, LARGEST_SETTINGS

ABOVE = 3
"""How many folders up a generator's own settings may stand."""
_SETTINGS = frozenset((".toml", ".json", ".yml", ".yaml", ".js", ".ts", ".mjs", ".cjs", ".py"))


def mark(source: Path) -> str:
    """One hash for all files of a source, and for the settings beside and above it, by name and content."""
    found = hashlib.sha256()
    for path in [*_settings(source), *_below(source)]:
        name = os.path.relpath(path, source)
        found.update(os.fsencode(f"{name}\0") + _content(path) + b"\0")
    return found.hexdigest()


def _below(source: Path) -> Iterator[Path]:
    """Every file of a source, in one order; what no reader opens is passed over."""
    if not files.is_folder(source):
        yield source
        return
    for folder, inside, names in os.walk(source):
        here = Path(folder)
        inside[:] = sorted(name for name in inside if files.is_source(here / name))
        yield from (here / name for name in sorted(names) if not name.startswith("."))


def _settings(source: Path) -> Iterator[Path]:
    for folder in list(source.resolve().parents)[:ABOVE]:
        try:
            names = sorted(path for path in folder.iterdir() if path.suffix in _SETTINGS)
        except OSError:
            continue
        yield from (path for path in names if files.is_file(path) and path.stat().st_size <= LARGEST_SETTINGS)


def _content(path: Path) -> bytes:
    """A hash of a file's content; of one that is too large to be read, its size and time."""
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            return b"no file"  # a pipe would keep whoever opens it waiting, and a device may have no end
        if found.st_size > LARGEST:
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as trouble:
        return f"unread {trouble.errno}".encode()
