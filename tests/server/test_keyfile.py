"""The file of keys: what several write at once, what is damaged, and what a server sees of it."""

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
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind, ReloadingKeyRing
from bookbound.settings import Settings


def add(file: Path, name: str = "") -> tuple[ApiKey, str]:
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, name, [ANY_ORIGIN])
    api_keys.add_key(file, key)
    return key, secret


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keys.json"


def test_keys_are_kept_beside_the_index_or_where_a_setting_says(tmp_path: Path) -> None:
    assert api_keys.key_file_path(Settings(index=tmp_path / "index")) == tmp_path / "index-log" / "keys.json"
    assert api_keys.key_file_path(Settings(keys=tmp_path / "k")) == tmp_path / "k"


def test_what_is_kept_is_read_again_whole_for_its_owner_alone(file: Path) -> None:
    one, secret = add(file, "Seite €")
    two, _ = add(file)
    assert api_keys.load_keys(file).keys == (one, two)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in file.read_text()


def test_a_revoked_key_stays_in_the_list_with_the_time_of_the_first_revocation(file: Path) -> None:
    key, _ = add(file)
    revoked = api_keys.revoke_key(file, key.id)
    assert revoked.revoked is not None
    assert api_keys.revoke_key(file, key.id) == revoked
    assert api_keys.load_keys(file).keys == (revoked,)
    with pytest.raises(ConfigError, match="bookbound key list"):
        api_keys.revoke_key(file, "nobody")


def test_many_processes_at_once_lose_no_key(file: Path) -> None:
    code = f"""
from pathlib import Path
from bookbound.server import keyfile
from bookbound.server.api_keys import Key, Kind
for _ in range(10):
    keyfile.add(Path({str(file)!r}), Key.new(Kind.ADMIN, "", [])[0])
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
def test_a_damaged_file_is_told_and_never_overwritten(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_bytes(content.encode("latin-1"))
    for change in (lambda: api_keys.load_keys(file), lambda: add(file), lambda: api_keys.revoke_key(file, "1")):
        with pytest.raises(ConfigError, match="damaged"):
            change()
    assert file.read_bytes() == content.encode("latin-1")


def test_what_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        api_keys.load_keys(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be kept"):
        add(tmp_path / "file" / "keys.json")


def test_a_server_sees_a_change_with_its_next_look_and_looks_no_more_than_that(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(api_keys, "monotonic", lambda: now)
    watched = ReloadingKeyRing(file)
    assert watched.ring.keys == ()
    key, secret = add(file)
    assert watched.ring.find(secret) is None
    now += api_keys.RELOAD_SECONDS
    assert watched.ring.find(secret) == key
    api_keys.revoke_key(file, key.id)
    now += api_keys.RELOAD_SECONDS
    assert watched.ring.find(secret) is None
    add(file)
    file.unlink()
    now += api_keys.RELOAD_SECONDS
    assert watched.ring.keys == ()


def test_while_the_file_is_damaged_the_keys_stay_as_they_were_and_that_is_told_once(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(api_keys, "RELOAD_SECONDS", 0.0)
    key, secret = add(file)
    watched = ReloadingKeyRing(file)
    assert watched.ring.find(secret) == key
    file.write_text("{")
    with caplog.at_level(logging.ERROR):
        assert [watched.ring.find(secret) for _ in range(3)] == [key] * 3
    assert len(caplog.records) == 1
