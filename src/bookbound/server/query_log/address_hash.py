"""Hashes client addresses with a secret key before they are logged."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from bookbound.domain.errors import ConfigError
from bookbound.filesystem import create_private_folder, create_secret_file

MAX_ADDRESS_LENGTH = 45
"""The width of the column; the hash takes 43 characters."""
MIN_KEY_LENGTH = 16
ADDRESS_KEY_FILE = "address.key"
AddressFormatter = Callable[[str], str]


def make_address_hasher(key: bytes) -> AddressFormatter:
    """Hashes addresses so that they cannot be recovered without the key."""

    def hash_address(address: str) -> str:
        digest = hmac.digest(key, normalize_address(address).encode(errors="replace"), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")

    return hash_address


def make_stored_key_hasher(folder: Path) -> AddressFormatter:
    """Hashes addresses with the key stored in a folder, which is created with the first address."""
    load_hasher = cache(lambda: make_address_hasher(load_or_create_key(folder)))
    return lambda address: load_hasher()(address)


def normalize_address(address: str) -> str:
    """Gives an address its canonical spelling."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:MAX_ADDRESS_LENGTH]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed)[:MAX_ADDRESS_LENGTH]


def parse_key_setting(key: str) -> bytes:
    """Checks the key from the settings."""
    if len(key.strip()) < MIN_KEY_LENGTH:
        raise ConfigError(
            f"The setting `query_log_key` must have at least {MIN_KEY_LENGTH} characters. Choose them at random."
        )
    return key.strip().encode()


def load_or_create_key(folder: Path) -> bytes:
    """Loads the key of a folder; the first caller creates it."""
    file = folder / ADDRESS_KEY_FILE
    try:
        if not file.exists():
            create_private_folder(folder)
            create_secret_file(file)
        key = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The key for hashing addresses cannot be stored in {folder} ({error.strerror}). Make the folder writable "
            "or set a key: `query_log_key`."
        ) from error
    if len(key) < MIN_KEY_LENGTH:
        raise ConfigError(f"{file} is not a valid key. Remove it, and Bookbound creates a new one.")
    return key
