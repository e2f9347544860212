"""Wrong settings are errors at the start; unreachable services are warnings."""

from __future__ import annotations

import asyncio
import re
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.redis_server import redis_server
from tests.server.query_log.factories import KEY, make_entry, make_requester

from bookbound.bootstrap import web_app
from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import BackgroundQueryLog, log_folder
from bookbound.server.query_log.repository import ADDRESS_KEY_FILE
from bookbound.server.rate_limit import FallbackLimiter, MemoryLimiter
from bookbound.server.telemetry import QueueStats
from bookbound.settings import Settings

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"query_session_rate_limit": "ten"}, "`query_session_rate_limit`.*10/minute"),
        ({"query_address_rate_limit": "0/minute"}, "`query_address_rate_limit`.*10/minute"),
        ({"key_rate_limit": "10/fortnight"}, "`key_rate_limit`.*10/minute"),
        ({"address_rate_limit": ""}, "`address_rate_limit`.*10/minute"),
        ({"address_rate_limit": "x", "rate_limits": "off"}, "`address_rate_limit`"),
        ({"trusted_proxies": ("nginx",)}, "`trusted_proxies`.*10.0.0.0/8"),
        ({"redis_url": "http://127.0.0.1"}, "`redis_url`.*redis://"),
    ],
)
def test_a_bad_rate_limit_is_reported_with_what_to_write(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        web_app.check_rate_limits(Settings(**chosen))


def test_the_default_settings_give_no_warning() -> None:
    web_app.check_rate_limits(Settings())
    web_app.check_rate_limits(Settings(redis_url=""))


def test_several_processes_without_redis_give_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"3 times.*redis_url"):
        web_app.check_rate_limits(Settings(), workers=3)
    web_app.check_rate_limits(Settings(rate_limits="off"), workers=3)


def test_an_unreachable_redis_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="each process counts rate limits alone"):
        web_app.check_rate_limits(Settings(redis_url=NOWHERE))
    web_app.check_rate_limits(Settings(redis_url=NOWHERE, rate_limits="off"))


def test_a_wrong_redis_password_is_an_error_that_does_not_show_it(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as server:
        with pytest.raises(ConfigError, match="redis_url") as caught:
            web_app.check_rate_limits(Settings(redis_url=f"redis://:Ummenschlag@127.0.0.1:{server.port}/0"))
        assert "Ummenschlag" not in str(caught.value)
        web_app.check_rate_limits(Settings(redis_url=f"redis://:right@127.0.0.1:{server.port}/0"), workers=2)


def test_without_the_package_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bookbound.server.rate_limit.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match=re.escape('pip install "redis>=5.2"')):
        web_app.check_rate_limits(Settings(redis_url=NOWHERE))


def test_the_settings_choose_the_limiter() -> None:
    assert web_app.build_rate_limiter(Settings(rate_limits="off")) is None
    alone, shared = web_app.build_rate_limiter(Settings()), web_app.build_rate_limiter(Settings(redis_url=NOWHERE))
    assert isinstance(alone, MemoryLimiter)
    assert isinstance(shared, FallbackLimiter)
    for each in (alone, shared):
        asyncio.run(each.close())


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n"])
def test_a_server_that_is_not_redis_is_an_error(words: bytes) -> None:
    with answering(words) as port, pytest.raises(ConfigError, match="`redis_url`"):
        web_app.check_rate_limits(Settings(redis_url=f"redis://127.0.0.1:{port}/0"))


def test_a_closed_connection_is_a_warning() -> None:
    with answering(b"") as port, pytest.warns(UserWarning, match="closes the connection"):
        web_app.check_rate_limits(Settings(redis_url=f"redis://127.0.0.1:{port}/0"))


@contextmanager
def answering(words: bytes) -> Iterator[int]:
    """The port of a server that sends these words to every client and closes the connection."""

    class Says(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1024)
            self.request.sendall(words)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Says) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def blocked(index: Path) -> Path:
    """A log folder that cannot be written, because a file has its name."""
    log_folder(index).write_text("")
    return index


def test_tables_and_key_exist_before_the_first_question(index: Path) -> None:
    web_app.check_query_log(Settings(index=index))
    web_app.check_query_log(Settings(index=index))
    assert {file.name for file in log_folder(index).iterdir()} == {".gitignore", ADDRESS_KEY_FILE, "questions.db"}


