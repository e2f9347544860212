"""Tests what a stream of events contains, what it never contains, and what ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.server.server_process import run_server_process

from bookbound import bootstrap
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.question import Question
from bookbound.domain.reply import PipelineEvent, Reply
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage
from bookbound.testing.scripted_services import ScriptedServices

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
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


class EndlessBackend(ScriptedBackend):
    """Streams the passages at once and the rest never."""

    def __init__(self, script: Reply) -> None:
        super().__init__(script)
        self.waiting = asyncio.Event()
        self.cancelled = False

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        try:
            yield (await self.ask(question, context)).trace.retrieval
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.cancelled = True


class FailingBackend(ScriptedBackend):
    """Streams the passages and then fails."""

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        yield (await self.ask(question, context)).trace.retrieval
        raise ServiceTimeoutError("The model did not answer.", service="language model")


async def read_stream(backend: ScriptedBackend, disconnect: asyncio.Event) -> str:
    """The text that a client receives until the stream ends or `disconnect` is set."""
    received: list[bytes] = []
    messages = iter([{"type": "http.request", "body": BODY, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if message := next(messages, None):
            return message
        await disconnect.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        received.append(message.get("body", b""))

    await create_app(backend, Settings())(SCOPE | {"state": {}}, receive, send)
    return b"".join(received).decode()


def test_a_disconnect_from_a_stream_ends_the_work() -> None:
    async def run() -> None:
        backend = EndlessBackend(ANSWER)
        async with asyncio.timeout(30):
            received = await read_stream(backend, backend.waiting)
        assert received.startswith("event: retrieval")
        assert backend.cancelled

    asyncio.run(run())


def test_a_body_that_does_not_arrive_is_408_and_shutdown_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(body_seconds: float, stop: bool) -> tuple[int, bytes]:
        monkeypatch.setattr("bookbound.server.middleware.request_guard.BODY_TIMEOUT_SECONDS", body_seconds)
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        request = asyncio.create_task(
            create_app(ScriptedBackend(ANSWER), Settings())(SCOPE | {"state": {}}, receive, send)
        )
        await asyncio.sleep(0.05)
        if stop:
            request.cancel()
        await request
        return sent[0]["status"], sent[1]["body"]

    status, body = asyncio.run(ask(0.01, stop=False))
    assert (status, json.loads(body)["error"]["type"]) == (408, "timed_out")
    status, body = asyncio.run(ask(60, stop=True))
    assert (status, json.loads(body)["error"]["type"]) == (503, "busy")


def test_an_error_in_the_middle_of_a_stream_is_its_last_event() -> None:
    received = asyncio.run(read_stream(FailingBackend(ANSWER), asyncio.Event()))
    *_, last = received.strip().split("\n\n")
    name, data = last.split("\n")
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"]["type"] == "timed_out"


HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down at which hour the horn was started."
LAMP = "The lamp burns oil that is pressed from olives."
STAIRS = "The tower has 199 stairs of granite."
INVENTED = "The horn was built by Ferdinand Zeppelin and is heard as far as Portugal."


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.slow
def test_an_unsupported_sentence_never_appears_in_a_stream(tmp_path: Path, api: str) -> None:
    (source := tmp_path / "source").mkdir()
    true = [HORN, KEEPER, LAMP, STAIRS]
    (source / "horn.md").write_text(f"# The fog horn\n\n{' '.join(true)}\n", encoding="utf-8")
    drafted = [{"text": text, "passages": [1]} for text in (HORN, INVENTED, KEEPER, LAMP, STAIRS)]
    with ScriptedServices() as services:
        settings = {"index": tmp_path / "index", "llm_model": "m-1", "llm_url": services.openai_url, "llm_api": api}
        settings |= {"reader": "strong"}  # it verifies by default
        bootstrap.index_book(source, Settings(index=tmp_path / "index"))
        services.reply_with({"sentences": drafted, "missing": ""}, "1. It is heard as far as Portugal.")
        with run_server_process(settings, tmp_path / "log") as server:
            response = server.client.post(
                "/v1/answers",
                json={"question": "For how many seconds in every minute does the horn sound in fog?"},
                headers={"Accept": "text/event-stream"},
            )
    events = [event.split("\n") for event in response.text.strip().split("\n\n")]
    data = [(name, json.loads(line.removeprefix("data: "))) for name, line in events]
    assert [event["text"] for name, event in data if name == "event: sentence"] == true
    name, reply = data[-1]
    assert (name, [sentence["text"] for sentence in reply["sentences"]]) == ("event: reply", true)
    assert (reply["verification"]["dropped"], reply["verification"]["withheld"]) == (1, False)
    assert (reply["trace"]["writer"], reply["degraded"]) == ("m-1", False)
    assert not any(word in response.text for word in ("Zeppelin", "Portugal"))
