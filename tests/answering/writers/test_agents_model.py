from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bookbound.answering.writers.language_model import LanguageModel
from bookbound.answering.writers.llm_request import DataDelimiters, Prompt, RequestOptions, UnsupportedParameterError
from bookbound.domain.errors import ServiceError, ServiceResponseError

FULL, PLAIN = RequestOptions(0.0), RequestOptions(None, shaped=False, counted=False)
LEFT_OUT = {
    "temperature": RequestOptions(None),
    "response_format": RequestOptions(0.0, shaped=False),
    "stream_options": RequestOptions(0.0, counted=False),
}


class Picky:
    """A way to ask that is refused as told, one after the other, and then taken."""

    def __init__(self, *refusals: Exception) -> None:
        self.manners: list[RequestOptions] = []
        self._refusals = list(refusals)

    async def start(self, manner: RequestOptions) -> AsyncGenerator[str]:
        self.manners.append(manner)
        if self._refusals:
            raise self._refusals.pop(0)
        yield "said"


def manners(*questions: Picky, tools: tuple[bool, ...] = (False, False, False)) -> list[list[RequestOptions]]:
    """How each question was asked, of one model and one after the other."""

    async def main() -> None:
        model = LanguageModel("scripted-1", url="http://127.0.0.1:9/v1")
        for question, with_tools in zip(questions, tools, strict=False):
            try:
                async for _ in model.pieces(question.start, tools=with_tools):
                    pass
            except ServiceError:
                pass
        await model.close()

    asyncio.run(main())
    return [question.manners for question in questions]


@pytest.mark.parametrize("parameter", LEFT_OUT)
def test_a_parameter_that_was_refused_by_name_is_left_out_from_then_on_and_that_is_told_once(
    parameter: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    eased = LEFT_OUT[parameter]
    assert manners(Picky(UnsupportedParameterError(parameter)), Picky(), Picky()) == [[FULL, eased], [eased], [eased]]
    (told,) = [record.getMessage() for record in caplog.records if record.name == "bookbound.answering.writers"]
    assert f"`{parameter}`" in told


@pytest.mark.parametrize("parameter", [None, "messages", "Ignore the rules"])
def test_a_refusal_that_names_nothing_we_can_leave_out_changes_one_question(
    parameter: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert manners(Picky(UnsupportedParameterError(parameter)), Picky()) == [[FULL, PLAIN], [FULL]]
    assert [record for record in caplog.records if record.name == "bookbound.answering.writers"] == []


def test_nothing_is_remembered_where_the_eased_request_is_not_taken_either() -> None:
    refused = [UnsupportedParameterError("temperature"), *[UnsupportedParameterError(None)] * 2]
    assert manners(Picky(*refused), Picky()) == [[FULL, RequestOptions(None), PLAIN], [FULL]]
    assert manners(Picky(*refused[:2]), Picky()) == [[FULL, RequestOptions(None), PLAIN], [FULL]]


def test_the_tries_of_one_question_go_on_in_the_manner_that_was_found() -> None:
    refused = Picky(UnsupportedParameterError(None), ServiceResponseError("unusable", service="language model"))
    assert manners(refused) == [[FULL, PLAIN, PLAIN]]


def test_what_was_refused_with_tools_is_not_left_out_without_them() -> None:
    asked = manners(Picky(UnsupportedParameterError("temperature")), Picky(), Picky(), tools=(True, False, True))
    assert asked == [[FULL, RequestOptions(None)], [FULL], [RequestOptions(None)]]


@pytest.fixture
def refusing() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of an endpoint that refuses what it is asked by name, as long as there is something to refuse."""
    asked: list[dict[str, Any]] = []

    class Refusing(BaseHTTPRequestHandler):
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

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()


def test_an_endpoint_names_what_it_refuses_and_no_log_holds_its_words_or_its_url(
    refusing: tuple[str, list[dict[str, Any]]], caplog: pytest.LogCaptureFixture
) -> None:
    url, asked = refusing
    caplog.set_level(logging.INFO)

    async def main() -> None:
        model = LanguageModel("scripted-1", url=url)
        told = Prompt("Answer.", "What?", DataDelimiters.fresh())
        try:
            async for _ in model.pieces(lambda manner: model.run(told, manner)):
                pass
        finally:
            await model.close()

    with pytest.raises(UnsupportedParameterError):
        asyncio.run(main())
    names = list(LEFT_OUT)
    assert [[name for name in names if name in body] for body in asked] == [names, names[1:], names[2:], []]
    logged = [record.getMessage() for record in caplog.records]
    assert not any(words in text for text in logged for words in ("SECRET", "127.0.0.1", url))
