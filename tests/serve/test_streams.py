"""A reader who leaves in the middle of a stream ends the work on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bookbound.ask import Step
from bookbound.dialogue import Question, Reply
from bookbound.errors import TimedOut
from bookbound.serve.app import application
from bookbound.settings import Settings
from bookbound.testing import ScriptedDesk, answer, passage

ANSWER = answer([("It walks.", passage("It walks."))])
BODY = json.dumps({"question": "Does it walk?"}).encode()
SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},
    "http_version": "1.1",
    "method": "POST",
    "scheme": "http",
    "path": "/v1/answers",
    "raw_path": b"/v1/answers",
    "query_string": b"",
    "headers": [(b"content-type", b"application/json"), (b"accept", b"text/event-stream")],
}


class SlowDesk(ScriptedDesk):
    """Gives the passages at once and the rest never."""

    def __init__(self, script: Reply) -> None:
        super().__init__(script)
        self.waiting = asyncio.Event()
        self.left = False

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        try:
            yield (await self.ask(question)).trace.retrieval
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.left = True


class FailingDesk(ScriptedDesk):
    """Gives the passages and then fails."""

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        yield (await self.ask(question)).trace.retrieval
        raise TimedOut("The model did not answer.", service="language model")


async def stream(desk: ScriptedDesk, leave: asyncio.Event) -> str:
    """What a client gets until the stream ends or the client leaves."""
    told: list[bytes] = []
    messages = iter([{"type": "http.request", "body": BODY, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if message := next(messages, None):
            return message
        await leave.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        told.append(message.get("body", b""))

    await application(desk, Settings())(SCOPE | {"state": {}}, receive, send)
    return b"".join(told).decode()


def test_leaving_a_stream_ends_the_work_where_it_stands() -> None:
    async def leave() -> None:
        desk = SlowDesk(ANSWER)
        async with asyncio.timeout(30):
            told = await stream(desk, desk.waiting)
        assert told.startswith("event: retrieval")
        assert desk.left

    asyncio.run(leave())


def test_a_body_that_does_not_arrive_is_408_and_a_stopped_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(body_seconds: float, stop: bool) -> tuple[int, bytes]:
        monkeypatch.setattr("bookbound.serve.gate.BODY_SECONDS", body_seconds)
        told: list[Any] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            told.append(message)

        asking = asyncio.create_task(
            application(ScriptedDesk(ANSWER), Settings())(SCOPE | {"state": {}}, receive, send)
        )
        await asyncio.sleep(0.05)
        if stop:
            asking.cancel()
        await asking
        return told[0]["status"], told[1]["body"]

    status, body = asyncio.run(ask(0.01, stop=False))
    assert (status, json.loads(body)["error"]["type"]) == (408, "timed_out")
    status, body = asyncio.run(ask(60, stop=True))
    assert (status, json.loads(body)["error"]["type"]) == (503, "busy")


def test_trouble_in_the_middle_of_a_stream_is_its_last_event() -> None:
    told = asyncio.run(stream(FailingDesk(ANSWER), asyncio.Event()))
    *_, last = told.strip().split("\n\n")
    name, data = last.split("\n")
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"]["type"] == "timed_out"
