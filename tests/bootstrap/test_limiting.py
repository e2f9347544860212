"""What is set wrong about limits is told before anybody asks; a Redis that is away is not wrong."""

from __future__ import annotations

import asyncio
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.redis_server import redis_server

from bookbound.bootstrap import web_app
from bookbound.domain.errors import ConfigError
from bookbound.server.rate_limit.memory import FallbackLimiter, MemoryLimiter
from bookbound.settings import Settings

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"session_limit": "ten"}, "`session_limit`.*10/minute"),
        ({"address_limit": "0/minute"}, "`address_limit`.*10/minute"),
        ({"key_limit": "10/fortnight"}, "`key_limit`.*10/minute"),
        ({"question_limit": ""}, "`question_limit`.*10/minute"),
        ({"question_limit": "x", "limits": "off"}, "`question_limit`"),
        ({"proxies": ("nginx",)}, "`proxies`.*10.0.0.0/8"),
        ({"redis_url": "http://127.0.0.1"}, "`redis_url`.*redis://"),
    ],
)
def test_a_bad_value_is_told_with_what_to_write(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        web_app.check_rate_limits(Settings(**chosen))


def test_the_defaults_hold_without_a_word() -> None:
    web_app.check_rate_limits(Settings())
    web_app.check_rate_limits(Settings(redis_url=""))


def test_several_processes_without_a_redis_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"up to 3 times.*redis_url"):
        web_app.check_rate_limits(Settings(), workers=3)
    web_app.check_rate_limits(Settings(limits="off"), workers=3)


def test_a_redis_that_is_away_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="each process counts limits alone"):
        web_app.check_rate_limits(Settings(redis_url=NOWHERE))
    web_app.check_rate_limits(Settings(redis_url=NOWHERE, limits="off"))


def test_a_redis_that_takes_no_such_password_is_an_error_without_it(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as server:
        with pytest.raises(ConfigError, match="redis_url") as told:
            web_app.check_rate_limits(Settings(redis_url=f"redis://:Ummenschlag@127.0.0.1:{server.port}/0"))
        assert "Ummenschlag" not in str(told.value)
        web_app.check_rate_limits(Settings(redis_url=f"redis://:right@127.0.0.1:{server.port}/0"), workers=2)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bookbound.server.rate_limit.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match=r"bookbound\[redis\]"):
        web_app.check_rate_limits(Settings(redis_url=NOWHERE))


def test_what_counts_follows_the_settings() -> None:
    assert web_app.build_rate_limiter(Settings(limits="off")) is None
    alone, shared = web_app.build_rate_limiter(Settings()), web_app.build_rate_limiter(Settings(redis_url=NOWHERE))
    assert isinstance(alone, MemoryLimiter)
    assert isinstance(shared, FallbackLimiter)
    for each in (alone, shared):
        asyncio.run(each.close())


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n"])
def test_what_answers_and_is_no_redis_is_an_error(words: bytes) -> None:
    with answering(words) as port, pytest.raises(ConfigError, match="`redis_url`"):
        web_app.check_rate_limits(Settings(redis_url=f"redis://127.0.0.1:{port}/0"))


def test_what_hangs_up_may_be_a_redis_that_is_away_and_is_a_warning_that_says_so() -> None:
    with answering(b"") as port, pytest.warns(UserWarning, match="`redis_url` leads to hangs up"):
        web_app.check_rate_limits(Settings(redis_url=f"redis://127.0.0.1:{port}/0"))


@contextmanager
def answering(words: bytes) -> Iterator[int]:
    """The port of a server that hears a little, says these words to everybody, and hangs up."""

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
