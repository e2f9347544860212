"""Creates, stores, reloads and checks API keys."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Any, Self

from bookbound import filesystem
from bookbound.domain.errors import ConfigError
from bookbound.filesystem import private_files
from bookbound.server import query_log
from bookbound.settings import Settings


def parse_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """The origins that a setting names, as browsers spell them; * is any."""
    try:
        return tuple(each if each == ANY_ORIGIN else normalize_origin(each) for each in origins)
    except ConfigError as trouble:
        raise ConfigError(f"The setting `origins` names what is none. {trouble}") from None


KEY_FILE_NAME, KEY_FILE_FORMAT = "keys.json", 1
CREATE_KEY_COMMAND = "bookbound key new --origin https://book.example"
"""The command that makes a key, for an author's own site in place of this one."""
RELOAD_SECONDS = 1.0
"""The seconds from one look at the file to the next."""
FileStamp = tuple[int, ...] | None
log = logging.getLogger("bookbound.server")


def key_file_path(settings: Settings) -> Path:
    """Where the keys are kept: in the file that is set, or beside the index, with its log."""
    return settings.keys or query_log.log_folder(settings.index) / KEY_FILE_NAME


def load_keys(file: Path) -> KeyRing:
    """The keys in a file; where there is none there are no keys, and what cannot be read is told."""
    try:
        return KeyRing(tuple(map(_parse_key, _key_rows(json.loads(file.read_bytes())))))
    except (FileNotFoundError, NotADirectoryError):
        return KeyRing()
    except OSError as trouble:
        raise ConfigError(f"The keys in {file} cannot be read ({trouble.strerror}). Name another: `keys`.") from trouble
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise ConfigError(f"{file} is damaged, or is no file of keys. Put back a copy, or move it away.") from None


def add_key(file: Path, key: ApiKey) -> None:
    """Keep one more key."""
    with _lock_keys(file) as ring:
        _write_keys(file, KeyRing((*ring.keys, key)))


def revoke_key(file: Path, id: str) -> ApiKey:  # noqa: A002
    """Revoke the key with this id, from this moment or whenever that was done before."""
    with _lock_keys(file) as ring:
        held = {key.id: key for key in ring.keys}
        if id not in held:
            raise ConfigError("There is no key with this id. To see those there are: bookbound key list")
        if held[id].revoked is None:
            held[id] = replace(held[id], revoked=utc_timestamp())
            _write_keys(file, KeyRing(tuple(held.values())))
        return held[id]


