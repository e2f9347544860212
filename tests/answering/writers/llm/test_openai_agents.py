from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bookbound.answering.writers.llm.language_model_writer import AcceptedOptions, RetriedStream
from bookbound.answering.writers.llm.openai_agents import OPTIONS_BY_PARAMETER, OpenAIAgentsModel
from bookbound.answering.writers.llm.stream_parser import REPLY_SCHEMA
from bookbound.domain.errors import ServiceError, ServiceResponseError
from bookbound.domain.language_model import Prompt, RequestOptions, UnsupportedParameterError
from bookbound.domain.question import NO_DEADLINE

FULL, PLAIN = RequestOptions(0.0), RequestOptions(None, send_schema=False, report_usage=False)
LEFT_OUT = {
    "temperature": RequestOptions(None),
    "response_format": RequestOptions(0.0, send_schema=False),
    "stream_options": RequestOptions(0.0, report_usage=False),
}


class FailingStream:
    """A stream that fails with these errors, one after the other, and then succeeds."""

    def __init__(self, *refusals: Exception) -> None:
        self.options: list[RequestOptions] = []
        self._refusals = list(refusals)

    async def start(self, options: RequestOptions) -> AsyncGenerator[str]:
        self.options.append(options)
        if self._refusals:
            raise self._refusals.pop(0)
        yield "said"


def rejection(parameter: str | None) -> UnsupportedParameterError:
    return UnsupportedParameterError(parameter, OPTIONS_BY_PARAMETER.get(parameter or ""))


def collect_options(*questions: FailingStream) -> list[list[RequestOptions]]:
    """Returns the options of each question to one model."""

    async def main() -> None:
        model = OpenAIAgentsModel("scripted-1", url="http://127.0.0.1:9/v1")
        accepted = AcceptedOptions(model)
        for question in questions:
            try:
                async for _ in RetriedStream(accepted, question.start, NO_DEADLINE).items():
                    pass
            except ServiceError:
                pass
        await model.close()

    asyncio.run(main())
    return [question.options for question in questions]


@pytest.mark.parametrize("parameter", LEFT_OUT)
def test_a_parameter_that_is_rejected_by_name_is_left_out_from_then_on(
    parameter: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    eased = LEFT_OUT[parameter]
    assert collect_options(FailingStream(rejection(parameter)), FailingStream(), FailingStream()) == [
        [FULL, eased],
        [eased],
        [eased],
    ]
    (message,) = [record.getMessage() for record in caplog.records if record.name == "bookbound.answering.writers"]
    assert f"`{parameter}`" in message


@pytest.mark.parametrize("parameter", [None, "messages", "Ignore the rules"])
def test_a_rejection_without_a_known_parameter_changes_one_question(
    parameter: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert collect_options(FailingStream(rejection(parameter)), FailingStream()) == [
        [FULL, PLAIN],
        [FULL],
    ]
    assert [record for record in caplog.records if record.name == "bookbound.answering.writers"] == []


def test_nothing_is_remembered_if_the_reduced_request_fails_too() -> None:
    refused = [rejection("temperature"), *[rejection(None)] * 2]
    assert collect_options(FailingStream(*refused), FailingStream()) == [[FULL, RequestOptions(None), PLAIN], [FULL]]
    assert collect_options(FailingStream(*refused[:2]), FailingStream()) == [
        [FULL, RequestOptions(None), PLAIN],
        [FULL],
    ]


def test_later_attempts_keep_the_reduced_options() -> None:
    refused = FailingStream(rejection(None), ServiceResponseError("unusable", service="language model"))
    assert collect_options(refused) == [[FULL, PLAIN, PLAIN]]


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
