"""Models of Anthropic and Gemini, called over real HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.answering.writers.llm.answering_server import AnsweringServer
from tests.service_faults import ERROR_BY_FAULT

from bookbound import services as service_calls
from bookbound.answering.writers.llm.pydantic_ai import PydanticAIModel
from bookbound.domain.errors import (
    ConfigError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.language_model import (
    PROMPT_TOO_LONG,
    FinalReply,
    ModelEvent,
    Prompt,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.domain.trace import TokenUsage
from bookbound.testing.scripted_services import Fault, RecordedRequest, ScriptedServices, StreamedReply

REPOSITORY = Path(__file__).resolve().parents[4]
KEY = "sk-1234567890-secret"
WORDS = "Torque is force times arm."
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
PROMPT = Prompt("You answer.", "What is a private question?", SCHEMA)
FULL, PLAIN = RequestOptions(0.0), RequestOptions(None, send_schema=False, report_usage=False)
# A name of no model: the package warns about those that are going to be switched off.
MODELS = {"anthropic": "claude-sonnet-4-5-scripted", "gemini": "gemini-2.5-flash"}
ENDPOINTS = {"anthropic": "messages", "gemini": "gemini"}
KEY_HEADERS = {"anthropic": ("authorization", f"Bearer {KEY}"), "gemini": ("x-goog-api-key", KEY)}


@pytest.fixture(params=MODELS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def run_model(
    provider: str, url: str, options: RequestOptions = FULL, *, prompt: Prompt = PROMPT, **more: Any
) -> AsyncGenerator[ModelEvent]:
    name = more.pop("name", MODELS[provider])
    model = PydanticAIModel(provider, name, url=url, key=KEY, **more)
    try:
        async for event in model.run(prompt, options):
            yield event
    finally:
        await model.close()


def collect(provider: str, url: str, options: RequestOptions = FULL, **more: Any) -> list[ModelEvent]:
    async def main() -> list[ModelEvent]:
        return [event async for event in run_model(provider, url, options, **more)]

    return asyncio.run(main())


def collect_error(provider: str, url: str, options: RequestOptions = FULL, **more: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        collect(provider, url, options, **more)
    return caught.value


def test_the_text_comes_in_pieces_and_then_the_usage_and_the_whole_reply(
    services: ScriptedServices, provider: str
) -> None:
    services.reply_with(WORDS)
    *pieces, usage, end = collect(provider, services.url)
    assert len(pieces) > 1
    assert "".join(map(str, pieces)) == WORDS
    assert (usage, end) == (TokenUsage(1, 100, 20), FinalReply(WORDS))


def test_a_piece_arrives_before_the_model_has_written_the_next(services: ScriptedServices, provider: str) -> None:
    is_read = Event()
    services.reply_with(StreamedReply("Torque is force", is_read, " times arm."))

    async def main() -> None:
        async for event in run_model(provider, services.url):
            if isinstance(event, str) and "force" in event:
                assert not is_read.is_set()
                is_read.set()

    asyncio.run(main())
    assert is_read.is_set()


def find_instructions(request: RecordedRequest) -> str:
    return json.dumps(request.json.get("system") or request.json.get("systemInstruction"))


def find_temperature(request: RecordedRequest) -> object:
    return request.json.get("temperature", request.json.get("generationConfig", {}).get("temperature"))


def find_schema(request: RecordedRequest) -> object:
    config = request.json.get("generationConfig", {})
    anthropic = request.json.get("output_config", request.json.get("output_format"))
    return anthropic or config.get("responseJsonSchema") or config.get("responseSchema")


def test_the_request_has_the_prompt_the_options_and_the_key(services: ScriptedServices, provider: str) -> None:
    services.reply_with(WORDS)
    collect(provider, services.url)
    (request,) = services.requests
    assert request.endpoint == ENDPOINTS[provider]
    name, value = KEY_HEADERS[provider]
    assert request.headers[name] == value
    assert PROMPT.instructions in find_instructions(request)
    assert PROMPT.message in json.dumps(request.json.get("messages") or request.json.get("contents"))
    assert find_temperature(request) == 0.0
    assert "answer" in json.dumps(find_schema(request))


def test_options_that_are_left_out_are_not_sent(services: ScriptedServices, provider: str) -> None:
    services.reply_with(WORDS)
    collect(provider, services.url, PLAIN)
    (request,) = services.requests
    assert (find_temperature(request), find_schema(request)) == (None, None)


def test_a_schema_that_a_model_does_not_know_is_rejected_without_a_call(services: ScriptedServices) -> None:
    services.reply_with(WORDS)
    error = collect_error("anthropic", services.url, name="claude-3-scripted")
    assert isinstance(error, UnsupportedParameterError)
    assert (error.option, services.requests) == ("send_schema", [])


def test_a_temperature_that_a_model_does_not_take_is_rejected_without_a_call(services: ScriptedServices) -> None:
    services.reply_with(WORDS)
    error = collect_error("anthropic", services.url, name="claude-haiku-5-5-scripted")
    assert isinstance(error, UnsupportedParameterError)
    assert (error.option, services.requests) == ("temperature", [])
    without = FULL.without(error.option)
    assert collect("anthropic", services.url, without, name="claude-haiku-5-5-scripted")[-1] == FinalReply(WORDS)


STREAM_FAULTS: dict[Fault, type[ServiceError]] = ERROR_BY_FAULT | {
    Fault.CLOSED: ServiceUnreachableError,
    Fault.EMPTY_TEXT: ServiceResponseError,
    Fault.REFUSAL: ServiceResponseError,
    Fault.FILTERED: ServiceResponseError,
    Fault.CUT_SHORT: ServiceResponseError,
    Fault.STREAM_STOPS: ServiceResponseError,
    Fault.STREAM_ENDS: ServiceResponseError,
    Fault.STREAM_FAILS: ServiceUnreachableError,
}


@pytest.mark.parametrize("fault", STREAM_FAULTS, ids=lambda fault: fault.name)
def test_each_failure_is_ours_after_one_call_and_says_nothing_private(
    services: ScriptedServices, provider: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    services.reply_with(WORDS)
    services.fail_with(fault)
    error = collect_error(provider, services.url)
    assert isinstance(error, STREAM_FAULTS[fault]), error
    assert len(services.requests) == 1
    logged = [record.getMessage() for record in caplog.records if record.name != "uvicorn.access"]  # of the server
    shown = "".join([*traceback.format_exception(error), *logged])
    assert not [words for words in (KEY, KEY[:8], "private question", "Incorrect", "127.0.0.1:") if words in shown]


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.STREAM_HANGS, Fault.SLOW], ids=lambda fault: fault.name)
def test_a_model_that_is_silent_for_too_long_is_a_timeout(
    services: ScriptedServices, provider: str, fault: Fault
) -> None:
    services.reply_with(WORDS)
    services.fail_with(fault, pause=3600)
    assert isinstance(collect_error(provider, services.url, timeout_seconds=0.3), ServiceTimeoutError)
    assert len(services.requests) == 1


def test_a_model_may_be_silent_for_minutes(provider: str) -> None:
    assert PydanticAIModel(provider, MODELS[provider], key=KEY).timeout_seconds == 600


def test_the_error_of_a_limit_has_the_time_to_wait(services: ScriptedServices, provider: str) -> None:
    services.fail_with(Fault.RATE_LIMITED, retry_after=7)
    error = collect_error(provider, services.url)
    assert isinstance(error, ServiceRateLimitError)
    assert error.retry_after == 7


def test_a_service_that_does_not_listen_is_unreachable(services: ScriptedServices, provider: str) -> None:
    assert isinstance(collect_error(provider, services.refused_url), ServiceUnreachableError)


def test_a_reply_without_end_is_not_read_completely(
    services: ScriptedServices, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_calls, "MAX_REPLY_BYTES", 2000)
    services.reply_with(WORDS * 1000)
    assert isinstance(collect_error(provider, services.url), ServiceResponseError)


@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed(services: ScriptedServices, provider: str, status: int) -> None:
    with AnsweringServer(status, headers={"location": f"{services.url}/v1/messages"}) as elsewhere:
        collect_error(provider, elsewhere.url)
        assert len(elsewhere.paths) == 1
    assert services.requests == []


REJECTIONS = {
    "anthropic": {
        "`temperature` is deprecated for this model.": "temperature",
        "output_config.format: this model does not support structured output": "send_schema",
        "messages: too long": None,
    },
    "gemini": {
        'Invalid value at "generation_config.response_json_schema"': "send_schema",
        "Unable to submit request because temperature is not supported": "temperature",
        "The input is too long": None,
    },
}


@pytest.mark.parametrize(
    ("service", "words", "option"),
    [(service, words, option) for service, found in REJECTIONS.items() for words, option in found.items()],
)
def test_a_rejected_parameter_names_its_option(service: str, words: str, option: str | None) -> None:
    details = {"type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT", "message": words}
    body = json.dumps({"type": "error", "error": details}).encode()
    with AnsweringServer(400, body, {"content-type": "application/json"}) as rejecting:
        error = collect_error(service, rejecting.url)
    assert isinstance(error, UnsupportedParameterError)
    assert error.option == option


NO_CREDIT = "The language model has no credit left. Check the account that the key belongs to."


@pytest.mark.parametrize(
    ("service", "status", "words", "message"),
    [
        ("anthropic", 402, "SECRET", NO_CREDIT),
        ("anthropic", 400, "Your credit balance is too low", NO_CREDIT),
        ("anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum", PROMPT_TOO_LONG),
        ("gemini", 400, "The input token count (9) exceeds the maximum number of tokens allowed (5).", PROMPT_TOO_LONG),
    ],
)
def test_a_used_up_quota_and_a_prompt_that_is_too_long_are_reported_as_such(
    service: str, status: int, words: str, message: str
) -> None:
    details = {"type": "invalid_request_error", "code": status, "status": "INVALID_ARGUMENT", "message": words}
    body = json.dumps({"type": "error", "error": details}).encode()
    with AnsweringServer(status, body, {"content-type": "application/json"}) as rejecting:
        assert str(collect_error(service, rejecting.url)) == message


def test_variables_of_the_packages_change_nothing(
    services: ScriptedServices, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, services.refused_url)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "another-key")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-tracking: another-key")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    services.reply_with(WORDS)
    assert collect(provider, services.url)[-1] == FinalReply(WORDS)
    (request,) = services.requests
    assert "another-key" not in json.dumps(request.headers)


NO_TELEMETRY = """
import asyncio, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.answering.writers.llm.test_pydantic_ai import FULL, run_model

