from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from tests.answering.writers.llm.answering_server import AnsweringServer

from bookbound.answering.writers.llm.model_requests import AcceptedOptions, RetriedStream
from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel
from bookbound.answering.writers.llm.prompts import REPLY_SCHEMA
from bookbound.domain.errors import ServiceAuthenticationError, ServiceError
from bookbound.domain.language_model import PROMPT_TOO_LONG, Prompt, RequestOptions, UnsupportedParameterError
from bookbound.domain.question import NO_DEADLINE

LEFT_OUT = ("temperature", "response_format", "stream_options")


@pytest.fixture
def refusing() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of an endpoint that rejects these parameters by name."""
    asked: list[dict[str, Any]] = []

    class RejectingHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            named = next((name for name in LEFT_OUT if name in asked[-1]), None)
            param = "response_format.json_schema" if named == "response_format" else named
            body = json.dumps({"error": {"message": "SECRET", "type": "bad", "param": param, "code": None}}).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), RejectingHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()


def test_the_log_names_the_rejected_parameter_and_nothing_private(
    refusing: tuple[str, list[dict[str, Any]]], caplog: pytest.LogCaptureFixture
) -> None:
    url, asked = refusing
    caplog.set_level(logging.INFO)

    async def main() -> None:
        model = OpenAIAgentsModel("scripted-1", url=url)
        prompt = Prompt("Answer.", "What?", REPLY_SCHEMA)
        stream = RetriedStream(AcceptedOptions(model), lambda options: model.run(prompt, options), NO_DEADLINE)
        try:
            async for _ in stream.items():
                pass
        finally:
            await model.close()

    with pytest.raises(UnsupportedParameterError):
        asyncio.run(main())
    names = list(LEFT_OUT)
    assert [[name for name in names if name in body] for body in asked] == [names, names[1:], names[2:], []]
    logged = [record.getMessage() for record in caplog.records]
    assert not any(words in text for text in logged for words in ("SECRET", "127.0.0.1", url))


def collect_error(status: int, error: dict[str, Any]) -> ServiceError:
    async def main(url: str) -> None:
        model = OpenAIAgentsModel("scripted-1", url=url)
        try:
            async for _ in model.run(Prompt("Answer.", "What?"), RequestOptions(None)):
                pass
        finally:
            await model.close()

    body = json.dumps({"error": {"message": "SECRET", "param": None, **error}}).encode()
    with (
        AnsweringServer(status, body, {"content-type": "application/json"}) as server,
        pytest.raises(ServiceError) as caught,
    ):
        asyncio.run(main(f"{server.url}/v1"))
    return caught.value


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (402, {"type": "bad", "code": 402}),
        (429, {"type": "insufficient_quota", "code": "insufficient_quota"}),
        (429, {"type": "insufficient_quota", "code": None}),
    ],
)
def test_a_used_up_quota_is_reported_as_such_and_not_waited_for(status: int, error: dict[str, Any]) -> None:
    failure = collect_error(status, error)
    assert isinstance(failure, ServiceAuthenticationError)
    assert str(failure) == "The language model has no credit left. Check the account that the key belongs to."


@pytest.mark.parametrize(
    "error",
    [
        {"type": "invalid_request_error", "code": "context_length_exceeded", "param": "messages"},
        {"type": "exceed_context_size_error", "code": 400},
    ],
)
def test_a_prompt_that_is_too_long_is_reported_as_such(error: dict[str, Any]) -> None:
    failure = collect_error(400, error)
    assert (type(failure), str(failure)) == (ServiceError, PROMPT_TOO_LONG)
