"""Creates, stores, reloads and checks API keys."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Any, Self

from bookbound import filesystem
from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import utc_now
from bookbound.server import query_log
from bookbound.settings import Settings

KEY_FILE_NAME, KEY_FILE_FORMAT = "keys.json", 1
CREATE_KEY_COMMAND = "bookbound key new --origin https://book.example"
RELOAD_SECONDS = 1.0
"""How long a revoked key may still work; a check of the file for each request would cost more."""
ANY_ORIGIN = "*"
"""Allows every origin, and requests without one."""
MAX_NAME_LENGTH = 100
_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
FileStamp = tuple[int, ...] | None
log = logging.getLogger("bookbound.server")


def parse_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """The origins of the setting as browsers spell them; * is any."""
    try:
        return tuple(map(normalize_origin, origins))
    except ConfigError as error:
        raise ConfigError(f"The setting `allowed_origins` is invalid. {error}") from None


def normalize_origin(origin: str) -> str:
    """An origin as browsers spell it."""
    if origin == ANY_ORIGIN:
        return origin
    match = _ORIGIN.fullmatch(origin.strip().lower().removesuffix("/"))
    if not match or int(match[3] or 1) not in range(1, 65536):
        raise ConfigError("An origin has a scheme, a host and perhaps a port, but no path: https://book.example")
    scheme, host, port = match.groups()
    return f"{scheme}://{host}" + (f":{int(port)}" if port and port != _DEFAULT_PORTS[scheme] else "")


class KeyKind(StrEnum):
    """A publishable key opens the book, an admin key the index as well."""

    PUBLISHABLE = "publishable"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored, with a hash in place of its secret."""

    id: str
    kind: KeyKind
    name: str
    hash: str = field(repr=False)
    origins: tuple[str, ...]
    created: str
    revoked: str | None = None

    @classmethod
    def new(cls, kind: KeyKind, name: str, origins: Iterable[str]) -> tuple[Self, str]:
        """A new key and its secret: a type prefix followed by 256 random bits."""
        allowed = tuple(dict.fromkeys(map(normalize_origin, origins)))
        if kind is KeyKind.PUBLISHABLE and not allowed:
            raise ConfigError("Say where the key may be used: --origin https://book.example, or --any-origin.")
        if ANY_ORIGIN in allowed and len(allowed) > 1:
            raise ConfigError("Use either --origin or --any-origin, not both.")
        if len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise ConfigError(f"The name of a key must have at most {MAX_NAME_LENGTH} printable characters.")
        secret = f"bookbound_{kind}_{secrets.token_urlsafe(32)}"
        return cls(secrets.token_hex(4), kind, name, hash_secret(secret), allowed, utc_now()), secret

    def allows(self, origin: str | None) -> bool:
        """Whether a request with this origin, or with none, may use the key.

        Only browsers send an origin, so a publishable key that is bound to origins works only in browsers.
        """
        if ANY_ORIGIN in self.origins:
            return True
        return self.kind is KeyKind.ADMIN if origin is None else origin in self.origins


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All keys of a server."""

    keys: tuple[ApiKey, ...] = ()

    @property
    def valid(self) -> tuple[ApiKey, ...]:
        return tuple(key for key in self.keys if key.revoked is None)

    def find(self, secret: str) -> ApiKey | None:
        """The valid key with this secret; the time that this takes reveals nothing about the secrets."""
        hashed = hash_secret(secret)
        matches = [key for key in self.valid if hmac.compare_digest(key.hash, hashed)]
        return matches[0] if matches else None

    def allows_origin(self, origin: str) -> bool:
        """Whether a key may be used from an origin."""
        return any(key.origins and key.allows(origin) for key in self.valid)

    def names_origin(self, origin: str) -> bool:
        """Whether a key was made for exactly this origin."""
        return any(origin in key.origins for key in self.valid)


def hash_secret(secret: str) -> str:
    """The hash of a secret; one round suffices because 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def key_file_path(settings: Settings) -> Path:
    """The file of the setting, or one next to the query log."""
    return settings.key_file or query_log.log_folder(settings.index) / KEY_FILE_NAME


