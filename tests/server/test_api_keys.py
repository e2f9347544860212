"""Tests API keys: their secrets and origins, the file that stores them, and how a server reloads it."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bookbound.domain.errors import ConfigError
from bookbound.server import api_keys
from bookbound.server.api_keys import (
    ANY_ORIGIN,
    ApiKey,
    KeyKind,
    KeyRing,
    ReloadingKeyRing,
    hash_secret,
    normalize_origin,
)
from bookbound.settings import Settings

SITE, OTHER = "https://book.example", "https://evil.example"


def make_key(kind: KeyKind = KeyKind.PUBLISHABLE, *origins: str) -> tuple[ApiKey, str]:
    return ApiKey.new(kind, "a name", origins)


def test_a_secret_has_256_random_bits_and_only_its_hash_is_stored() -> None:
    key, secret = make_key(KeyKind.PUBLISHABLE, SITE)
    assert len(secret.removeprefix("bookbound_publishable_")) == 43
    assert key.hash == hash_secret(secret)
    assert secret not in repr(key)
    assert key.hash not in repr(key)
    assert make_key(KeyKind.PUBLISHABLE, SITE)[1] != secret


def test_only_the_secret_of_a_valid_key_is_found() -> None:
    (one, secret), (two, other) = make_key(KeyKind.ADMIN), make_key(KeyKind.ADMIN)
    ring = KeyRing((one, two))
    assert (ring.find(secret), ring.find(other)) == (one, two)
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), one.hash, one.id, "schl\xfcssel"):
        assert ring.find(wrong) is None
    revoked = KeyRing((ApiKey(one.id, one.kind, one.name, one.hash, one.origins, one.created, revoked="now"), two))
    assert (revoked.find(secret), revoked.find(other)) == (None, two)


@pytest.mark.parametrize(
    ("kind", "origins", "allowed"),
    [
        (KeyKind.PUBLISHABLE, (SITE,), {SITE}),
        (KeyKind.PUBLISHABLE, (ANY_ORIGIN,), {SITE, OTHER, "null", None}),
        (KeyKind.ADMIN, (), {None}),
        (KeyKind.ADMIN, (SITE,), {SITE, None}),
    ],
)
def test_a_key_works_from_its_origins_and_without_an_origin_only_for_admins_or_any(
    kind: KeyKind, origins: tuple[str, ...], allowed: set[str | None]
) -> None:
    key, _ = make_key(kind, *origins)
    assert {origin for origin in (SITE, OTHER, "null", None) if key.allows(origin)} == allowed


@pytest.mark.parametrize(
    ("origin", "normalized"),
    [
        ("https://book.example", "https://book.example"),
        (" HTTPS://Book.Example:443/ ", "https://book.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("https://book.example:80", "https://book.example:80"),
    ],
)
def test_an_origin_is_spelled_as_browsers_do(origin: str, normalized: str) -> None:
    assert normalize_origin(origin) == normalized


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "book.example", "https://", "https://a/b", "ftp://a", "https://*.a", "https://a:0"),
        *("https://a:70000", "https://user@a", "null", "https://a?b", "https://a https://b"),
    ],
)
def test_an_invalid_origin_is_an_error(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"https://book\.example"):
        normalize_origin(wrong)


def test_a_publishable_key_needs_origins_or_any_origin() -> None:
    with pytest.raises(ConfigError, match="--any-origin"):
        make_key(KeyKind.PUBLISHABLE)
    with pytest.raises(ConfigError, match="--any-origin"):
        make_key(KeyKind.PUBLISHABLE, SITE, ANY_ORIGIN)


def test_the_origins_of_valid_keys_are_allowed() -> None:
    (bound, _), (admin, _) = make_key(KeyKind.PUBLISHABLE, SITE), make_key(KeyKind.ADMIN)
    assert KeyRing((bound, admin)).allows_origin(SITE)
    assert not KeyRing((bound, admin)).allows_origin(OTHER)


def add(file: Path, name: str = "") -> tuple[ApiKey, str]:
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, name, [ANY_ORIGIN])
    api_keys.add_key(file, key)
    return key, secret


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keys.json"


def test_the_key_file_is_next_to_the_index_or_where_the_setting_says(tmp_path: Path) -> None:
    assert api_keys.key_file_path(Settings(index=tmp_path / "index")) == tmp_path / "index-log" / "keys.json"
    assert api_keys.key_file_path(Settings(key_file=tmp_path / "k")) == tmp_path / "k"


def test_stored_keys_are_loaded_again_and_only_their_owner_can_read_them(file: Path) -> None:
    one, secret = add(file, "Seite €")
    two, _ = add(file)
    assert api_keys.load_keys(file).keys == (one, two)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in file.read_text()


def test_a_revoked_key_remains_with_the_time_of_its_first_revocation(file: Path) -> None:
    key, _ = add(file)
    revoked = api_keys.revoke_key(file, key.id)
    assert revoked.revoked is not None
    assert api_keys.revoke_key(file, key.id) == revoked
    assert api_keys.load_keys(file).keys == (revoked,)
    with pytest.raises(ConfigError, match="bookbound key list"):
        api_keys.revoke_key(file, "nobody")


@pytest.mark.slow
def test_processes_that_write_at_once_lose_no_key(file: Path) -> None:
    code = f"""
