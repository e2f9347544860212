"""A server that is set wrong does not start, and says what to do; what is hardly meant is a warning."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bookbound import bootstrap, cli
from bookbound.settings import ENVIRONMENT_PREFIX, SETTING_CHOICES, SETTING_RANGES, Settings, find_unknown_settings


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings but those of the test, and no signal handler left behind."""
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def serve(*options: str, **chosen: str) -> tuple[int, str]:
    """How the command ends that serves with these settings, and what it says."""
    runner = CliRunner(env={ENVIRONMENT_PREFIX + name.upper(): value for name, value in chosen.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = runner.invoke(cli.app, ["serve", "--port", "0", *options], obj=bootstrap)
    return done.exit_code, " ".join(done.output.split())


WRONG: dict[str, tuple[str, ...]] = {
    **{name: ("x", str(least - 1), str(most + 1), "nan", "") for name, (least, most) in SETTING_RANGES.items()},
    **dict.fromkeys(SETTING_CHOICES, ("x", "ON", "")),
    "answered": ("x", "2", "-0.1", "nan"),
    "index": (" ",),
    "keys": (" ",),
    "origins": ("book.example", "https://a/b", "https://book.example,ftp://x"),
    "proxies": ("x", "10.0.0.0/99"),
    **dict.fromkeys(("session_limit", "address_limit", "key_limit", "question_limit"), ("x", "0/minute", "10", "")),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_told_by_the_name_of_its_setting(name: str) -> None:
    for value in WRONG[name]:
        code, told = serve(**{name: value})
        assert (code, f"`{name}`" in told) == (2, True), (value, told)
        assert "Traceback" not in told


AFTER = {
    "log_url": ("x", "mysql://a/b", "sqlite://"),
    "log_key": ("short",),
    "traces_url": ("x", "http://user:password@host/"),
}


@pytest.mark.parametrize("name", AFTER)
def test_a_wrong_address_or_key_is_told_before_anybody_is_served(name: str, example_index: Path) -> None:
    for value in AFTER[name]:
        code, told = serve(index=str(example_index), **{name: value})
        assert (code, "Serving" in told, f"`{name}`" in told) == (2, False, True), (value, told)
        assert "password" not in told.replace("without a password", "")


@pytest.mark.parametrize("chosen", [{"embedder": "cohere"}, {"model": "m-1"}, {"examiner": "cohere"}])
def test_a_service_without_its_key_is_told(chosen: dict[str, str], example_index: Path) -> None:
    code, told = serve(index=str(example_index), **chosen)
    assert (code, "key`" in told) == (2, True), told


def test_keys_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{")
    for file, words in ((tmp_path / "keys.json", "damaged"), (tmp_path, "cannot be read")):
        code, told = serve(keys=str(file))
        assert (code, words in told) == (2, True), told


def test_a_port_in_use_a_host_that_is_elsewhere_and_a_missing_index_are_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve("--port", str(port)) == (
            2,
            f"Error: Port {port} on 127.0.0.1 cannot be used. Choose another with --port or --host.",
        )
    for host in ("192.0.2.1", "no such host"):
        code, told = serve("--host", host)
        assert (code, f"{host} is no address of this machine." in told) == (2, True), told
    code, told = serve()
    assert (code, "bookbound index SOURCE" in told) == (2, True)


def warned(monkeypatch: pytest.MonkeyPatch, host: str = "127.0.0.1", **chosen: str) -> list[str]:
    """The warnings of a start that ends for want of an index."""
    runner = CliRunner(env={ENVIRONMENT_PREFIX + name.upper(): value for name, value in chosen.items()})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        runner.invoke(cli.app, ["serve", "--port", "0", "--host", host], obj=bootstrap)
    return [str(each.message) for each in told]


@pytest.mark.parametrize(
    ("host", "chosen", "words"),
    [
        ("0.0.0.0", {"limits": "off"}, "without limit"),
        ("::", {"limits": "off"}, "without limit"),
        ("127.0.0.1", {"access": "keys"}, ".bookbound-log/keys.json. To make a key: bookbound"),
        ("127.0.0.1", {"access": "keys", "keys": "typo.json"}, "there is no file of keys at typo.json."),
        ("127.0.0.1", {"access": "keys", "index": "a b"}, "key new --origin https://book.example --index 'a b'"),
        ("127.0.0.1", {"proxies": "0.0.0.0/0"}, "anybody may forge"),
        ("127.0.0.1", {"proxies": "10.0.0.1,::/0"}, "anybody may forge"),
        ("127.0.0.1", {"model_url": "http://x"}, "`model_url` has no effect"),
        ("127.0.0.1", {"embed_url": "http://x"}, "`embed_url` has no effect"),
        ("127.0.0.1", {"embed_model": "x"}, "`embed_model` has no effect"),
        ("127.0.0.1", {"cohere_url": "http://x"}, "`cohere_url` has no effect"),
        ("127.0.0.1", {"log": "off", "log_url": "sqlite:///x"}, "`log_url` has no effect"),
        ("127.0.0.1", {"limits": "off", "redis_url": "redis://x"}, "`redis_url` has no effect"),
    ],
)
def test_what_is_hardly_meant_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, host: str, chosen: dict[str, str], words: str
) -> None:
    (told,) = warned(monkeypatch, host, **chosen)
    assert words in told


@pytest.mark.parametrize(
    ("host", "chosen"), [("127.0.0.1", {"limits": "off"}), ("0.0.0.0", {}), ("127.0.0.1", {"proxies": "10.0.0.0/8"})]
)
def test_what_is_meant_is_none(monkeypatch: pytest.MonkeyPatch, host: str, chosen: dict[str, str]) -> None:
    assert warned(monkeypatch, host, **chosen) == []


def test_a_variable_that_is_nearly_a_setting_is_told_with_the_nearest_by_every_command(tmp_path: Path) -> None:
    environment = os.environ | {"BOOKBOUND_LIMIT": "off", "BOOKBOUND_SOMETHING_ELSE": "x"}
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert "BOOKBOUND_LIMIT is no setting. Was BOOKBOUND_LIMITS meant?" in done.stderr
    assert "SOMETHING" not in done.stderr


def test_what_is_warned_of_as_a_server_starts_has_the_one_form_that_was_chosen(tmp_path: Path) -> None:
    environment = os.environ | {"BOOKBOUND_LOGGING": "json", "BOOKBOUND_LIMIT": "off", "BOOKBOUND_ACCESS": "keys"}
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    *warned, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    lines = [json.loads(line) for line in warned]
    assert {(line["level"], line["logger"]) for line in lines} == {("warning", "bookbound.server")}
    assert [line["message"].split()[0] for line in lines] == ["BOOKBOUND_LIMIT", "Nobody"]


def test_no_setting_is_taken_for_a_misspelt_one() -> None:
    names = [ENVIRONMENT_PREFIX + name.upper() for name in Settings.__dataclass_fields__]
    assert find_unknown_settings(dict.fromkeys([*names, "BOOKBOUND_DEBUG", "PATH", "BOOKBOUND_SHARED"], "x")) == []