class ReloadingKeyRing:
    """The keys in a file as they are now, or were at most a second ago.

    While the file cannot be read, the keys are those that it had before.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._ring = file, KeyRing()
        self._stamp: FileStamp | bool = False
        self._failed: FileStamp | bool = False
        self._looked = float("-inf")

    @property
    def ring(self) -> KeyRing:
        if monotonic() - self._looked >= RELOAD_SECONDS:
            self._look()
        return self._ring

    def _look(self) -> None:
        stamp = self._seen()
        self._looked = monotonic()
        if stamp == self._stamp:
            return
        try:
            self._ring = load_keys(self._file)
        except ConfigError as trouble:
            if stamp != self._failed:
                log.error("the keys stay as they were: %s", trouble)
            self._failed = stamp
            return
        self._stamp, self._failed = stamp, False

    def _seen(self) -> FileStamp:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


@contextmanager
def _lock_keys(file: Path) -> Iterator[KeyRing]:
    """The keys as they are, while nobody else can change them."""
    try:
        private_files.create_private_folder(file.parent)
        lock = os.open(file.with_name(f"{file.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield load_keys(file)
        finally:
            os.close(lock)
    except OSError as trouble:
        raise ConfigError(
            f"The keys cannot be kept in {file.parent} ({trouble.strerror}). Make that folder writable, or name "
            "another file: `keys`."
        ) from trouble


def _write_keys(file: Path, ring: KeyRing) -> None:
    whole = {"format": KEY_FILE_FORMAT, "keys": [asdict(key) for key in ring.keys]}
    filesystem.write_atomically(file, json.dumps(whole, indent=1).encode() + b"\n", mode=0o600)


def _key_rows(whole: Any) -> list[dict[str, Any]]:
    if whole["format"] != KEY_FILE_FORMAT:
        raise ValueError
    return list(whole["keys"])


def _parse_key(row: dict[str, Any]) -> ApiKey:
    """A key as it was written, to the last field: what is missing or odd here would open or close a door in silence."""
    key = ApiKey(**row | {"kind": KeyKind(row["kind"]), "origins": tuple(row["origins"])})
    texts = [getattr(key, each.name) for each in fields(key) if each.name not in ("origins", "revoked")]
    if not all(isinstance(text, str) for text in (*texts, *key.origins, key.revoked or "")) or len(key.hash) != 64:
        raise ValueError
    return key


ANY_ORIGIN = "*"
"""Stands for every origin, and for none at all."""
MAX_NAME_LENGTH = 100
_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class KeyKind(StrEnum):
    """What a key opens: a publishable one the book, an admin key the index as well."""

    PUBLISHABLE = "publishable"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: all that there is to know of it but the key itself, of which there is a hash."""

    id: str
    kind: KeyKind
    name: str
    hash: str = field(repr=False)
    origins: tuple[str, ...]
    created: str
    revoked: str | None = None

    @classmethod
    def new(cls, kind: KeyKind, name: str, origins: Iterable[str]) -> tuple[Self, str]:
        """A new key, and the secret that is shown once: a prefix to find it by, and 256 bits of chance."""
        held = tuple(dict.fromkeys(each if each == ANY_ORIGIN else normalize_origin(each) for each in origins))
        if kind is KeyKind.PUBLISHABLE and not held:
            raise ConfigError("Say where the key may be used: --origin https://book.example, or --any-origin.")
        if ANY_ORIGIN in held and len(held) > 1:
            raise ConfigError("A key is for the origins that are named, or for any: give --origin or --any-origin.")
        if len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise ConfigError(
                f"The name of a key has at most {MAX_NAME_LENGTH} characters, all of which can be printed."
            )
        secret = f"bookbound_{kind}_{secrets.token_urlsafe(32)}"
        return cls(secrets.token_hex(4), kind, name, hash_secret(secret), held, utc_timestamp()), secret

    def allows(self, sent: str | None) -> bool:
        """Whether the key may be used from the origin that a request names, or by one that names none.

        Only a browser names an origin; a publishable key that is bound to some is for browsers alone.
        """
        if ANY_ORIGIN in self.origins:
            return True
        return self.kind is KeyKind.ADMIN if sent is None else sent in self.origins


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys there are."""

    keys: tuple[ApiKey, ...] = ()

    @property
    def valid(self) -> tuple[ApiKey, ...]:
        return tuple(key for key in self.keys if key.revoked is None)

    def find(self, secret: str) -> ApiKey | None:
        """The valid key with this secret; each is compared, in a time that does not tell how much of it was right."""
        given = hash_secret(secret)
        found = [key for key in self.valid if hmac.compare_digest(key.hash, given)]
        return found[0] if found else None

    def welcomes(self, origin: str) -> bool:
        """Whether some key may be used from there."""
        return any(key.origins and key.allows(origin) for key in self.valid)


def normalize_origin(given: str) -> str:
    """An origin as browsers spell it; what is none is told."""
    found = _ORIGIN.fullmatch(given.strip().lower().removesuffix("/"))
    if not found or int(found[3] or 1) not in range(1, 65536):
        raise ConfigError("An origin is a scheme and a host, perhaps a port, and no path: https://book.example")
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" + (f":{int(port)}" if port and port != _DEFAULT_PORTS[scheme] else "")


def hash_secret(secret: str) -> str:
    """The hash to know a secret by; it has too much chance in it to be guessed, so one round will do."""
    return hashlib.sha256(secret.encode()).hexdigest()


def utc_timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