hosts, spans, tracing = set(), InMemorySpanExporter(), TracerProvider()
tracing.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracing)

def watch(event, arguments):
    if event == "socket.getaddrinfo":
        hosts.add(arguments[0])
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        hosts.add(arguments[1][0])

sys.addaudithook(watch)

async def main():
    for provider in ("anthropic", "gemini"):
        async for _ in run_model(provider, sys.argv[1], FULL):
            pass

asyncio.run(main())
print(sorted(hosts), len(spans.get_finished_spans()))
"""


@pytest.mark.integration
def test_no_other_host_is_called_and_nothing_is_traced(services: ScriptedServices) -> None:
    services.reply_with(WORDS, always=True)
    command = [sys.executable, "-c", NO_TELEMETRY, services.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=REPOSITORY, check=False)
    assert done.stdout == "['127.0.0.1'] 0\n", done.stderr
    assert len(services.requests) == 2


def test_such_a_model_does_not_search(services: ScriptedServices, provider: str) -> None:
    async def main() -> None:
        model = PydanticAIModel(provider, MODELS[provider], url=services.url, key=KEY)
        async for _ in model.run(PROMPT, FULL, object()):  # type: ignore[arg-type]
            pass

    with pytest.raises(ConfigError, match="only writes"):
        asyncio.run(main())
    assert services.requests == []
