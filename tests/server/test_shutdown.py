"""Signals at every moment of a server's life: real processes, real signals, answers that take their time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from tests.conftest import REPOSITORY
from tests.server.inside import inside
from tests.server.slow import WORKING, chosen

from bookbound.answering.pipeline import PipelineEvent
from bookbound.bootstrap.web_app import log
from bookbound.domain.question import Question
from bookbound.server import uvicorn_server
from bookbound.server.app import create_app
from bookbound.settings import ENVIRONMENT_PREFIX, Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

ASKED = "Does it walk?"
STREAM = {"Accept": "text/event-stream"}
ANSWER = make_answer([("It walks.", make_passage("It walks."))])


class Held:
    """A server whose answers wait until they may go on, and the clients that wait for it."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, address: str) -> None:
        self.process, self._folder, self.address = process, folder, address
        self._clients = ThreadPoolExecutor(4)

    def ask(self, headers: dict[str, str] | None = None) -> Future[httpx.Response]:
        """A question that is being worked on."""
        before = len(self._working())
        asked = self._clients.submit(
            httpx.post, f"{self.address}/v1/answers", json={"question": ASKED}, headers=headers, timeout=60
        )
        patiently(lambda: len(self._working()) > before)
        return asked

    def refuses(self) -> bool:
        """Whether nobody listens any more."""
        host, _, port = self.address.removeprefix("http://").partition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=30):
                return False
        except (ConnectionRefusedError, ConnectionResetError):
            return True

    def go_on(self) -> None:
        (self._folder / "go").touch()

    def _working(self) -> list[Path]:
        return list(self._folder.glob(WORKING))


def patiently(so: Callable[[], bool]) -> None:
    """Wait until something is so; far beyond what it takes, it is not."""
    for _ in range(1200):
        if so():
            return
        sleep(0.05)
    raise AssertionError("it never came to be")


@contextmanager
def held(folder: Path, workers: int) -> Iterator[Held]:
    command = [sys.executable, "-u", "-m", "tests.server.slow", str(folder), str(workers)]
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, text=True, cwd=REPOSITORY)
    try:
        assert process.stdout is not None
        yield Held(process, folder, process.stdout.readline().strip())
    finally:
        (folder / "go").touch()
        process.terminate()
        process.communicate(timeout=60)


def statuses(folder: Path) -> list[str]:
    with closing(log(chosen(folder))) as database, database.read() as connection:
        return sorted(connection.execute(text("SELECT status FROM queries")).scalars())


def workers(pid: int) -> list[int]:
    """The processes that answer, of those that a process has started."""
    found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def test_what_is_being_answered_is_answered_and_logged_and_nobody_else_is_taken(tmp_path: Path) -> None:
    with held(tmp_path, 1) as server:
        plain, stream = server.ask(), server.ask(STREAM)
        server.process.send_signal(signal.SIGTERM)
        patiently(server.refuses)
        assert not plain.done()
        server.go_on()
        assert plain.result().json()["answer"] == "It walks."
        *_, last = stream.result().text.strip().split("\n\n")
        assert last.startswith("event: reply")
        assert server.process.wait(60) == 0
    assert statuses(tmp_path) == ["success", "success"]


def test_several_processes_end_together_and_none_is_left_behind(tmp_path: Path) -> None:
    with held(tmp_path, 2) as server:
        plain = server.ask()
        started = workers(server.process.pid)
        server.process.send_signal(signal.SIGTERM)
        patiently(server.refuses)
        server.go_on()
        assert plain.result().json()["answer"] == "It walks."
        assert server.process.wait(60) == 0
    assert len(started) == 2
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert statuses(tmp_path) == ["success"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_second_signal_cuts_answers_short_says_so_and_still_writes_the_log(tmp_path: Path, number: int) -> None:
    with held(tmp_path, number) as server:
        plain, stream = server.ask(), server.ask(STREAM)
        server.process.send_signal(signal.SIGINT)
        patiently(server.refuses)
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGTERM)
        cut = plain.result()
        assert (cut.status_code, cut.json()["error"]["type"]) == (503, "busy")
        *_, last = stream.result().text.strip().split("\n\n")
        name, data = last.split("\n")
        assert name == "event: error"
        assert "being stopped" in json.loads(data.removeprefix("data: "))["error"]["message"]
        assert server.process.wait(60) == 0
    assert statuses(tmp_path) == ["error", "error"]
    said = (tmp_path / "output").read_text()
    assert "Traceback" not in said
    assert said.count(" stopping: ") == number
    assert (said.count("outcome=busy"), said.count("outcome=left")) == (2, 0)


def test_before_it_listens_a_signal_is_heard_and_ends_it_with_code_0(example_index: Path, tmp_path: Path) -> None:
    with socket.socket() as database:
        database.bind(("127.0.0.1", 0))
        database.listen()
        set_ = {"index": example_index, "log_url": f"postgresql://127.0.0.1:{database.getsockname()[1]}/x"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        environment |= {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in set_.items()}
        command = [sys.executable, "-m", "bookbound", "serve", "--port", "0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
        )
        line, _ = database.accept()  # it waits for its log now, and serves nobody yet
        with line:
            status = Path(f"/proc/{process.pid}/status").read_text()
            caught = int(next(each for each in status.splitlines() if each.startswith("SigCgt")).split()[1], 16)
            assert caught >> (signal.SIGTERM - 1) & 1, (
                "the first process of a container hears what it has a handler for"
            )
            process.terminate()
            said, trouble = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
    assert "Traceback" not in trouble


def test_a_process_that_loses_the_one_that_started_it_ends_too(tmp_path: Path) -> None:
    with held(tmp_path, 2) as server:
        server.go_on()
        assert server.ask().result().status_code == 200
        server.process.kill()
        patiently(server.refuses)


class Endless(ScriptedBackend):
    """Gives the passages at once and the rest never."""

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        yield ANSWER.trace.retrieval
        await asyncio.Event().wait()


def test_a_stream_that_the_end_of_the_time_cuts_has_a_last_event_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_server, "GRACE_SECONDS", 0.2)
    with inside(create_app(Endless(ANSWER), Settings(limits="off"))) as running:
        asked = {"url": f"{running.address}/v1/answers", "json": {"question": "Does it walk?"}, "headers": STREAM}
        with httpx.stream("POST", **asked, timeout=30) as response:  # type: ignore[arg-type]
            events = response.iter_text()
            assert next(events).startswith("event: retrieval")
            running.server.handle_exit(signal.SIGTERM, None)
            last = "".join(events).strip()
        running.thread.join(30)
        assert not running.thread.is_alive()
    assert last.startswith("event: error")
    assert json.loads(last.partition("data: ")[2])["error"]["type"] == "busy"


def test_from_the_signal_on_it_is_not_ready_and_takes_no_question() -> None:
    async def ask(path: str, method: str) -> tuple[int, dict[str, Any]]:
        told: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
        await create_app(ScriptedBackend(ANSWER), Settings())(scope | {"state": {"stopping": True}}, receive, send)
        return told[0]["status"], json.loads(told[1]["body"])

    status, body = asyncio.run(ask("/health/ready", "GET"))
    assert (status, body["status"]) == (503, "stopping")
    assert asyncio.run(ask("/health", "GET"))[0] == 200
    assert asyncio.run(ask("/ask", "POST")) == (
        503,
        {"error": "busy", "detail": "The server is being stopped. Try again in a moment."},
    )