from pathlib import Path
from bookbound.server.api_keys import ApiKey, KeyKind, add_key
for _ in range(10):
    add_key(Path({str(file)!r}), ApiKey.new(KeyKind.ADMIN, "", [])[0])
"""
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert len({key.id for key in api_keys.load_keys(file).keys}) == 40


KEY: dict[str, Any] = {
    "id": "1",
    "kind": "admin",
    "name": "",
    "hash": "0" * 64,
    "origins": [],
    "created": "now",
    "revoked": None,
}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        "\xff\xfe",
        "[" * 100_000,
        '{"format": 2, "keys": []}',
        '{"format": 1}',
        '{"format": 1, "keys": 3}',
        '{"format": 1, "keys": [3]}',
        *(json.dumps({"format": 1, "keys": [KEY | wrong]}) for wrong in ({"kind": "god"}, {"hash": "0"}, {"more": 1})),
        *(json.dumps({"format": 1, "keys": [KEY | wrong]}) for wrong in ({"origins": 3}, {"origins": [3]}, {"id": 3})),
        json.dumps({"format": 1, "keys": [{name: KEY[name] for name in KEY if name != "hash"}]}),
    ],
)
def test_a_damaged_key_file_is_an_error_and_never_overwritten(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_bytes(content.encode("latin-1"))
    for change in (lambda: api_keys.load_keys(file), lambda: add(file), lambda: api_keys.revoke_key(file, "1")):
        with pytest.raises(ConfigError, match="damaged"):
            change()
    assert file.read_bytes() == content.encode("latin-1")


def test_an_unreadable_or_unwritable_key_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        api_keys.load_keys(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be stored"):
        add(tmp_path / "file" / "keys.json")


def test_a_server_reloads_a_changed_key_file_once_a_second(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(api_keys, "monotonic", lambda: now)
    reloading = ReloadingKeyRing(file)
    assert reloading.ring.keys == ()
    key, secret = add(file)
    assert reloading.ring.find(secret) is None
    now += api_keys.RELOAD_SECONDS
    assert reloading.ring.find(secret) == key
    api_keys.revoke_key(file, key.id)
    now += api_keys.RELOAD_SECONDS
    assert reloading.ring.find(secret) is None
    add(file)
    file.unlink()
    now += api_keys.RELOAD_SECONDS
    assert reloading.ring.keys == ()


def test_while_the_key_file_is_damaged_the_last_keys_remain_and_one_error_is_logged(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(api_keys, "RELOAD_SECONDS", 0.0)
    key, secret = add(file)
    reloading = ReloadingKeyRing(file)
    assert reloading.ring.find(secret) == key
    file.write_text("{")
    with caplog.at_level(logging.ERROR):
        assert [reloading.ring.find(secret) for _ in range(3)] == [key] * 3
    assert len(caplog.records) == 1
