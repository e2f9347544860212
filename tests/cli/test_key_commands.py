"""Making, listing and revoking API keys."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked_by_its_id(bookbound: Run, tmp_path: Path) -> None:
    place = ("--index", str(tmp_path / "index"))
    made = bookbound("key", "new", "--name", "site", "--origin", "https://Book.example/", *place)
    assert made.returncode == 0, made.stderr
    secret = made.stdout.strip()
    assert secret.startswith("bookbound_publishable_")
    listed = json.loads(bookbound("key", "list", "--json", *place).stdout)["keys"]
    (key,) = listed
    assert set(key) == {"id", "kind", "name", "origins", "created", "revoked"}
    assert (key["kind"], key["name"], key["origins"]) == ("publishable", "site", ["https://book.example"])
    assert key["id"] in made.stderr
    assert str(tmp_path / "index-log" / "keys.json") in made.stderr
    for_people = bookbound("key", "list", *place).stdout
    assert key["id"] in for_people
    assert "https://book.example" in for_people
    revoked = json.loads(bookbound("key", "revoke", key["id"], "--json", *place).stdout)
    assert revoked["revoked"]
    assert "revoked" in bookbound("key", "list", *place).stdout
    assert secret not in for_people + (tmp_path / "index-log" / "keys.json").read_text()


def test_an_admin_key_needs_no_origin(bookbound: Run, tmp_path: Path) -> None:
    made = json.loads(bookbound("key", "new", "--admin", "--json", "--index", str(tmp_path / "index")).stdout)
    assert (made["kind"], made["origins"], made["key"].startswith("bookbound_admin_")) == ("admin", [], True)


def test_invalid_keys_are_rejected_and_not_stored(bookbound: Run, tmp_path: Path) -> None:
    place = ("--index", str(tmp_path / "index"))
    for options, words in (
        ((), "--any-origin"),
        (("--origin", "book.example"), "https://book.example"),
        (("--origin", "*"), "--any-origin"),
        (("--origin", "https://a.example", "--any-origin"), "--origin or --any-origin"),
        (("--admin", "--name", "x" * 101), "100 printable characters"),
    ):
        done = bookbound("key", "new", *options, *place)
        assert (done.returncode, done.stdout, words in done.stderr) == (2, "", True), done.stderr
    assert bookbound("key", "revoke", "unknown", *place).returncode == 2
    advice = bookbound("key", "list", *place).stderr.strip().partition("bookbound ")[2]
    assert json.loads(bookbound("key", "list", "--json", *place).stdout) == {"keys": []}
    assert bookbound(*advice.split(), *place).returncode == 0


def test_the_list_of_keys_is_aligned(bookbound: Run, tmp_path: Path) -> None:
    place = ("--index", str(tmp_path / "index"))
    for options in (("--name", "site", "--origin", "https://book.example"), ("--admin", "--name", "me"), ("--admin",)):
        bookbound("key", "new", *options, *place)
    lines = bookbound("key", "list", *place).stdout.splitlines()
    assert len({line.index("created") for line in lines}) == 1
    assert lines[0].index("site") == lines[1].index("me")
