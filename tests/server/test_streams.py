"""What a stream shows, what it never shows, and what ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.server.process import served

from bookbound import bootstrap
from bookbound.answering.pipeline import PipelineEvent
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
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


class SlowDesk(ScriptedBackend):
    """Gives the passages at once and the rest never."""

    def __init__(self, script: Reply) -> None:
        super().__init__(script)
        self.waiting = asyncio.Event()
        self.left = False

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        try:
            yield (await self.ask(question)).trace.retrieval
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.left = True


class FailingDesk(ScriptedBackend):
    """Gives the passages and then fails."""

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        yield (await self.ask(question)).trace.retrieval
        raise ServiceTimeoutError("The model did not answer.", service="language model")


async def stream(desk: ScriptedBackend, leave: asyncio.Event) -> str:
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

    await create_app(desk, Settings())(SCOPE | {"state": {}}, receive, send)
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
        monkeypatch.setattr("bookbound.server.middleware.request_guard.BODY_TIMEOUT_SECONDS", body_seconds)
        told: list[Any] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            told.append(message)

        asking = asyncio.create_task(
            create_app(ScriptedBackend(ANSWER), Settings())(SCOPE | {"state": {}}, receive, send)
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


HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down at which hour the horn was started."
INVENTED = "The horn was built by Ferdinand Zeppelin and is heard as far as Portugal."


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_sentence_that_the_book_does_not_support_never_shows_in_a_stream(tmp_path: Path, api: str) -> None:
    (source := tmp_path / "source").mkdir()
    (source / "horn.md").write_text(f"# The fog horn\n\n{HORN} {KEEPER}\n", encoding="utf-8")
    drafted = [{"text": text, "passages": [1]} for text in (HORN, INVENTED, KEEPER)]
    with ScriptedServices() as services:
        chosen = {"index": tmp_path / "index", "model": "m-1", "model_url": services.openai_url, "model_api": api}
        bootstrap.index_book(source, Settings(index=tmp_path / "index"))
        services.says({"sentences": drafted, "missing": ""})
        with served(chosen, tmp_path / "log") as server:
            told = server.client.post(
                "/v1/answers",
                json={"question": "For how many seconds in every minute does the horn sound in fog?"},
                headers={"Accept": "text/event-stream"},
            )
    events = [event.split("\n") for event in told.text.strip().split("\n\n")]
    data = [(name, json.loads(line.removeprefix("data: "))) for name, line in events]
    assert [said["text"] for name, said in data if name == "event: sentence"] == [HORN, KEEPER]
    name, reply = data[-1]
    assert (name, [sentence["text"] for sentence in reply["sentences"]]) == ("event: reply", [HORN, KEEPER])
    assert (reply["trace"]["writer"], reply["degraded"]) == ("m-1", False)
    assert not any(word in told.text for word in ("Zeppelin", "Portugal"))
