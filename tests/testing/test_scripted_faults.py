"""Tests each fault of the scripted services with the vendors' own clients."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cohere
import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from bookbound.testing.scripted_services import Fault, ScriptedServices, ToolCall

WORDS = "One two three four five six seven eight."
HELLO: list[Any] = [{"role": "user", "content": "What is a wave gear?"}]
Call = Callable[[openai.OpenAI], object]


def chat(client: openai.OpenAI) -> ChatCompletion:
    return client.chat.completions.create(model="m", messages=HELLO)


def chat_stream(client: openai.OpenAI) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model="m", messages=HELLO, stream=True))


def respond(client: openai.OpenAI) -> Response:
    return client.responses.create(model="m", input="What is a wave gear?")


def response_stream(client: openai.OpenAI) -> list[ResponseStreamEvent]:
    return list(client.responses.create(model="m", input="What is a wave gear?", stream=True))


def embeddings(client: openai.OpenAI) -> list[list[float]]:
    return [row.embedding for row in client.embeddings.create(model="m", input=["a gear", "a cat"]).data]


def embed(client: cohere.ClientV2) -> list[list[float]]:
    request: dict[str, Any] = {"texts": ["a gear", "a cat"], "model": "m", "embedding_types": ["float"]}
    return client.embed(input_type="search_document", **request).embeddings.float_ or []


def rerank(client: cohere.ClientV2) -> list[float]:
    ranked = client.rerank(model="m", query="gear", documents=["a gear", "a cat"])
    return [result.relevance_score for result in ranked.results]


MODEL_CALLS: list[Call] = [chat, chat_stream, respond, response_stream]
OPENAI_CALLS: list[Call] = [*MODEL_CALLS, embeddings]
COHERE_CALLS = [embed, rerank]

# What the client raises for each call, whole or streamed.
RAISED: list[tuple[Fault, type[Exception]]] = [
    (Fault.RESET, openai.APIConnectionError),
    (Fault.CLOSED, openai.APIConnectionError),
    (Fault.BAD_REQUEST, openai.BadRequestError),
    (Fault.UNAUTHORIZED, openai.AuthenticationError),
    (Fault.FORBIDDEN, openai.PermissionDeniedError),
    (Fault.NOT_FOUND, openai.NotFoundError),
    (Fault.RATE_LIMITED, openai.RateLimitError),
    (Fault.SERVER_ERROR, openai.InternalServerError),
    (Fault.BAD_GATEWAY, openai.InternalServerError),
    (Fault.OVERLOADED, openai.InternalServerError),
    (Fault.GATEWAY_TIMEOUT, openai.InternalServerError),
    (Fault.MALFORMED, json.JSONDecodeError),
    (Fault.TRUNCATED, openai.APIConnectionError),
]
COHERE_RAISED: list[tuple[Fault, type[Exception]]] = [
    (Fault.RESET, httpx.ReadError),
    (Fault.CLOSED, httpx.RemoteProtocolError),
    (Fault.BAD_REQUEST, cohere.BadRequestError),
    (Fault.UNAUTHORIZED, cohere.UnauthorizedError),
    (Fault.FORBIDDEN, cohere.ForbiddenError),
    (Fault.NOT_FOUND, cohere.NotFoundError),
    (Fault.RATE_LIMITED, cohere.TooManyRequestsError),
    (Fault.SERVER_ERROR, cohere.InternalServerError),
    (Fault.OVERLOADED, cohere.ServiceUnavailableError),
    (Fault.TRUNCATED, httpx.RemoteProtocolError),
]


@pytest.mark.parametrize(("fault", "error"), RAISED)
@pytest.mark.parametrize("call", OPENAI_CALLS)
def test_the_openai_client_raises_the_error_of_each_fault(
    services: ScriptedServices, openai_client: openai.OpenAI, call: Call, fault: Fault, error: type[Exception]
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault)
    with pytest.raises(error):
        call(openai_client)
    call(openai_client)  # the fault came once and the reply was kept


@pytest.mark.parametrize(("fault", "error"), COHERE_RAISED)
@pytest.mark.parametrize("call", COHERE_CALLS)
def test_the_cohere_client_raises_the_error_of_each_fault(
    services: ScriptedServices,
    cohere_client: cohere.ClientV2,
    call: Callable[[cohere.ClientV2], list[Any]],
    fault: Fault,
    error: type[Exception],
) -> None:
    services.fail_with(fault)
    with pytest.raises(error):
        call(cohere_client)
    assert len(call(cohere_client)) == 2


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.SLOW])
@pytest.mark.parametrize("call", OPENAI_CALLS)
def test_the_openai_client_times_out(
    services: ScriptedServices, openai_client: openai.OpenAI, call: Call, fault: Fault
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault, pause=3600)
    with pytest.raises(openai.APITimeoutError):
        call(openai_client.with_options(timeout=0.05))


@pytest.mark.parametrize("call", COHERE_CALLS)
def test_the_cohere_client_times_out(services: ScriptedServices, call: Callable[[cohere.ClientV2], object]) -> None:
    services.fail_with(Fault.TIMEOUT)
    with httpx.Client(timeout=0.05) as pool, pytest.raises(httpx.TimeoutException):
        call(cohere.ClientV2("key", base_url=services.url, httpx_client=pool, max_retries=0))


@pytest.mark.parametrize("fault", [Fault.MALFORMED, Fault.EMPTY_BODY, Fault.BAD_GATEWAY, Fault.GATEWAY_TIMEOUT])
@pytest.mark.parametrize("call", COHERE_CALLS)
def test_the_cohere_client_rejects_invalid_json(
    services: ScriptedServices, cohere_client: cohere.ClientV2, call: Callable[[cohere.ClientV2], object], fault: Fault
) -> None:
    services.fail_with(fault)
    with pytest.raises(cohere.core.ApiError):
        call(cohere_client)


def test_nothing_listens_at_the_refused_url(services: ScriptedServices) -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get(services.refused_url)


# Error messages


def test_errors_repeat_the_beginning_of_the_key_and_the_question(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.fail_with(Fault.UNAUTHORIZED, times=2)
    with pytest.raises(openai.AuthenticationError, match=r"sk-12345\*\*\*") as ours:
        chat(openai_client)
    assert ours.value.code == "invalid_api_key"
    with pytest.raises(cohere.UnauthorizedError) as theirs:
        embed(cohere_client)
    assert "sk-12345***" in theirs.value.body["message"]
    services.fail_with(Fault.BAD_REQUEST, times=2)
    with pytest.raises(openai.BadRequestError, match=r"What is a wave gear\?"):
        chat(openai_client)
    with pytest.raises(cohere.BadRequestError, match="a gear"):
        embed(cohere_client)


@pytest.mark.parametrize(
    ("retry_after", "header"),
    [
        (None, None),
        (7, "7"),
        (0.5, "0.5"),
        (datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), "Wed, 02 Jan 2030 03:04:05 GMT"),
        ("soon", "soon"),
    ],
)
def test_a_rate_limit_has_a_retry_after_header(
    services: ScriptedServices,
    openai_client: openai.OpenAI,
    cohere_client: cohere.ClientV2,
    retry_after: float | datetime | str | None,
    header: str | None,
) -> None:
    services.fail_with(Fault.RATE_LIMITED, retry_after=retry_after, times=2)
    with pytest.raises(openai.RateLimitError) as ours:
        chat(openai_client)
    assert ours.value.response.headers.get("retry-after") == header
    with pytest.raises(cohere.TooManyRequestsError) as theirs:
        embed(cohere_client)
    assert (theirs.value.headers or {}).get("retry-after") == header


def test_a_gateway_error_is_an_html_page(services: ScriptedServices) -> None:
    services.fail_with(Fault.BAD_GATEWAY)
    response = httpx.post(f"{services.url}/v2/embed", json={})
    assert (response.status_code, response.headers["content-type"]) == (502, "text/html; charset=utf-8")


# Replies that the client accepts


def test_an_empty_reply_has_no_choice_output_vector_or_result(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.reply_with(WORDS)
    services.fail_with(Fault.EMPTY, always=True)
    assert chat(openai_client).choices == []
    assert chat_stream(openai_client) == []
    assert respond(openai_client).output == []
    last = response_stream(openai_client)[-1]
    assert last.type == "response.completed"
    assert last.response.output == []
    assert embed(cohere_client) == []
    assert rerank(cohere_client) == []
    with pytest.raises(ValueError, match="No embedding data"):
        embeddings(openai_client)


def test_an_empty_body_has_no_bytes(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.fail_with(Fault.EMPTY_BODY, always=True)
    for call in (chat, respond, embeddings):
        with pytest.raises(json.JSONDecodeError):
            call(openai_client)
    assert chat_stream(openai_client) == []
    assert response_stream(openai_client) == []


def test_a_wrong_shape_has_none_of_the_expected_fields(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.fail_with(Fault.WRONG_SHAPE, always=True)
    seen: list[object] = [chat(openai_client).choices, respond(openai_client).output]
    seen += [chunk.choices for chunk in chat_stream(openai_client)]
    assert seen == [None, None, None]
    assert [event.type for event in response_stream(openai_client)] == ["response.result"]
    with pytest.raises((TypeError, ValueError)):
        embeddings(openai_client)
    for call in COHERE_CALLS:
        with pytest.raises((AttributeError, TypeError)):
            call(cohere_client)


def test_a_slow_reply_is_complete(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(WORDS)
    services.fail_with(Fault.SLOW, pause=0, times=2)
    assert chat(openai_client).choices[0].message.content == WORDS
    found = chat_stream(openai_client)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in found) == WORDS


@pytest.mark.parametrize(
    ("fault", "finish", "status", "reason"),
    [
        (Fault.CUT_SHORT, "length", "incomplete", "max_output_tokens"),
        (Fault.FILTERED, "content_filter", "incomplete", "content_filter"),
    ],
)
def test_an_interrupted_reply_has_its_finish_reason(
    services: ScriptedServices, openai_client: openai.OpenAI, fault: Fault, finish: str, status: str, reason: str
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault, always=True)
    choice = chat(openai_client).choices[0]
    assert (choice.message.content, choice.finish_reason) == (WORDS[:20], finish)
    chunks = chat_stream(openai_client)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == WORDS[:20]
    assert chunks[-1].choices[0].finish_reason == finish
    last = response_stream(openai_client)[-1]
    assert last.type == "response.incomplete"
    for response in (respond(openai_client), last.response):
        assert (response.output_text, response.status) == (WORDS[:20], status)
        assert response.incomplete_details is not None
        assert response.incomplete_details.reason == reason


def test_a_refusal_has_no_text(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(WORDS)
    services.fail_with(Fault.REFUSAL, always=True)
    message = chat(openai_client).choices[0].message
    assert message.content is None
    assert message.refusal
    assert "".join(chunk.choices[0].delta.refusal or "" for chunk in chat_stream(openai_client)) == message.refusal
    item = respond(openai_client).output[0]
    assert item.type == "message"
    assert item.content[0].type == "refusal"
    names = [event.type for event in response_stream(openai_client)]
    assert "response.refusal.done" in names
    assert "response.output_text.delta" not in names


def test_an_empty_text_is_a_finished_reply(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(ToolCall("look", {}))
    services.fail_with(Fault.EMPTY_TEXT, always=True)
    choice = chat(openai_client).choices[0]
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == ("", None, "stop")
    assert chat_stream(openai_client)[-1].choices[0].finish_reason == "stop"
    assert respond(openai_client).output_text == ""


# Broken streams


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.STREAM_STOPS, openai.APIConnectionError),
        (Fault.STREAM_HANGS, openai.APITimeoutError),
        (Fault.TRUNCATED, openai.APIConnectionError),
        (Fault.MALFORMED, json.JSONDecodeError),
        (Fault.STREAM_FAILS, openai.APIError),
        (Fault.STREAM_ENDS, None),
    ],
)
def test_a_broken_stream_contains_its_first_half(
    services: ScriptedServices, openai_client: openai.OpenAI, fault: Fault, error: type[Exception] | None
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault)
    text, finished, raised = "", False, None
    client = openai_client.with_options(timeout=2) if fault is Fault.STREAM_HANGS else openai_client
    try:
        for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
            text += chunk.choices[0].delta.content or ""
            finished = finished or chunk.choices[0].finish_reason is not None
    except Exception as failure:
        raised = type(failure)
    assert raised is error
    assert text
    assert WORDS.startswith(text)
    assert text != WORDS
    assert not finished


def test_a_broken_stream_of_a_response_never_completes(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    services.reply_with(WORDS)
    services.fail_with(Fault.STREAM_ENDS)
    services.fail_with(Fault.STREAM_FAILS)
    names = [event.type for event in response_stream(openai_client)]
    assert names[-1] == "response.output_text.delta"
    failed = [event.type for event in response_stream(openai_client)]
    assert failed == [*names, "error"]


@pytest.mark.parametrize("call", [chat, respond])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.STREAM_STOPS, openai.APIConnectionError),
        (Fault.STREAM_HANGS, openai.APITimeoutError),
        (Fault.STREAM_ENDS, json.JSONDecodeError),
    ],
)
def test_a_reply_without_streaming_breaks_as_a_stream_does(
    services: ScriptedServices, openai_client: openai.OpenAI, call: Call, fault: Fault, error: type[Exception]
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault)
    client = openai_client.with_options(timeout=0.2) if fault is Fault.STREAM_HANGS else openai_client
    with pytest.raises(error):
        call(client)


def test_a_reply_with_status_200_can_be_an_error(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.fail_with(Fault.STREAM_FAILS)
    reply = chat(openai_client)
    assert reply.choices is None
    assert reply.model_extra is not None
    assert "error" in reply.model_extra


# Unusable vectors


def test_vectors_have_the_wrong_length_count_or_values(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.fail_with(Fault.WRONG_DIMENSION, times=2)
    assert [len(row) for row in embed(cohere_client)] == [512, 512]
    assert [len(row) for row in embeddings(openai_client)] == [768, 768]
    services.fail_with(Fault.TOO_FEW, times=3)
    assert len(embed(cohere_client)) == len(embeddings(openai_client)) == len(rerank(cohere_client)) == 1
    services.fail_with(Fault.NOT_NUMBERS, times=3)
    numbers = [*embed(cohere_client)[0], *embeddings(openai_client)[0], *rerank(cohere_client)]
    assert all(map(math.isnan, numbers))


# Which requests fail


def test_a_fault_affects_its_endpoint_for_its_number_of_requests(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.reply_with(WORDS, always=True)
    services.fail_with(Fault.OVERLOADED, endpoint="embed", times=2)
    chat(openai_client)
    rerank(cohere_client)
    for _ in range(2):
        with pytest.raises(cohere.ServiceUnavailableError):
            embed(cohere_client)
    assert len(embed(cohere_client)) == 2


def test_a_fault_waits_for_an_endpoint_that_can_have_it(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.reply_with(WORDS)
    services.fail_with(Fault.CUT_SHORT)
    assert len(embed(cohere_client)) == 2
    assert chat(openai_client).choices[0].finish_reason == "length"
    assert chat(openai_client).choices[0].finish_reason == "stop"


def test_faults_occur_in_the_scheduled_order(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.fail_with(Fault.OVERLOADED)
    services.fail_with(Fault.FORBIDDEN, always=True)
    with pytest.raises(openai.InternalServerError):
        chat(openai_client)
    for _ in range(3):
        with pytest.raises(openai.PermissionDeniedError):
            chat(openai_client)


def test_an_impossible_fault_is_an_error(services: ScriptedServices) -> None:
    with pytest.raises(ValueError, match="must be one of chat, embed, "):
        services.fail_with(Fault.OVERLOADED, endpoint="chat/completions")
    with pytest.raises(ValueError, match="CUT_SHORT is for chat, gemini, messages, responses, not for embed"):
        services.fail_with(Fault.CUT_SHORT, endpoint="embed")
