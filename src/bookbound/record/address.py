"""Addresses as the log keeps them: under a keyed hash, which tells two of them apart and names neither."""

from __future__ import annotations

import hmac
import os
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from bookbound.errors import BadSetup
from bookbound.record.folder import make

LONGEST = 45
"""The letters there are for an address; a hash of 32 bytes takes 43 of them."""
SHORTEST_KEY = 16
FILE = "address.key"
Worded = Callable[[str], str]


def hashed(key: bytes) -> Worded:
    """Addresses under a hash that cannot be found again without the key."""

    def worded(address: str) -> str:
        digest = hmac.digest(key, plain(address).encode(errors="replace"), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")

    return worded


def plain(address: str) -> str:
    """An address as it is, in the one spelling that each has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:LONGEST]
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return str(found)[:LONGEST]


def kept(folder: Path) -> Worded:
    """Addresses under the hash with the key in a folder, which is looked for, or made, with the first of them."""
    key = cache(partial(kept_key, folder))
    return lambda address: hashed(key())(address)


def given_key(key: str) -> bytes:
    """The key that a setting gives."""
    if len(key.strip()) < SHORTEST_KEY:
        raise BadSetup(f"The setting `log_key` must have {SHORTEST_KEY} characters at least; choose them at random.")
    return key.strip().encode()


def kept_key(folder: Path) -> bytes:
    """The key in a folder; where there is none it is made, once, whoever comes at the same time."""
    file = folder / FILE
    try:
        if not file.exists():
            make(folder)
            _make(file)
        key = file.read_bytes()
    except OSError as trouble:
        raise BadSetup(
            f"The key for the addresses in the log cannot be kept in {folder} ({trouble.strerror}). Make that folder "
            "writable, or give a key: `log_key`."
        ) from trouble
    if len(key) < SHORTEST_KEY:
        raise BadSetup(f"{file} is no key of Bookbound's. Remove it and a new one is made.")
    return key


def _make(file: Path) -> None:
    fresh = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(fresh, file)  # in one step, and never over the key of somebody who was faster
    finally:
        fresh.unlink()
