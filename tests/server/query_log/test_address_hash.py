"""Logged addresses cannot be recovered."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.server.query_log.factories import KEY

from bookbound.domain.errors import ConfigError
from bookbound.server.query_log.repository import (
    ADDRESS_KEY_FILE,
    MAX_ADDRESS_LENGTH,
    load_or_create_key,
    make_address_hasher,
    make_stored_key_hasher,
    normalize_address,
    parse_key_setting,
)


def test_a_hash_differs_by_address_and_key_and_fits_its_column() -> None:
    hash_address = make_address_hasher(KEY)
    assert hash_address("203.0.113.9") == hash_address("203.0.113.9") != hash_address("203.0.113.8")
    assert len(hash_address("203.0.113.9")) == 43 <= MAX_ADDRESS_LENGTH
    assert hash_address("203.0.113.9") != make_address_hasher(b"another secret key")("203.0.113.9")


@pytest.mark.parametrize(
    ("spelling", "address"),
    [("::ffff:203.0.113.9", "203.0.113.9"), ("2001:DB8:0:0::1", "2001:db8::1")],
)
def test_all_spellings_of_an_address_are_equal(spelling: str, address: str) -> None:
    assert normalize_address(spelling) == address
    assert make_address_hasher(KEY)(spelling) == make_address_hasher(KEY)(address)


def test_an_invalid_address_is_cut_to_its_column() -> None:
    assert normalize_address("x" * 90) == "x" * MAX_ADDRESS_LENGTH


def test_a_key_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(load_or_create_key, [folder] * 32))
    assert len(keys) == 1
    assert {file.name for file in folder.iterdir()} == {ADDRESS_KEY_FILE, ".gitignore"}
    assert stat.S_IMODE((folder / ADDRESS_KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert load_or_create_key(tmp_path / "other") not in keys


def test_the_first_address_creates_the_key_and_later_ones_use_it(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    hash_address = make_stored_key_hasher(folder)
    assert not folder.exists()
    assert (
        hash_address("203.0.113.9")
        == make_address_hasher(load_or_create_key(folder))("203.0.113.9")
        == make_stored_key_hasher(folder)("203.0.113.9")
    )


def test_a_key_that_cannot_be_stored_is_an_error_until_the_folder_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    hash_address = make_stored_key_hasher(tmp_path / "log")
    with pytest.raises(ConfigError, match="`query_log_key`"):
        hash_address("203.0.113.9")
    (tmp_path / "log").unlink()
    assert hash_address("203.0.113.9")


def test_a_short_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_KEY_FILE).write_bytes(b"short")
    with pytest.raises(ConfigError, match="is not a valid key"):
        load_or_create_key(tmp_path)
    with pytest.raises(ConfigError, match="16 characters"):
        parse_key_setting(" too short ")
    assert parse_key_setting(f" {KEY.decode()} ") == KEY
