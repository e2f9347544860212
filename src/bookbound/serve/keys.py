"""Keys to the service: who holds one, what it opens, and from where it may be used."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from bookbound.errors import BadSetup

ANYWHERE = "*"
"""Stands for every origin, and for none at all."""
LONGEST_NAME = 100
_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_USUAL = {"http": "80", "https": "443"}


class Kind(StrEnum):
    """What a key opens: a publishable one the book, an admin key the index as well."""

    PUBLISHABLE = "publishable"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is kept: all that there is to know of it but the key itself, of which there is a hash."""

    id: str
    kind: Kind
    name: str
    hash: str = field(repr=False)
    origins: tuple[str, ...]
    created: str
    revoked: str | None = None

    @classmethod
    def new(cls, kind: Kind, name: str, origins: Iterable[str]) -> tuple[Self, str]:
        """A new key, and the secret that is shown once: a prefix to find it by, and 256 bits of chance."""
        held = tuple(dict.fromkeys(each if each == ANYWHERE else origin(each) for each in origins))
        if kind is Kind.PUBLISHABLE and not held:
            raise BadSetup("Say where the key may be used: --origin https://book.example, or --any-origin.")
        if ANYWHERE in held and len(held) > 1:
            raise BadSetup("A key is for the origins that are named, or for any: give --origin or --any-origin.")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise BadSetup(f"The name of a key has at most {LONGEST_NAME} characters, all of which can be printed.")
        secret = f"bookbound_{kind}_{secrets.token_urlsafe(32)}"
        return cls(secrets.token_hex(4), kind, name, hashed(secret), held, now()), secret

    def allows(self, sent: str | None) -> bool:
        """Whether the key may be used from the origin that a request names, or by one that names none.

        Only a browser names an origin; a publishable key that is bound to some is for browsers alone.
        """
        if ANYWHERE in self.origins:
            return True
        return self.kind is Kind.ADMIN if sent is None else sent in self.origins


@dataclass(frozen=True, slots=True)
class Ring:
    """The keys there are."""

    keys: tuple[Key, ...] = ()

    @property
    def valid(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key.revoked is None)

    def find(self, secret: str) -> Key | None:
        """The valid key with this secret; each is compared, in a time that does not tell how much of it was right."""
        given = hashed(secret)
        found = [key for key in self.valid if hmac.compare_digest(key.hash, given)]
        return found[0] if found else None

    def welcomes(self, origin: str) -> bool:
        """Whether some key may be used from there."""
        return any(key.origins and key.allows(origin) for key in self.valid)


def origin(given: str) -> str:
    """An origin as browsers spell it; what is none is told."""
    found = _ORIGIN.fullmatch(given.strip().lower().removesuffix("/"))
    if not found or int(found[3] or 1) not in range(1, 65536):
        raise BadSetup("An origin is a scheme and a host, perhaps a port, and no path: https://book.example")
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" + (f":{int(port)}" if port and port != _USUAL[scheme] else "")


def hashed(secret: str) -> str:
    """The hash to know a secret by; it has too much chance in it to be guessed, so one round will do."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
