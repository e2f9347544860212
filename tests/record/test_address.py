"""Addresses are kept so that nobody can read them back."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bookbound.errors import BadSetup
from bookbound.record.address import FILE, LONGEST, given_key, hashed, kept, kept_key, plain

KEY = b"sixteen letters."


def test_a_hash_tells_addresses_apart_and_fits_its_column() -> None:
    worded = hashed(KEY)
    assert worded("203.0.113.9") == worded("203.0.113.9") != worded("203.0.113.8")
    assert len(worded("203.0.113.9")) == 43 <= LONGEST
    assert worded("203.0.113.9") != hashed(b"another key of it")("203.0.113.9")


@pytest.mark.parametrize(
    ("one", "other"),
    [("::ffff:203.0.113.9", "203.0.113.9"), ("2001:DB8:0:0::1", "2001:db8::1")],
)
def test_two_spellings_of_an_address_are_one(one: str, other: str) -> None:
    assert plain(one) == other
    assert hashed(KEY)(one) == hashed(KEY)(other)


def test_what_is_no_address_is_cut_to_its_column() -> None:
    assert plain("x" * 90) == "x" * LONGEST


def test_a_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(kept_key, [folder] * 32))
    assert len(keys) == 1
    assert {file.name for file in folder.iterdir()} == {FILE, ".gitignore"}
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert kept_key(tmp_path / "other") not in keys


def test_a_key_is_made_with_the_first_address_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    worded = kept(folder)
    assert not folder.exists()
    assert worded("203.0.113.9") == hashed(kept_key(folder))("203.0.113.9") == kept(folder)("203.0.113.9")


def test_a_place_that_is_mended_holds_the_key(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    worded = kept(tmp_path / "log")
    with pytest.raises(BadSetup):
        worded("203.0.113.9")
    (tmp_path / "log").unlink()
    assert worded("203.0.113.9")


def test_a_place_that_can_hold_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSetup, match="`log_key`"):
        kept_key(tmp_path / "file")


def test_a_key_that_is_too_short_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"short")
    with pytest.raises(BadSetup, match="is no key"):
        kept_key(tmp_path)
    with pytest.raises(BadSetup, match="16 characters"):
        given_key(" too short ")
    assert given_key(f" {KEY.decode()} ") == KEY
