"""The setting `llm_provider` chooses the service of the language model, its address, its key and its package."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bookbound.bootstrap.components import build_language_model, build_llm_client, require_extra
from bookbound.domain.errors import ConfigError
from bookbound.domain.language_model import FinalReply, ModelEvent, Prompt, RequestOptions
from bookbound.domain.llm_providers import LLM_PROVIDERS
from bookbound.domain.trace import TokenUsage
from bookbound.services import EXTRA_PACKAGES
from bookbound.settings import Settings, find_origins, load_settings
from bookbound.testing.scripted_services import ScriptedServices

KEY = "sk-a-secret"
WITH_OPENAI_API = [name for name, provider in LLM_PROVIDERS.items() if provider.has_openai_api]
MODELS = {"anthropic": "claude-sonnet-4-5-scripted", "gemini": "gemini-2.5-flash"}


def configure(provider: str, **more: Any) -> Settings:
    return Settings(llm_provider=provider, llm_model=MODELS.get(provider, "a-model"), **more)


def collect(settings: Settings) -> list[ModelEvent]:
    async def main() -> list[ModelEvent]:
        model = build_llm_client(settings)
        try:
            return [event async for event in model.run(Prompt("You answer.", "What is it?"), RequestOptions(0.0))]
        finally:
            await model.close()

    return asyncio.run(main())


@pytest.mark.parametrize("provider", [*WITH_OPENAI_API, *MODELS])
def test_the_service_writes_with_its_key_at_its_address(services: ScriptedServices, provider: str) -> None:
    services.reply_with("Torque is force.")
    url = services.url if provider in MODELS else services.openai_url
    *pieces, usage, end = collect(configure(provider, llm_url=url, llm_key=KEY))
    assert len(pieces) > 1
    assert (usage, end) == (TokenUsage(1, 100, 20), FinalReply("Torque is force."))
    (request,) = services.requests
    assert KEY in request.headers.get("x-goog-api-key", request.headers.get("authorization", ""))


@pytest.mark.parametrize("provider", WITH_OPENAI_API)
def test_a_service_with_the_api_of_openai_also_searches(services: ScriptedServices, provider: str) -> None:
    _, agent, _ = build_language_model(configure(provider, llm_url=services.openai_url, llm_key=KEY))
    assert agent is not None


@pytest.mark.parametrize("provider", MODELS)
def test_a_service_with_another_api_only_writes(provider: str) -> None:
    writer, agent, _ = build_language_model(configure(provider, llm_key=KEY))
    assert (writer.name, agent) == (MODELS[provider], None)


def test_ollama_needs_no_key() -> None:
    assert build_llm_client(configure("ollama")).name == "a-model"


NEEDS_KEY = {name: each for name, each in LLM_PROVIDERS.items() if each.needs_key and each.url}


@pytest.mark.parametrize("provider", NEEDS_KEY)
def test_a_missing_key_is_reported_with_the_variables_that_hold_it(provider: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_llm_client(configure(provider))
    assert all(f"`{name}`" in str(caught.value) for name in ("llm_key", *NEEDS_KEY[provider].key_variables))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "There is no language model"),
        ({"llm_provider": "azure", "llm_key": KEY}, "Azure OpenAI needs the address of your resource: set `llm_url`"),
        ({"llm_provider": "gemini", "llm_key": KEY, "llm_api": "responses"}, "`llm_api` is only for services with"),
        ({"llm_provider": "anthropic", "llm_key": "sk-\u2014secret"}, "`llm_key` must be a key"),
        ({"llm_provider": "anthropic", "llm_key": KEY, "llm_url": "secret"}, "`llm_url` must be an http://"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_not_shown(settings: dict[str, Any], words: str) -> None:
    model: dict[str, Any] = {"llm_model": "a-model"} if settings else {}
    with pytest.raises(ConfigError, match=words) as caught:
        build_llm_client(Settings(**model, **settings))
    assert "secret" not in str(caught.value)


def test_an_unknown_provider_is_reported_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"`llm_provider` must be one of openai, anthropic, gemini, azure"):
        Settings(llm_provider="skynet")


ADAPTERS = ("openai_agents", "pydantic_ai")


@pytest.mark.parametrize(
    ("provider", "package"),
    [
        ("mistral", "agents"),
        ("anthropic", "pydantic_ai.direct"),
        ("anthropic", "anthropic"),
        ("gemini", "pydantic_ai.models.google"),
        ("bedrock", "boto3"),
    ],
)
def test_a_missing_package_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, provider: str, package: str
) -> None:
    for adapter in ADAPTERS:
        monkeypatch.delitem(sys.modules, f"bookbound.answering.writers.llm.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    url = "https://mistral.example/v1" if provider == "mistral" else None
    with pytest.raises(ConfigError) as caught:
        build_llm_client(configure(provider, llm_key=KEY, llm_url=url))
    packages = " ".join(f'"{each}"' for each in EXTRA_PACKAGES[LLM_PROVIDERS[provider].extra])
    assert str(caught.value) == (
        f"The setting `llm_provider` needs more packages. Install them next to Bookbound: pip install {packages}"
    )


def test_a_package_that_says_itself_that_another_is_missing_is_reported_too() -> None:
    with pytest.raises(ConfigError, match="pip install"), require_extra("gemini", "llm_provider"):
        raise ImportError("Please install the `google-genai` package")


def load(folder: Path, environment: Mapping[str, str]) -> Settings:
    return load_settings(environment, folder)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [(name, variable) for name, provider in LLM_PROVIDERS.items() for variable in provider.key_variables],
)
def test_the_key_in_the_variable_of_a_service_is_used_for_it(tmp_path: Path, provider: str, variable: str) -> None:
    environment = {"BOOKBOUND_LLM_PROVIDER": provider, variable: KEY}
    assert load(tmp_path, environment).llm_key == KEY
    assert find_origins(environment, tmp_path)["llm_key"] == variable
    assert load(tmp_path, environment | {"BOOKBOUND_LLM_KEY": "ours"}).llm_key == "ours"


@pytest.mark.parametrize("provider", LLM_PROVIDERS)
def test_a_key_never_goes_to_another_service(tmp_path: Path, provider: str) -> None:
    variables = {name for each in LLM_PROVIDERS.values() for name in each.key_variables}
    others = dict.fromkeys(variables - set(LLM_PROVIDERS[provider].key_variables), KEY)
    assert load(tmp_path, others | {"BOOKBOUND_LLM_PROVIDER": provider}).llm_key is None


@pytest.mark.parametrize("provider", NEEDS_KEY)
def test_a_key_of_a_variable_never_goes_to_another_address(tmp_path: Path, provider: str) -> None:
    environment = dict.fromkeys(NEEDS_KEY[provider].key_variables, KEY)
    environment |= {"BOOKBOUND_LLM_PROVIDER": provider, "BOOKBOUND_LLM_URL": "https://elsewhere.example/v1"}
    assert load(tmp_path, environment).llm_key is None
