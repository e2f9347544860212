"""Computes a fingerprint of a source that changes only if a file changes that a reader could open."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG

from bookbound.sources import files
from bookbound.sources.decoding import MAX_CONFIG_BYTES, MAX_PAGE_BYTES

MAX_CONFIG_PARENTS = 3
"""How many folders up a generator's own settings may stand."""
_RELATED_FOLDERS = ("versioned_docs", "versioned_sidebars", "config")
"""Folders beside a source that are a part of the same book: versions of Docusaurus, settings of Hugo."""
_CONFIG_SUFFIXES = frozenset((".toml", ".json", ".yml", ".yaml", ".js", ".ts", ".mjs", ".cjs", ".py"))


def fingerprint_source(source: Path, beside: Iterable[str] = ()) -> str:
    """One hash for all files of a source, and for the settings beside and above it, by name and content.

    Those that a reader found elsewhere, `beside` the source, are named by it.
    """
    found = hashlib.sha256(os.fsencode(f"{Path(os.path.realpath(source)).name}\0"))
    for path in [
        *_iterate_config_files(source),
        *_iterate_files(source),
        *(_base_folder(source) / name for name in beside),
    ]:
        name = os.path.relpath(path, source)
        found.update(os.fsencode(f"{name}\0") + _hash_content(path) + b"\0")
    return found.hexdigest()


def source_stat_signature(source: Path, beside: Iterable[str] = ()) -> tuple[object, ...]:
    """What shows at a glance that a source, the settings above it or the files beside it may have changed."""
    return tuple(
        _stat_signature(path)
        for path in [source, *_iterate_config_files(source), *(_base_folder(source) / name for name in beside)]
    )


def list_outside_files(source: Path, opened: Iterable[Path]) -> tuple[str, ...]:
    """Those of the opened files that the mark of a source does not know by itself, as it wants them named."""
    others = set(map(os.path.realpath, opened))
    if others:
        others.difference_update(map(os.path.realpath, [*_iterate_config_files(source), *_iterate_files(source)]))
    return tuple(sorted(os.path.relpath(path, _base_folder(source)) for path in others))


def _base_folder(source: Path) -> Path:
    """The folder that files beside a source are named from."""
    found = Path(os.path.realpath(source))
    return found if files.is_folder(source) else found.parent


def _iterate_files(source: Path) -> Iterator[Path]:
    """Every file of a source, in one order; what no reader opens is passed over."""
    if not files.is_folder(source):
        yield source
        return
    waiting = [source]
    while waiting:
        try:
            inside = sorted(path for path in waiting.pop().iterdir() if not path.name.startswith("."))
        except OSError:
            continue  # the reader tells of it
        folders = [path for path in inside if files.is_folder(path)]
        waiting += [folder for folder in folders if files.is_source_folder(folder, built=True)]
        yield from sorted({*inside} - {*folders})


def _iterate_config_files(source: Path) -> Iterator[Path]:
    for folder in list(source.resolve().parents)[:MAX_CONFIG_PARENTS]:
        try:
            names = sorted(path for path in folder.iterdir() if path.suffix in _CONFIG_SUFFIXES)
        except OSError:
            continue
        yield from (path for path in names if _is_config_sized(path))
        yield from (
            path
            for name in _RELATED_FOLDERS
            if files.is_folder(folder / name)
            for path in _iterate_files(folder / name)
        )


def _is_config_sized(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:  # it may vanish at any moment
        return False
    return S_ISREG(found.st_mode) and found.st_size <= MAX_CONFIG_BYTES


def _stat_signature(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _hash_content(path: Path) -> bytes:
    """A hash of a file's content; of one that is too large to be read, its size and time."""
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            return b"no file"  # a pipe would keep whoever opens it waiting, and a device may have no end
        if found.st_size > MAX_PAGE_BYTES:
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as trouble:
        return f"unread {trouble.errno}".encode()
