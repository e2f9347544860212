"""Sends signals to real server processes at every moment of their life."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from tests.conftest import REPOSITORY
from tests.server.slow_server import WORKING, make_settings
from tests.server.test_streaming import EndlessBackend
from tests.server.thread_server import run_in_thread

from bookbound.bootstrap.web_app import open_query_log
from bookbound.server import uvicorn_server
from bookbound.server.app import create_app
from bookbound.settings import ENVIRONMENT_PREFIX, Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

ASKED = "Does it walk?"
STREAM = {"Accept": "text/event-stream"}
ANSWER = make_answer([("It walks.", make_passage("It walks."))])


class WaitingServer:
    """A server whose answers wait, and the clients that wait for it."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, address: str) -> None:
        self.process, self._folder, self.address = process, folder, address
        self._clients = ThreadPoolExecutor(4)

    def ask(self, headers: dict[str, str] | None = None) -> Future[httpx.Response]:
        """Ask a question and return once the server works on it."""
        before = len(self._working())
        reply = self._clients.submit(
            httpx.post, f"{self.address}/v1/answers", json={"question": ASKED}, headers=headers, timeout=60
        )
        wait_until(lambda: len(self._working()) > before)
        return reply

    def refuses_connections(self) -> bool:
        host, _, port = self.address.removeprefix("http://").partition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=30):
                return False
        except (ConnectionRefusedError, ConnectionResetError):
            return True

    def answer_all(self) -> None:
        (self._folder / "go").touch()

    def _working(self) -> list[Path]:
        return list(self._folder.glob(WORKING))


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        sleep(0.05)
    raise AssertionError("the condition was never met")


@contextmanager
def run_waiting_server(folder: Path, workers: int) -> Iterator[WaitingServer]:
    command = [sys.executable, "-u", "-m", "tests.server.slow_server", str(folder), str(workers)]
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, text=True, cwd=REPOSITORY)
    try:
        assert process.stdout is not None
        yield WaitingServer(process, folder, process.stdout.readline().strip())
    finally:
        (folder / "go").touch()
        process.terminate()
        process.communicate(timeout=60)


def statuses(folder: Path) -> list[str]:
    with closing(open_query_log(make_settings(folder))) as database, database.read() as connection:
        return sorted(connection.execute(text("SELECT status FROM queries")).scalars())


def worker_pids(pid: int) -> list[int]:
    """The worker processes that a process has started."""
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [each for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.slow
def test_after_a_signal_running_questions_are_answered_and_logged_and_new_ones_rejected(tmp_path: Path) -> None:
    with run_waiting_server(tmp_path, 1) as server:
        plain, stream = server.ask(), server.ask(STREAM)
        server.process.send_signal(signal.SIGTERM)
        wait_until(server.refuses_connections)
        assert not plain.done()
        server.answer_all()
        assert plain.result().json()["answer"] == "It walks."
        *_, last = stream.result().text.strip().split("\n\n")
        assert last.startswith("event: reply")
        assert server.process.wait(60) == 0
    assert statuses(tmp_path) == ["success", "success"]


@pytest.mark.slow
def test_all_worker_processes_end_together(tmp_path: Path) -> None:
    with run_waiting_server(tmp_path, 2) as server:
        plain = server.ask()
        started = worker_pids(server.process.pid)
        server.process.send_signal(signal.SIGTERM)
        wait_until(server.refuses_connections)
        server.answer_all()
        assert plain.result().json()["answer"] == "It walks."
        assert server.process.wait(60) == 0
    assert len(started) == 2
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert statuses(tmp_path) == ["success"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_signal_interrupts_answers_and_the_log_is_still_written(tmp_path: Path, workers: int) -> None:
    with run_waiting_server(tmp_path, workers) as server:
        plain, stream = server.ask(), server.ask(STREAM)
        server.process.send_signal(signal.SIGINT)
        wait_until(server.refuses_connections)
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGTERM)
        interrupted = plain.result()
        assert (interrupted.status_code, interrupted.json()["error"]["type"]) == (503, "busy")
        *_, last = stream.result().text.strip().split("\n\n")
        name, data = last.split("\n")
        assert name == "event: error"
        assert "is stopping" in json.loads(data.removeprefix("data: "))["error"]["message"]
        assert server.process.wait(60) == 0
    assert statuses(tmp_path) == ["error", "error"]
    output = (tmp_path / "output").read_text()
    assert "Traceback" not in output
    assert output.count(" stopping: ") == workers
    assert (output.count("outcome=busy"), output.count("outcome=disconnected")) == (2, 0)


@pytest.mark.slow
def test_a_signal_during_startup_ends_the_server_with_code_0(example_index: Path, tmp_path: Path) -> None:
    with socket.socket() as database:
        database.bind(("127.0.0.1", 0))
        database.listen()
        settings = {"index": example_index, "query_log_url": f"postgresql://127.0.0.1:{database.getsockname()[1]}/x"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        environment |= {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in settings.items()}
        command = [sys.executable, "-m", "bookbound", "serve", "--port", "0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
        )
        connection, _ = database.accept()  # the server waits for its log and does not serve yet
        with connection:
            status = Path(f"/proc/{process.pid}/status").read_text()
            caught = int(next(each for each in status.splitlines() if each.startswith("SigCgt")).split()[1], 16)
            assert caught >> (signal.SIGTERM - 1) & 1, (
                "the first process of a container receives only signals that it handles"
            )
            process.terminate()
            output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "")
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_worker_ends_if_its_parent_is_killed(tmp_path: Path) -> None:
    with run_waiting_server(tmp_path, 2) as server:
        server.answer_all()
        assert server.ask().result().status_code == 200
        server.process.kill()
        wait_until(server.refuses_connections)


def test_a_stream_that_shutdown_interrupts_ends_with_an_error_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_server, "GRACE_SECONDS", 0.2)
    with run_in_thread(create_app(EndlessBackend(ANSWER), Settings(rate_limits="off"))) as running:
        request = {"url": f"{running.url}/v1/answers", "json": {"question": "Does it walk?"}, "headers": STREAM}
        with httpx.stream("POST", **request, timeout=30) as response:  # type: ignore[arg-type]
            events = response.iter_text()
            assert next(events).startswith("event: retrieval")
            running.server.handle_exit(signal.SIGTERM, None)
            last = "".join(events).strip()
        running.thread.join(30)
        assert not running.thread.is_alive()
    assert last.startswith("event: error")
    assert json.loads(last.partition("data: ")[2])["error"]["type"] == "busy"


def test_a_stopping_server_is_not_ready_and_rejects_questions() -> None:
    async def ask(path: str, method: str) -> tuple[int, dict[str, Any]]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
        await create_app(ScriptedBackend(ANSWER), Settings())(scope | {"state": {"stopping": True}}, receive, send)
        return sent[0]["status"], json.loads(sent[1]["body"])

    status, body = asyncio.run(ask("/health/ready", "GET"))
    assert (status, body["status"]) == (503, "stopping")
    assert asyncio.run(ask("/health", "GET"))[0] == 200
    assert asyncio.run(ask("/ask", "POST")) == (
        503,
        {"error": "busy", "detail": "The server is stopping. Try again in a moment."},
    )
