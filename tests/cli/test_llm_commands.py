"""The check of the language model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Run

from bookbound.testing.scripted_services import Fault, ScriptedServices

KEY = "sk-1234567890-secret"
REPLY = '{"numbers": "one two three four five six seven eight nine ten"}'
MODELS = {"openai": "a-model", "anthropic": "claude-sonnet-4-5-scripted", "gemini": "gemini-2.5-flash"}


@pytest.fixture
def services() -> Iterator[ScriptedServices]:
    with ScriptedServices() as services:
        yield services


def choose(services: ScriptedServices, provider: str = "openai") -> dict[str, str]:
    url = services.openai_url if provider == "openai" else services.url
    values = {"provider": provider, "model": MODELS[provider], "url": url, "key": KEY}
    return {f"BOOKBOUND_LLM_{name.upper()}": value for name, value in values.items()}


@pytest.mark.parametrize("provider", MODELS)
def test_one_call_says_what_works(bookbound: Run, services: ScriptedServices, provider: str) -> None:
    services.reply_with(REPLY)
    environment = choose(services, provider)
    done = bookbound("llm", "check", "--json", **environment)
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert found.pop("seconds") > 0
    assert found.pop("pieces") > 1
    assert found == {
        "provider": provider,
        "url": environment["BOOKBOUND_LLM_URL"],
        "model": MODELS[provider],
        "structured_output": True,
        "temperature": True,
        "usage": {"calls": 1, "read": 100, "written": 20},
    }
    assert len(services.requests) == 1


def test_the_check_is_readable_and_shows_no_key(bookbound: Run, services: ScriptedServices) -> None:
    services.reply_with(REPLY)
    done = bookbound("llm", "check", **choose(services))
    for words in (services.openai_url, "a-model", "pieces", "accepted", "100 read, 20 written"):
        assert words in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_what_a_service_rejects_is_said_to_be_left_out(bookbound: Run, services: ScriptedServices) -> None:
    services.reply_with(REPLY)
    services.fail_with(Fault.BAD_REQUEST)
    found = json.loads(bookbound("llm", "check", "--json", **choose(services)).stdout)
    assert (found["structured_output"], found["temperature"]) == (False, False)
    assert len(services.requests) == 2


def test_a_temperature_that_is_left_out_is_said_without_a_warning(bookbound: Run, services: ScriptedServices) -> None:
    services.reply_with(REPLY)
    environment = choose(services, "anthropic") | {"BOOKBOUND_LLM_MODEL": "claude-haiku-5-5-scripted"}
    done = bookbound("llm", "check", "--json", **environment)
    found = json.loads(done.stdout)
    assert (found["structured_output"], found["temperature"], done.stderr) == (True, False, "")
    assert len(services.requests) == 1


@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.STREAM_ENDS], ids=lambda each: each.name)
def test_a_service_that_rejects_the_call_ends_with_3(bookbound: Run, services: ScriptedServices, fault: Fault) -> None:
    services.reply_with(REPLY)
    services.fail_with(fault, always=True)
    done = bookbound("llm", "check", **choose(services, "anthropic"))
    assert done.returncode == 3
    assert done.stderr.startswith("Error: The language model ")
    assert KEY[:8] not in done.stderr


def test_a_service_that_is_not_there_ends_with_3(bookbound: Run, services: ScriptedServices) -> None:
    environment = choose(services) | {"BOOKBOUND_LLM_URL": services.refused_url}
    done = bookbound("llm", "check", "--json", **environment)
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["type"] == "ServiceUnreachableError"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "There is no language model. Set `llm_model`"),
        ({"BOOKBOUND_LLM_MODEL": "m", "BOOKBOUND_LLM_PROVIDER": "groq"}, "set `llm_key` or `GROQ_API_KEY`"),
        ({"BOOKBOUND_LLM_MODEL": "m", "BOOKBOUND_LLM_PROVIDER": "nobody"}, "`llm_provider` must be one of openai"),
    ],
)
def test_a_configuration_that_cannot_work_ends_with_2(bookbound: Run, environment: dict[str, str], words: str) -> None:
    done = bookbound("llm", "check", **environment)
    assert done.returncode == 2
    assert words in done.stderr