def test_without_a_query_log_nothing_is_created(blocked: Path) -> None:
    off = Settings(index=blocked, query_log="off", query_log_url="nonsense", query_log_key="short")
    web_app.check_query_log(off)
    noted = web_app.build_query_log(off)
    noted.add(make_entry())
    asyncio.run(noted.close())
    assert noted.lost_count == 0
    assert [file.name for file in blocked.parent.iterdir()] == [log_folder(blocked).name]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"query_log_key": "short"}, "`query_log_key` must have at least 16 characters"),
        ({"query_log_url": "nonsense"}, "`query_log_url` is not a database URL"),
        (
            {"query_log_url": "mysql://me:a-secret@host/log"},
            "`query_log_url` must begin with postgresql:// or sqlite:///",
        ),
        ({"query_log_url": "sqlite://"}, "`query_log_url` must name a file"),
    ],
)
def test_a_wrong_query_log_setting_is_named_and_not_shown(index: Path, chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        web_app.check_query_log(Settings(index=index, **chosen))
    assert "secret" not in str(caught.value)


def test_a_log_of_a_newer_version_is_reported_and_not_changed(index: Path) -> None:
    chosen = Settings(index=index)
    web_app.check_query_log(chosen)
    database = web_app.open_query_log(chosen)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE query_log_version SET version_num = '9999'")
    database.close()
    with pytest.raises(ConfigError, match="newer version of Bookbound"):
        web_app.check_query_log(chosen)


def test_an_unwritable_log_folder_is_a_warning(blocked: Path) -> None:
    with pytest.warns(UserWarning, match=r"answered but cannot be logged yet.*index-log.*set `query_log` to off"):
        web_app.check_query_log(Settings(index=blocked))


def test_an_unreachable_database_is_a_warning_without_its_address(index: Path) -> None:
    url = "postgresql://me:a-secret@127.0.0.1:9/log"
    with pytest.warns(UserWarning, match="cannot be logged yet") as caught:
        web_app.check_query_log(Settings(index=index, query_log_url=url))
    assert "secret" not in str(caught[0].message)


def test_a_remote_log_needs_a_key_if_none_can_be_stored(blocked: Path, tmp_path: Path) -> None:
    elsewhere: dict[str, Any] = {"index": blocked, "query_log_url": f"sqlite:///{tmp_path / 'elsewhere.db'}"}
    with pytest.raises(ConfigError, match="set a key: `query_log_key`"):
        web_app.check_query_log(Settings(**elsewhere))
    web_app.check_query_log(Settings(**elsewhere, query_log_key=KEY.decode()))
    web_app.check_query_log(Settings(**elsewhere, query_log_addresses="plain"))


def test_questions_are_logged_once_the_folder_is_writable(blocked: Path) -> None:
    noted = web_app.build_query_log(Settings(index=blocked))
    assert isinstance(noted, BackgroundQueryLog)
    noted.add(make_entry(requester=make_requester()))
    log_folder(blocked).unlink()
    asyncio.run(noted.close())
    assert (noted.added_count, noted.written_count, noted.lost_count) == (1, 1, 0)


@pytest.mark.parametrize("url", ["collector", "ftp://host", "http://user:secret@host:4318", "http://host/?key=secret"])
def test_an_invalid_traces_url_is_reported_at_the_start(url: str) -> None:
    for check in (web_app.check_telemetry, lambda chosen: web_app.build_telemetry(chosen, QueueStats)):
        with pytest.raises(ConfigError, match="`traces_url`") as caught:
            check(Settings(traces_url=url))
        assert "secret" not in str(caught.value)


def test_missing_packages_for_traces_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bookbound.server.telemetry.opentelemetry", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match='pip install "opentelemetry-sdk'):
        web_app.check_telemetry(Settings(traces_url="http://127.0.0.1:4318"))


@pytest.mark.parametrize(("chosen", "expected"), [({"metrics": "off"}, False), ({"metrics": "on"}, True)])
def test_telemetry_that_is_off_is_not_imported(chosen: dict[str, str], expected: bool) -> None:
    code = f"""
import sys
from bookbound.bootstrap import web_app
from bookbound.settings import Settings
from bookbound.server.telemetry import QueueStats
web_app.check_telemetry(Settings(**{chosen!r}))
web_app.build_telemetry(Settings(**{chosen!r}), QueueStats)
print("opentelemetry.sdk" in sys.modules, "prometheus_client" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str(expected)]
