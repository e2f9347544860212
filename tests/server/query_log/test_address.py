"""Addresses are kept so that nobody can read them back."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bookbound.domain.errors import ConfigError
from bookbound.server.query_log.address_hash import (
    ADDRESS_KEY_FILE,
    MAX_ADDRESS_LENGTH,
    load_or_create_key,
    make_address_hasher,
    make_stored_key_hasher,
    normalize_address,
    parse_key_setting,
)

KEY = b"sixteen letters."


def test_a_hash_tells_addresses_apart_and_fits_its_column() -> None:
    worded = make_address_hasher(KEY)
    assert worded("203.0.113.9") == worded("203.0.113.9") != worded("203.0.113.8")
    assert len(worded("203.0.113.9")) == 43 <= MAX_ADDRESS_LENGTH
    assert worded("203.0.113.9") != make_address_hasher(b"another key of it")("203.0.113.9")


@pytest.mark.parametrize(
    ("one", "other"),
    [("::ffff:203.0.113.9", "203.0.113.9"), ("2001:DB8:0:0::1", "2001:db8::1")],
)
def test_two_spellings_of_an_address_are_one(one: str, other: str) -> None:
    assert normalize_address(one) == other
    assert make_address_hasher(KEY)(one) == make_address_hasher(KEY)(other)


def test_what_is_no_address_is_cut_to_its_column() -> None:
    assert normalize_address("x" * 90) == "x" * MAX_ADDRESS_LENGTH


def test_a_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(load_or_create_key, [folder] * 32))
    assert len(keys) == 1
    assert {file.name for file in folder.iterdir()} == {ADDRESS_KEY_FILE, ".gitignore"}
    assert stat.S_IMODE((folder / ADDRESS_KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert load_or_create_key(tmp_path / "other") not in keys


def test_a_key_is_made_with_the_first_address_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    worded = make_stored_key_hasher(folder)
    assert not folder.exists()
    assert (
        worded("203.0.113.9")
        == make_address_hasher(load_or_create_key(folder))("203.0.113.9")
        == make_stored_key_hasher(folder)("203.0.113.9")
    )


def test_a_place_that_is_mended_holds_the_key(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    worded = make_stored_key_hasher(tmp_path / "log")
    with pytest.raises(ConfigError):
        worded("203.0.113.9")
    (tmp_path / "log").unlink()
    assert worded("203.0.113.9")


def test_a_place_that_can_hold_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="`log_key`"):
        load_or_create_key(tmp_path / "file")


def test_a_key_that_is_too_short_is_told(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_KEY_FILE).write_bytes(b"short")
    with pytest.raises(ConfigError, match="is no key"):
        load_or_create_key(tmp_path)
    with pytest.raises(ConfigError, match="16 characters"):
        parse_key_setting(" too short ")
    assert parse_key_setting(f" {KEY.decode()} ") == KEY
