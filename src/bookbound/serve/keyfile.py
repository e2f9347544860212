"""The file that keys are kept in: changed by commands, one after the other, and seen by whoever serves."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from time import monotonic
from typing import Any

from bookbound.errors import BadSetup
from bookbound.record import folder
from bookbound.serve.keys import Key, Kind, Ring, now
from bookbound.settings import Settings
from bookbound.store import files

FILE, FORMAT = "keys.json", 1
MAKE = "bookbound key new --origin https://book.example"
"""The command that makes a key, for an author's own site in place of this one."""
GLANCE = 1.0
"""The seconds from one look at the file to the next."""
Stamp = tuple[int, ...] | None
log = logging.getLogger("bookbound.serve")


def place(settings: Settings) -> Path:
    """Where the keys are kept: in the file that is set, or beside the index, with its log."""
    return settings.keys or folder.beside(settings.index) / FILE


def read(file: Path) -> Ring:
    """The keys in a file; where there is none there are no keys, and what cannot be read is told."""
    try:
        return Ring(tuple(map(_key, _rows(json.loads(file.read_bytes())))))
    except (FileNotFoundError, NotADirectoryError):
        return Ring()
    except OSError as trouble:
        raise BadSetup(f"The keys in {file} cannot be read ({trouble.strerror}). Name another: `keys`.") from trouble
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise BadSetup(f"{file} is damaged, or is no file of keys. Put back a copy, or move it away.") from None


def add(file: Path, key: Key) -> None:
    """Keep one more key."""
    with _changing(file) as ring:
        _write(file, Ring((*ring.keys, key)))


def revoke(file: Path, id: str) -> Key:  # noqa: A002
    """Revoke the key with this id, from this moment or whenever that was done before."""
    with _changing(file) as ring:
        held = {key.id: key for key in ring.keys}
        if id not in held:
            raise BadSetup("There is no key with this id. To see those there are: bookbound key list")
        if held[id].revoked is None:
            held[id] = replace(held[id], revoked=now())
            _write(file, Ring(tuple(held.values())))
        return held[id]


class Watched:
    """The keys in a file as they are now, or were at most a second ago.

    While the file cannot be read, the keys are those that it had before.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._ring = file, Ring()
        self._stamp: Stamp | bool = False
        self._failed: Stamp | bool = False
        self._looked = float("-inf")

    @property
    def ring(self) -> Ring:
        if monotonic() - self._looked >= GLANCE:
            self._look()
        return self._ring

    def _look(self) -> None:
        stamp = self._seen()
        self._looked = monotonic()
        if stamp == self._stamp:
            return
        try:
            self._ring = read(self._file)
        except BadSetup as trouble:
            if stamp != self._failed:
                log.error("the keys stay as they were: %s", trouble)
            self._failed = stamp
            return
        self._stamp, self._failed = stamp, False

    def _seen(self) -> Stamp:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


@contextmanager
def _changing(file: Path) -> Iterator[Ring]:
    """The keys as they are, while nobody else can change them."""
    try:
        folder.make(file.parent)
        lock = os.open(file.with_name(f"{file.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield read(file)
        finally:
            os.close(lock)
    except OSError as trouble:
        raise BadSetup(
            f"The keys cannot be kept in {file.parent} ({trouble.strerror}). Make that folder writable, or name "
            "another file: `keys`."
        ) from trouble


def _write(file: Path, ring: Ring) -> None:
    whole = {"format": FORMAT, "keys": [asdict(key) for key in ring.keys]}
    files.replace(file, json.dumps(whole, indent=1).encode() + b"\n", mode=0o600)


def _rows(whole: Any) -> list[dict[str, Any]]:
    if whole["format"] != FORMAT:
        raise ValueError
    return list(whole["keys"])


def _key(row: dict[str, Any]) -> Key:
    """A key as it was written, to the last field: what is missing or odd here would open or close a door in silence."""
    key = Key(**row | {"kind": Kind(row["kind"]), "origins": tuple(row["origins"])})
    texts = [getattr(key, each.name) for each in fields(key) if each.name not in ("origins", "revoked")]
    if not all(isinstance(text, str) for text in (*texts, *key.origins, key.revoked or "")) or len(key.hash) != 64:
        raise ValueError
    return key
