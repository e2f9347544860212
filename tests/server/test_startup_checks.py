"""Tests that invalid settings stop the server with a message, and that probable mistakes are warnings."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bookbound import bootstrap, cli
from bookbound.settings import ENVIRONMENT_PREFIX, Settings


@pytest.fixture(autouse=True)
def isolated_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove settings from outside the test, and restore the signal handler."""
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def serve(*options: str, **settings: str) -> tuple[int, str]:
    """The exit code and the output of `bookbound serve` with these settings."""
    runner = CliRunner(env={ENVIRONMENT_PREFIX + name.upper(): value for name, value in settings.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = runner.invoke(cli.app, ["serve", "--port", "0", *options], obj=bootstrap)
    return done.exit_code, " ".join(done.output.split())


INVALID_VALUES: dict[str, tuple[str, ...]] = {
    **{
        each.name: ("x", str(each.metadata["limits"][0] - 1), str(each.metadata["limits"][1] + 1), "nan", "")
        for each in fields(Settings)
        if "limits" in each.metadata
    },
    **{each.name: ("x", "ON", "") for each in fields(Settings) if "choices" in each.metadata},
    "index": (" ",),
    "key_file": (" ",),
    "allowed_origins": ("book.example", "https://a/b", "https://book.example,ftp://x"),
    "trusted_proxies": ("x", "10.0.0.0/99"),
    **dict.fromkeys(
        ("query_session_rate_limit", "query_address_rate_limit", "key_rate_limit", "address_rate_limit"),
        ("x", "0/minute", "10", ""),
    ),
}


@pytest.mark.parametrize("name", INVALID_VALUES)
def test_an_invalid_value_is_reported_with_its_setting(name: str) -> None:
    for value in INVALID_VALUES[name]:
        code, output = serve(**{name: value})
        assert (code, f"`{name}`" in output) == (2, True), (value, output)
        assert "Traceback" not in output


INVALID_ADDRESSES_AND_KEYS = {
    "query_log_url": ("x", "mysql://a/b", "sqlite://"),
    "query_log_key": ("short",),
    "traces_url": ("x", "http://user:password@host/"),
}


@pytest.mark.parametrize("name", INVALID_ADDRESSES_AND_KEYS)
def test_an_invalid_address_or_key_is_reported_before_serving(name: str, example_index: Path) -> None:
    for value in INVALID_ADDRESSES_AND_KEYS[name]:
        code, output = serve(index=str(example_index), **{name: value})
        assert (code, "Serving" in output, f"`{name}`" in output) == (2, False, True), (value, output)
        assert "password" not in output.replace("without a password", "")


@pytest.mark.parametrize("settings", [{"embedder": "cohere"}, {"llm_model": "m-1"}, {"reranker": "cohere"}])
def test_a_missing_service_key_is_reported(settings: dict[str, str], example_index: Path) -> None:
    code, output = serve(index=str(example_index), **settings)
    assert (code, "key`" in output) == (2, True), output


def test_an_unreadable_key_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{")
    for file, words in ((tmp_path / "keys.json", "damaged"), (tmp_path, "cannot be read")):
        code, output = serve(key_file=str(file))
        assert (code, words in output) == (2, True), output


def test_a_used_port_a_foreign_host_and_a_missing_index_are_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve("--port", str(port)) == (
            2,
            f"Error: Port {port} on 127.0.0.1 cannot be used. Choose another with --port or --host.",
        )
    for host in ("192.0.2.1", "no such host"):
        code, output = serve("--host", host)
        assert (code, f"{host} is not an address of this machine." in output) == (2, True), output
    code, output = serve()
    assert (code, "bookbound index SOURCE" in output) == (2, True)


def collect_warnings(host: str = "127.0.0.1", **settings: str) -> list[str]:
    """The warnings of a start that then fails because there is no index."""
    runner = CliRunner(env={ENVIRONMENT_PREFIX + name.upper(): value for name, value in settings.items()})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runner.invoke(cli.app, ["serve", "--port", "0", "--host", host], obj=bootstrap)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("host", "settings", "words"),
    [
        ("0.0.0.0", {"rate_limits": "off"}, "without limit"),
        ("::", {"rate_limits": "off"}, "without limit"),
        ("127.0.0.1", {"access_mode": "keys"}, ".bookbound-log/keys.json. To make a key: bookbound"),
        ("127.0.0.1", {"access_mode": "keys", "key_file": "typo.json"}, "there is no key file at typo.json."),
        ("127.0.0.1", {"access_mode": "keys", "index": "a b"}, "key new --origin https://book.example --index 'a b'"),
        ("127.0.0.1", {"trusted_proxies": "0.0.0.0/0"}, "clients can forge"),
        ("127.0.0.1", {"trusted_proxies": "10.0.0.1,::/0"}, "clients can forge"),
        ("127.0.0.1", {"llm_url": "http://x"}, "`llm_url` has no effect"),
        ("127.0.0.1", {"embedder_url": "http://x"}, "`embedder_url` has no effect"),
        ("127.0.0.1", {"embedder_model": "x"}, "`embedder_model` has no effect"),
        ("127.0.0.1", {"cohere_url": "http://x"}, "`cohere_url` has no effect"),
        ("127.0.0.1", {"query_log": "off", "query_log_url": "sqlite:///x"}, "`query_log_url` has no effect"),
        ("127.0.0.1", {"rate_limits": "off", "redis_url": "redis://x"}, "`redis_url` has no effect"),
    ],
)
def test_a_probable_mistake_is_a_warning(host: str, settings: dict[str, str], words: str) -> None:
    (warning,) = collect_warnings(host, **settings)
    assert words in warning


@pytest.mark.parametrize(
    ("host", "settings"),
    [("127.0.0.1", {"rate_limits": "off"}), ("0.0.0.0", {}), ("127.0.0.1", {"trusted_proxies": "10.0.0.0/8"})],
)
def test_sensible_settings_give_no_warning(host: str, settings: dict[str, str]) -> None:
    assert collect_warnings(host, **settings) == []


def test_a_misspelled_variable_is_reported_with_the_nearest_setting(tmp_path: Path) -> None:
    environment = os.environ | {"BOOKBOUND_RATE_LIMIT": "off", "BOOKBOUND_SOMETHING_ELSE": "x"}
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert "BOOKBOUND_RATE_LIMIT is not a setting. Did you mean BOOKBOUND_RATE_LIMITS?" in done.stderr
    assert "SOMETHING" not in done.stderr


def test_warnings_at_startup_have_the_chosen_log_format(tmp_path: Path) -> None:
    environment = os.environ | {
        "BOOKBOUND_LOG_FORMAT": "json",
        "BOOKBOUND_RATE_LIMIT": "off",
        "BOOKBOUND_ACCESS_MODE": "keys",
    }
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    *log_lines, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    lines = [json.loads(line) for line in log_lines]
    assert {(line["level"], line["logger"]) for line in lines} == {("warning", "bookbound.server")}
    assert [line["message"].split()[0] for line in lines] == ["BOOKBOUND_RATE_LIMIT", "All"]
