"""Writes the manifest of a finished generation with a checksum of each file, and detects damaged files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bookbound import filesystem
from bookbound.domain.errors import BookIndexError, CorruptIndexError
from bookbound.domain.manifest import Manifest
from bookbound.filesystem import temp_copies
from bookbound.filesystem.temp_copies import make_temp_copy
from bookbound.indexing.store import serialization

MANIFEST_FILE, SHARD_FOLDER = "manifest.json", "shard"


class GenerationChecksum(NamedTuple):
    """A finished generation: its id, and the hash of its manifest, which has a fingerprint of every other file."""

    generation: str
    hash: str

    def __str__(self) -> str:
        return f"{self.generation} {self.hash}".rstrip()


def finish_generation(folder: Path, manifest: Manifest) -> GenerationChecksum:
    """Bring a finished generation to the disk, with a manifest that tells each of its files by its content."""
    shard = folder / SHARD_FOLDER
    created = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = replace(manifest, generation=folder.name, created=created)
    with filesystem.report_write_errors():
        filesystem.sync_tree(shard)
        prints = {
            path.relative_to(shard).as_posix(): temp_copies.checksum_file(path)
            for path in sorted(shard.rglob("*"))
            if path.is_file()
        }
        content = json.dumps(
            serialization.dump_manifest(manifest) | {"files": prints}, ensure_ascii=False, indent=1
        ).encode()
        filesystem.write_atomically(folder / MANIFEST_FILE, content)
        filesystem.sync_path(folder.parent)
    return GenerationChecksum(folder.name, hashlib.sha256(content).hexdigest())


def read_manifest(folder: Path, seal: GenerationChecksum) -> tuple[Manifest, dict[str, str]]:
    """What a sealed generation says of itself, and the fingerprints of its files."""
    with report_read_errors(MANIFEST_FILE):
        content = (folder / MANIFEST_FILE).read_bytes()
    # Read before its hash is compared: an index of another format is told as such, and not as damage.
    manifest, rest = serialization.load_manifest(content)
    prints = rest.get("files")
    if (
        hashlib.sha256(content).hexdigest() != seal.hash
        or manifest.generation != seal.generation
        or not isinstance(prints, dict)
        or not all(map(_is_safe_name, prints))
    ):
        raise damaged_file_error(MANIFEST_FILE)
    return manifest, prints


def is_intact(folder: Path, seal: GenerationChecksum) -> bool:
    """Whether a generation is in the format of this version and every file of it as it was sealed."""
    try:
        _verify_files(folder, read_manifest(folder, seal)[1])
    except BookIndexError:
        return False
    return True


@contextmanager
def copy_generation(folder: Path, seal: GenerationChecksum) -> Iterator[tuple[Path, Manifest]]:
    """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
    manifest, prints = read_manifest(folder, seal)
    with make_temp_copy(lambda room: _verify_files(folder, prints, room)) as room:
        yield room, manifest


def _verify_files(folder: Path, prints: dict[str, str], room: Path | None = None) -> None:
    """Refuse files that are not as they were; where there is a room for copies, they are copied in the same pass."""
    for name, expected in prints.items():
        with report_read_errors(name):
            if temp_copies.checksum_file(folder / SHARD_FOLDER / name, room / name if room else None) != expected:
                raise damaged_file_error(name)


def _is_safe_name(name: str) -> bool:
    """Whether a file of this name can only lie in the folder it is looked for in."""
    path = PurePosixPath(name)
    return name.isascii() and name.isprintable() and not path.is_absolute() and ".." not in path.parts


@contextmanager
def report_read_errors(name: str) -> Iterator[None]:
    """Within this block a file that is gone is damage, and one that cannot be read is told with the reason."""
    try:
        yield
    except FileNotFoundError:
        raise damaged_file_error(name) from None
    except OSError as trouble:
        raise BookIndexError(
            f"The index cannot be read: {name} ({trouble.strerror}). Check the rights and the disk of its folder."
        ) from trouble


def damaged_file_error(name: str) -> CorruptIndexError:
    return CorruptIndexError(f"The index is damaged: {name} is missing or not as it was written. Index the book again.")
