"""Hashes client addresses with a secret key before they are logged."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import cache, partial
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from bookbound.domain.errors import ConfigError
from bookbound.filesystem.private_files import create_private_folder, create_secret_file

MAX_ADDRESS_LENGTH = 45
"""The letters there are for an address; a hash of 32 bytes takes 43 of them."""
MIN_KEY_LENGTH = 16
ADDRESS_KEY_FILE = "address.key"
AddressFormatter = Callable[[str], str]


def make_address_hasher(key: bytes) -> AddressFormatter:
    """Addresses under a hash that cannot be found again without the key."""

    def worded(address: str) -> str:
        digest = hmac.digest(key, normalize_address(address).encode(errors="replace"), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")

    return worded


def normalize_address(address: str) -> str:
    """An address as it is, in the one spelling that each has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:MAX_ADDRESS_LENGTH]
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return str(found)[:MAX_ADDRESS_LENGTH]


def make_stored_key_hasher(folder: Path) -> AddressFormatter:
    """Addresses under the hash with the key in a folder, which is looked for, or made, with the first of them."""
    key = cache(partial(load_or_create_key, folder))
    return lambda address: make_address_hasher(key())(address)


def parse_key_setting(key: str) -> bytes:
    """The key that a setting gives."""
    if len(key.strip()) < MIN_KEY_LENGTH:
        raise ConfigError(
            f"The setting `log_key` must have {MIN_KEY_LENGTH} characters at least; choose them at random."
        )
    return key.strip().encode()


def load_or_create_key(folder: Path) -> bytes:
    """The key in a folder; where there is none it is made, once, whoever comes at the same time."""
    file = folder / ADDRESS_KEY_FILE
    try:
        if not file.exists():
            create_private_folder(folder)
            create_secret_file(file)
        key = file.read_bytes()
    except OSError as trouble:
        raise ConfigError(
            f"The key for the addresses in the log cannot be kept in {folder} ({trouble.strerror}). Make that folder "
            "writable, or give a key: `log_key`."
        ) from trouble
    if len(key) < MIN_KEY_LENGTH:
        raise ConfigError(f"{file} is no key of Bookbound's. Remove it and a new one is made.")
    return key
