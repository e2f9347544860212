"""Tests the scripted services with the clients of Anthropic and Google over HTTP."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from google import genai
from google.genai import errors, types

from bookbound.testing.scripted_services import Fault, ScriptedServices

KEY = "sk-1234567890-secret"
WORDS = "One two three four five six."
MODEL = "claude-scripted"


@pytest.fixture
def claude(services: ScriptedServices) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=KEY, base_url=services.url, max_retries=0, timeout=20)


@pytest.fixture
def gemini(services: ScriptedServices) -> genai.Client:
    return genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=services.url))


HELLO: list[Any] = [{"role": "user", "content": "Hello?"}]


def test_the_client_of_anthropic_gets_a_whole_reply_and_its_usage(
    services: ScriptedServices, claude: anthropic.Anthropic
) -> None:
    services.reply_with(WORDS)
    reply = claude.messages.create(model=MODEL, max_tokens=100, messages=HELLO)
    assert [block.text for block in reply.content if block.type == "text"] == [WORDS]
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.stop_reason) == (100, 20, "end_turn")


def test_the_client_of_anthropic_gets_a_stream(services: ScriptedServices, claude: anthropic.Anthropic) -> None:
    services.reply_with(WORDS)
    with claude.messages.stream(model=MODEL, max_tokens=100, messages=HELLO) as stream:
        pieces = list(stream.text_stream)
        usage = stream.get_final_message().usage
    assert len(pieces) > 1
    assert "".join(pieces) == WORDS
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)


def test_the_client_of_google_gets_a_whole_reply_and_its_usage(
    services: ScriptedServices, gemini: genai.Client
) -> None:
    services.reply_with(WORDS)
    reply = gemini.models.generate_content(model="gemini-scripted", contents="Hello?")
    assert reply.text == WORDS
    assert reply.usage_metadata is not None
    assert (reply.usage_metadata.prompt_token_count, reply.usage_metadata.candidates_token_count) == (100, 20)


def test_the_client_of_google_gets_a_stream(services: ScriptedServices, gemini: genai.Client) -> None:
    services.reply_with(WORDS)
    pieces = [chunk.text for chunk in gemini.models.generate_content_stream(model="gemini-scripted", contents="Hello?")]
    assert len(pieces) > 1
    assert "".join(piece or "" for piece in pieces) == WORDS


STATUSES = {
    Fault.BAD_REQUEST: 400,
    Fault.UNAUTHORIZED: 401,
    Fault.FORBIDDEN: 403,
    Fault.NOT_FOUND: 404,
    Fault.RATE_LIMITED: 429,
    Fault.SERVER_ERROR: 500,
    Fault.OVERLOADED: 503,
}


@pytest.mark.parametrize(("fault", "status"), STATUSES.items(), ids=lambda value: getattr(value, "name", value))
def test_both_clients_get_the_status_of_a_fault_in_their_own_words(
    services: ScriptedServices, claude: anthropic.Anthropic, gemini: genai.Client, fault: Fault, status: int
) -> None:
    services.fail_with(fault, times=2)
    with pytest.raises(anthropic.APIStatusError) as by_anthropic:
        claude.messages.create(model=MODEL, max_tokens=100, messages=HELLO)
    with pytest.raises(errors.APIError) as by_google:
        gemini.models.generate_content(model="gemini-scripted", contents="Hello?")
    assert (by_anthropic.value.status_code, by_google.value.code) == (status, status)
    assert isinstance(by_anthropic.value.body, dict)
    assert by_anthropic.value.body["type"] == "error"
    if fault in (Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.RATE_LIMITED):
        assert KEY[:8] in str(by_anthropic.value)
        assert KEY[:8] in str(by_google.value)
