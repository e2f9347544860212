"""Tests the scripted services with the vendors' own clients over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cohere
import httpx
import openai
import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
)
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from bookbound.testing.scripted_services import Fault, ScriptedServices, StreamedReply, ToolCall

HELLO: list[Any] = [{"role": "user", "content": "Hello?"}]
WITH_USAGE: Any = {"include_usage": True}
KEY = "sk-1234567890-secret"
GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "test-your-integration.md"


class Size(BaseModel):
    size: int


def chat(client: openai.OpenAI) -> str | None:
    return client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content


def chunks(client: openai.OpenAI, **more: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model="m", messages=HELLO, stream=True, **more))


def join_stream(found: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in found if chunk.choices)


def embed(client: cohere.ClientV2, *texts: str) -> list[list[float]]:
    request_fields: dict[str, Any] = {"texts": list(texts), "model": "embed-english-v3.0", "embedding_types": ["float"]}
    rows = client.embed(input_type="search_document", **request_fields).embeddings.float_
    assert rows is not None
    return rows


def dot_product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# Chat Completions


def test_replies_come_in_the_order_they_were_scripted(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with("One.", "Two.")
    services.reply_with("Three.")
    assert [chat(openai_client) for _ in range(3)] == ["One.", "Two.", "Three."]


def test_a_completion_reports_its_tokens(openai_client: openai.OpenAI) -> None:
    with (
        ScriptedServices(input_tokens=7, output_tokens=3) as services,
        openai_client.with_options(base_url=services.openai_url) as client,
    ):
        services.reply_with("One.", "Two.")
        usage = client.chat.completions.create(model="m", messages=HELLO).usage
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (7, 3, 10)
        last = chunks(client, stream_options=WITH_USAGE)[-1]
        assert last.usage == usage
        assert last.choices == []


def test_a_function_makes_the_reply_from_the_request(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(lambda request: f"You use {request['model']}.")
    assert chat(openai_client) == "You use m."


def test_the_default_reply_follows_the_scripted_ones(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with("Always.", always=True)
    services.reply_with("Once.")
    assert [chat(openai_client) for _ in range(3)] == ["Once.", "Always.", "Always."]
    with pytest.raises(ValueError, match="one reply"):
        services.reply_with("One.", "Two.", always=True)


def test_an_object_is_sent_as_json_that_the_client_parses(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    services.reply_with({"size": 3})
    parsed = openai_client.chat.completions.parse(model="m", messages=HELLO, response_format=Size)
    assert parsed.choices[0].message.parsed == Size(size=3)
    assert services.requests[0].json["response_format"]["type"] == "json_schema"


def test_a_tool_call_has_its_name_and_arguments(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(["Let me see.", ToolCall("look", {"k": 5}), ToolCall("leap", "{no json")])
    choice = openai_client.chat.completions.create(model="m", messages=HELLO).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me see."
    calls = [call.function for call in choice.message.tool_calls or () if call.type == "function"]
    assert [(call.name, call.arguments) for call in calls] == [("look", '{"k": 5}'), ("leap", "{no json")]


@pytest.mark.parametrize("text", ["Two words.", " white  space \n kept ", "", " ", "añ→𝄞 \u2028 {}"])
def test_a_stream_contains_the_same_text_in_pieces(
    services: ScriptedServices, openai_client: openai.OpenAI, text: str
) -> None:
    services.reply_with(text)
    found = chunks(openai_client)
    assert join_stream(found) == text
    assert found[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in found][-2:] == [None, "stop"]
    assert all(chunk.usage is None for chunk in found)


def test_a_streamed_tool_call_comes_in_parts(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with(ToolCall("look", {"query": "gears"}))
    with openai_client.chat.completions.stream(model="m", messages=HELLO) as stream:
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert calls is not None
    assert (calls[0].function.name, calls[0].function.arguments) == ("look", '{"query": "gears"}')


def test_a_stream_waits_for_an_event_between_two_pieces(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    signal = threading.Event()
    services.reply_with(StreamedReply("Before. ", signal, "After."))
    seen = []
    for chunk in openai_client.chat.completions.create(model="m", messages=HELLO, stream=True):
        if content := chunk.choices[0].delta.content:
            seen.append((content, signal.is_set()))
            signal.set()
    assert seen == [("Before. ", False), ("After.", True)]


def test_a_request_without_a_scripted_reply_is_an_error(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="Nothing scripted"):
        chat(openai_client)


# Responses


def test_a_response_has_text_and_usage(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with("Two words.")
    response = openai_client.responses.create(model="m", input="Hello?")
    assert (response.output_text, response.status) == ("Two words.", "completed")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (100, 20)


def test_a_streamed_response_has_the_whole_sequence_of_events(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    signal = threading.Event()
    signal.set()
    services.reply_with(StreamedReply("Two", signal, " words."))
    numbers = [
        event.sequence_number for event in openai_client.responses.create(model="m", input="Hello?", stream=True)
    ]
    assert numbers == list(range(len(numbers)))
    services.reply_with(["Two words.", ToolCall("look", {"k": 5})])
    events = list(openai_client.responses.create(model="m", input="Hello?", stream=True))
    assert [event.type.removeprefix("response.") for event in events] == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"),
        *("function_call_arguments.done", "output_item.done", "completed"),
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    services.reply_with(["Two words.", ToolCall("look", {"k": 5})])
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output == openai_client.responses.create(model="m", input="Hello?").output


def test_a_streamed_response_is_put_together_and_parsed_by_the_client(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    services.reply_with({"size": 3})
    with openai_client.responses.stream(model="m", input="Hello?", text_format=Size) as stream:
        assert stream.get_final_response().output_parsed == Size(size=3)


# The agents


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("model", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
def test_an_agent_calls_its_tool_and_then_answers(services: ScriptedServices, model: Any, streaming: bool) -> None:
    searched = []

    @function_tool
    def search(query: str) -> str:
        searched.append(query)
        return "Three."

    async def run() -> tuple[Any, int]:
        async with openai.AsyncOpenAI(base_url=services.openai_url, api_key=KEY, max_retries=0) as client:
            settings = ModelSettings(tool_choice="required", include_usage=True)
            agent = Agent("a", tools=[search], output_type=Size, model=model("m", client), model_settings=settings)
            if not streaming:
                ended = await Runner.run(agent, "Hello?", run_config=RunConfig(tracing_disabled=True))
                return ended.final_output, ended.context_wrapper.usage.total_tokens
            running = Runner.run_streamed(agent, "Hello?", run_config=RunConfig(tracing_disabled=True))
            async for _ in running.stream_events():
                pass
            return running.final_output, running.context_wrapper.usage.total_tokens

    services.reply_with(ToolCall("search", {"query": "size"}), {"size": 3})
    assert asyncio.run(run()) == (Size(size=3), 240)
    assert searched == ["size"]
    first, second = services.requests
    assert first.json["tool_choice"] == "required"
    assert "Three." in json.dumps(second.json)


# Vectors


def test_texts_that_share_words_are_similar(cohere_client: cohere.ClientV2) -> None:
    question, near, far, again = embed(
        cohere_client, "a wave gear", "The wave gear turns.", "Cats sleep.", "a wave gear"
    )
    assert len(question) == 1024
    assert dot_product(question, question) == pytest.approx(1)
    assert dot_product(question, near) > 0.5 > dot_product(question, far)
    assert again == question


def test_texts_without_words_have_vectors_of_length_one(cohere_client: cohere.ClientV2) -> None:
    assert [dot_product(row, row) for row in embed(cohere_client, "", "...")] == [1, 1]


def test_the_first_version_of_the_cohere_api_is_supported(services: ScriptedServices) -> None:
    with httpx.Client() as pool:
        client = cohere.Client(KEY, base_url=services.url, httpx_client=pool, max_retries=0)
        request_fields: dict[str, Any] = {
            "texts": ["a gear"],
            "model": "m",
            "input_type": "search_query",
            "batching": False,
        }
        plain = client.embed(**request_fields)
        typed = client.embed(embedding_types=["float"], **request_fields)
        ranked = client.rerank(model="m", query="gear", documents=["a cat", {"text": "a gear"}])
    assert plain.response_type == "embeddings_floats"
    assert typed.response_type == "embeddings_by_type"
    assert typed.embeddings.float_ == plain.embeddings
    assert [result.index for result in ranked.results] == [1, 0]
    assert {request.path for request in services.requests} == {"/v1/embed", "/v1/rerank"}


def test_cohere_embeds_at_most_96_texts_at_once(cohere_client: cohere.ClientV2) -> None:
    assert len(embed(cohere_client, *["gear"] * 96)) == 96
    with pytest.raises(cohere.BadRequestError, match="at most 96"):
        embed(cohere_client, *["gear"] * 97)


def test_openai_embeds_in_both_encodings(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    create = openai_client.embeddings.create
    packed = create(model="m", input=["a gear", "a cat"])
    plain = create(model="m", input=["a gear", "a cat"], encoding_format="float")
    assert [len(row.embedding) for row in packed.data] == [1536, 1536]
    for one, other in zip(packed.data, plain.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding)
    assert [request.json["encoding_format"] for request in services.requests] == ["base64", "float"]
    raw = httpx.post(f"{services.openai_url}/embeddings", json=services.requests[0].json).json()
    assert len(base64.b64decode(raw["data"][0]["embedding"])) == 4 * 1536


def test_openai_embeds_in_the_requested_dimensions(openai_client: openai.OpenAI) -> None:
    create = openai_client.embeddings.create
    assert len(create(model="m", input="a gear", dimensions=64).data[0].embedding) == 64
    assert len(create(model="text-embedding-3-large", input="a gear").data[0].embedding) == 3072


def test_rerank_returns_the_documents_with_most_of_the_words_first(cohere_client: cohere.ClientV2) -> None:
    documents = ["A cat.", "The wave gear.", "A gear."]
    ranked = cohere_client.rerank(model="m", query="wave gear", documents=documents, top_n=2)
    assert [(result.index, result.relevance_score) for result in ranked.results] == [(1, 1.0), (2, 0.5)]


def test_vectors_and_relevances_can_be_replaced(cohere_client: cohere.ClientV2) -> None:
    def vector(text: str, dimension: int) -> list[float]:
        return [float(len(text))] * dimension

    with ScriptedServices(vector=vector, relevance=lambda query, document: 0.25) as services, httpx.Client() as pool:
        client = cohere.ClientV2(KEY, base_url=services.url, httpx_client=pool, max_retries=0)
        assert embed(client, "four")[0] == [4.0] * 1024
        assert client.rerank(model="m", query="q", documents=["d"]).results[0].relevance_score == 0.25


def test_models_are_listed(openai_client: openai.OpenAI) -> None:
    assert [model.id for model in openai_client.models.list()] == ["scripted"]


# The server


def test_requests_are_recorded_unchanged(
    services: ScriptedServices, openai_client: openai.OpenAI, cohere_client: cohere.ClientV2
) -> None:
    services.reply_with("One.", "Two.")
    chat(openai_client)
    chat(openai_client)
    embed(cohere_client, "gear")
    first, second, third = services.requests
    assert (first.endpoint, first.path) == ("chat", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.json["messages"] == HELLO
    assert first.connection == second.connection != third.connection
    assert (third.endpoint, third.path, third.json["texts"]) == ("embed", "/v2/embed", ["gear"])


def test_a_reset_removes_replies_faults_and_requests(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    services.reply_with("One.")
    services.reply_with("Always.", always=True)
    services.fail_with(Fault.FORBIDDEN, always=True)
    with pytest.raises(openai.PermissionDeniedError):
        chat(openai_client)
    services.reset()
    assert services.requests == []
    with pytest.raises(openai.InternalServerError, match="Nothing scripted"):
        chat(openai_client)


def test_each_of_many_concurrent_requests_gets_one_reply(
    services: ScriptedServices, openai_client: openai.OpenAI
) -> None:
    replies = [f"Reply {number}." for number in range(24)]
    services.reply_with(*replies)
    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(lambda _: chat(openai_client), replies), key=str) == sorted(replies)


def test_a_waiting_request_does_not_block_others(services: ScriptedServices, openai_client: openai.OpenAI) -> None:
    signal = threading.Event()
    services.reply_with(
        StreamedReply("Late.", signal), "At once.", lambda _: "Late too." if signal.wait(20) else "Never.", "Soon."
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(chat, openai_client)
        services.wait_for_requests()
        assert chat(openai_client) == "At once."
        third = pool.submit(chat, openai_client)
        services.wait_for_requests(3)
        assert chat(openai_client) == "Soon."
        signal.set()
        assert (first.result(), third.result()) == ("Late.", "Late too.")


def test_waiting_for_a_missing_request_times_out(services: ScriptedServices) -> None:
    with pytest.raises(TimeoutError, match="0 of 1 requests"):
        services.wait_for_requests(seconds=0)


@pytest.mark.parametrize("body", [b"{no json", b"[]", b"\xff"])
def test_a_body_that_is_not_an_object_is_a_bad_request(services: ScriptedServices, body: bytes) -> None:
    response = httpx.post(f"{services.openai_url}/chat/completions", content=body)
    assert response.status_code == 400
    assert "could not parse" in response.json()["error"]["message"]


def test_other_paths_are_404(services: ScriptedServices) -> None:
    assert httpx.post(f"{services.url}/v1/images").status_code == 404
    assert services.requests == []


def test_a_server_can_close_before_its_first_request() -> None:
    for _ in range(3):
        ScriptedServices().close()


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.STREAM_HANGS, Fault.SLOW, None])
def test_closing_ends_hanging_requests(fault: Fault | None, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServices() as services:
        services.reply_with(StreamedReply("Half. ", threading.Event(), "Never."), always=True)
        if fault:
            services.fail_with(fault, always=True, pause=3600)
        with (
            ThreadPoolExecutor(3) as pool,
            openai.OpenAI(base_url=services.openai_url, api_key=KEY, max_retries=0, timeout=3600) as client,
        ):
            waiting = [pool.submit(chunks, client) for _ in range(3)]
            services.wait_for_requests(3)
            services.close()
            assert all(isinstance(each.exception(), openai.APIConnectionError) for each in waiting)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{services.openai_url}/models")
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_faults_write_nothing_to_the_log(
    services: ScriptedServices, openai_client: openai.OpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    for fault in (Fault.RESET, Fault.CLOSED, Fault.TRUNCATED, Fault.STREAM_STOPS, Fault.SERVER_ERROR):
        services.fail_with(fault)
        with pytest.raises(openai.APIError):
            chunks(openai_client)
    services.reply_with("And it goes on.")
    assert chat(openai_client) == "And it goes on."
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_the_examples_of_the_guide_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    for code in examples:
        exec(compile(code, str(GUIDE), "exec"), {})
