"""Computes a fingerprint of a source that changes only if a file changes that a reader could open."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG

from bookbound.sources import files
from bookbound.sources.file_loader import MAX_CONFIG_BYTES, MAX_PAGE_BYTES

MAX_CONFIG_PARENTS = 3
"""How many folders above a source can contain a generator's settings."""
_RELATED_FOLDERS = ("versioned_docs", "versioned_sidebars", "config")
"""Folders next to a source that belong to the same book: Docusaurus versions, Hugo settings."""
_CONFIG_SUFFIXES = frozenset((".toml", ".json", ".yml", ".yaml", ".js", ".ts", ".mjs", ".cjs", ".py"))


def fingerprint_source(source: Path, outside_files: Iterable[str] = ()) -> str:
    """Hash the names and contents of a source's files, of the settings above it and of its outside files."""
    fingerprint = hashlib.sha256(os.fsencode(f"{Path(os.path.realpath(source)).name}\0"))
    outside = (_base_folder(source) / name for name in outside_files)
    for path in [*_iterate_config_files(source), *_iterate_files(source), *outside]:
        name = os.path.relpath(path, source)
        fingerprint.update(os.fsencode(f"{name}\0") + _hash_content(path) + b"\0")
    return fingerprint.hexdigest()


def source_stat_signature(source: Path, outside_files: Iterable[str] = ()) -> tuple[object, ...]:
    """Return a value that changes if the source, the settings above it or its outside files may have changed."""
    outside = (_base_folder(source) / name for name in outside_files)
    stats = map(_stat, [source, *_iterate_config_files(source), *outside])
    return tuple(found and (found.st_ino, found.st_mtime_ns, found.st_size) for found in stats)


def list_outside_files(source: Path, opened: Iterable[Path]) -> tuple[str, ...]:
    """Return the opened files that a fingerprint does not cover by itself, relative to the source's folder."""
    others = set(map(os.path.realpath, opened))
    if others:
        others.difference_update(map(os.path.realpath, [*_iterate_config_files(source), *_iterate_files(source)]))
    return tuple(sorted(os.path.relpath(path, _base_folder(source)) for path in others))


def _base_folder(source: Path) -> Path:
    path = Path(os.path.realpath(source))
    return path if files.is_folder(source) else path.parent


def _iterate_files(source: Path) -> Iterator[Path]:
    """Yield every file that a reader could open, in a fixed order."""
    if not files.is_folder(source):
        yield source
        return
    pending = [source]
    while pending:
        try:
            children = sorted(path for path in pending.pop().iterdir() if not path.name.startswith("."))
        except OSError:
            continue  # the reader reports it
        folders = [path for path in children if files.is_folder(path)]
        pending += [folder for folder in folders if files.is_source_folder(folder, is_built=True)]
        # A fixed order: a file system may list the same folder in another one.
        yield from sorted({*children} - {*folders})


def _iterate_config_files(source: Path) -> Iterator[Path]:
    for folder in list(source.resolve().parents)[:MAX_CONFIG_PARENTS]:
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix in _CONFIG_SUFFIXES)
        except OSError:
            continue
        for path in paths:
            if (found := _stat(path)) and S_ISREG(found.st_mode) and found.st_size <= MAX_CONFIG_BYTES:
                yield path
        for related in (folder / name for name in _RELATED_FOLDERS):
            if files.is_folder(related):
                yield from _iterate_files(related)


def _stat(path: Path) -> os.stat_result | None:
    """Return a file's status, or nothing if another process has just deleted it."""
    try:
        return path.stat()
    except OSError:
        return None


def _hash_content(path: Path) -> bytes:
    """Hash a file's content, or its size and time if it is too large to be read."""
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            return b"no file"  # opening a pipe blocks, and a device may never end
        if found.st_size > MAX_PAGE_BYTES:
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        return f"unread {error.errno}".encode()