def load_keys(file: Path) -> KeyRing:
    """The keys in a file; a missing file contains none."""
    try:
        content = json.loads(file.read_bytes())
        if content["format"] != KEY_FILE_FORMAT:
            raise ValueError
        return KeyRing(tuple(map(_parse_key, content["keys"])))
    except (FileNotFoundError, NotADirectoryError):
        return KeyRing()
    except OSError as error:
        message = f"The key file {file} cannot be read ({error.strerror}). Choose another with `key_file`."
        raise ConfigError(message) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise ConfigError(f"{file} is damaged or not a key file. Restore a copy, or move it away.") from None


def _parse_key(row: dict[str, Any]) -> ApiKey:
    """A stored key; a missing or unusual field is an error because it could silently allow or deny access."""
    key = ApiKey(**row | {"kind": KeyKind(row["kind"]), "origins": tuple(row["origins"])})
    texts = [getattr(key, each.name) for each in fields(key) if each.name not in ("origins", "revoked")]
    if not all(isinstance(text, str) for text in (*texts, *key.origins, key.revoked or "")) or len(key.hash) != 64:
        raise ValueError
    return key


def add_key(file: Path, key: ApiKey) -> None:
    with _lock_keys(file) as keys:
        _write_keys(file, [*keys, key])


def revoke_key(file: Path, id: str) -> ApiKey:  # noqa: A002
    """Revoke the key with this id; a key that is revoked already keeps its date."""
    with _lock_keys(file) as keys:
        by_id = {key.id: key for key in keys}
        if id not in by_id:
            raise ConfigError("No key has this id. To list the keys: bookbound key list")
        if by_id[id].revoked is None:
            by_id[id] = replace(by_id[id], revoked=utc_now())
            _write_keys(file, by_id.values())
        return by_id[id]


@contextmanager
def _lock_keys(file: Path) -> Iterator[tuple[ApiKey, ...]]:
    """The keys of a file, which no other process changes until the block ends."""
    try:
        filesystem.create_private_folder(file.parent)
        with filesystem.wait_for_lock(file.with_name(f"{file.name}.lock")):
            yield load_keys(file).keys
    except OSError as error:
        raise ConfigError(
            f"The keys cannot be stored in {file.parent} ({error.strerror}). Make the folder writable, or choose "
            "another file with `key_file`."
        ) from error


def _write_keys(file: Path, keys: Iterable[ApiKey]) -> None:
    content = {"format": KEY_FILE_FORMAT, "keys": [asdict(key) for key in keys]}
    filesystem.write_atomically(file, json.dumps(content, indent=1).encode() + b"\n", mode=0o600)


class ReloadingKeyRing:
    """The keys in a file as they are, at most a second late; while the file is unreadable, the last keys remain."""

    def __init__(self, file: Path) -> None:
        self._file, self._ring = file, KeyRing()
        self._loaded: FileStamp | bool = False
        self._failed: FileStamp | bool = False
        self._checked_at = float("-inf")

    @property
    def ring(self) -> KeyRing:
        if monotonic() - self._checked_at >= RELOAD_SECONDS:
            self._reload()
        return self._ring

    @property
    def has_admin_key(self) -> bool:
        return any(key.kind is KeyKind.ADMIN for key in self.ring.valid)

    def _reload(self) -> None:
        stamp = self._read_stamp()
        self._checked_at = monotonic()
        if stamp == self._loaded:
            return
        try:
            self._ring = load_keys(self._file)
        except ConfigError as error:
            if stamp != self._failed:
                log.error("the keys remain as they were: %s", error)
            self._failed = stamp
            return
        self._loaded, self._failed = stamp, False

    def _read_stamp(self) -> FileStamp:
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
