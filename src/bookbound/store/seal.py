"""A finished generation: what its manifest says, and whether each of its files is still as it was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bookbound.errors import DamagedIndex, IndexTrouble
from bookbound.manifest import Manifest
from bookbound.store import files, records
from bookbound.store.rooms import filled

MANIFEST, SHARD = "manifest.json", "shard"


class Seal(NamedTuple):
    """A finished generation: its id, and the hash of its manifest, which has a fingerprint of every other file."""

    generation: str
    hash: str

    def __str__(self) -> str:
        return f"{self.generation} {self.hash}".rstrip()


def sealed(folder: Path, manifest: Manifest) -> Seal:
    """Bring a finished generation to the disk, with a manifest that tells each of its files by its content."""
    shard = folder / SHARD
    created = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = replace(manifest, generation=folder.name, created=created)
    with files.writing():
        files.settle_tree(shard)
        prints = {
            path.relative_to(shard).as_posix(): files.fingerprint(path)
            for path in sorted(shard.rglob("*"))
            if path.is_file()
        }
        content = json.dumps(records.dump(manifest) | {"files": prints}, ensure_ascii=False, indent=1).encode()
        files.replace(folder / MANIFEST, content)
        files.settle(folder.parent)
    return Seal(folder.name, hashlib.sha256(content).hexdigest())


def opened(folder: Path, seal: Seal) -> tuple[Manifest, dict[str, str]]:
    """What a sealed generation says of itself, and the fingerprints of its files."""
    with reading(MANIFEST):
        content = (folder / MANIFEST).read_bytes()
    # Read before its hash is compared: an index of another format is told as such, and not as damage.
    manifest, rest = records.load(content)
    prints = rest.get("files")
    if (
        hashlib.sha256(content).hexdigest() != seal.hash
        or manifest.generation != seal.generation
        or not isinstance(prints, dict)
        or not all(map(_inside, prints))
    ):
        raise damaged(MANIFEST)
    return manifest, prints


def is_whole(folder: Path, seal: Seal) -> bool:
    """Whether a generation is in the format of this version and every file of it as it was sealed."""
    try:
        _check(folder, opened(folder, seal)[1])
    except IndexTrouble:
        return False
    return True


@contextmanager
def copied(folder: Path, seal: Seal) -> Iterator[tuple[Path, Manifest]]:
    """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
    manifest, prints = opened(folder, seal)
    with filled(lambda room: _check(folder, prints, room)) as room:
        yield room, manifest


def _check(folder: Path, prints: dict[str, str], room: Path | None = None) -> None:
    """Refuse files that are not as they were; where there is a room for copies, they are copied in the same pass."""
    for name, expected in prints.items():
        with reading(name):
            if files.fingerprint(folder / SHARD / name, room / name if room else None) != expected:
                raise damaged(name)


def _inside(name: str) -> bool:
    """Whether a file of this name can only lie in the folder it is looked for in."""
    path = PurePosixPath(name)
    return name.isascii() and name.isprintable() and not path.is_absolute() and ".." not in path.parts


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Within this block a file that is gone is damage, and one that cannot be read is told with the reason."""
    try:
        yield
    except FileNotFoundError:
        raise damaged(name) from None
    except OSError as trouble:
        raise IndexTrouble(
            f"The index cannot be read: {name} ({trouble.strerror}). Check the rights and the disk of its folder."
        ) from trouble


def damaged(name: str) -> DamagedIndex:
    return DamagedIndex(f"The index is damaged: {name} is missing or not as it was written. Index the book again.")
