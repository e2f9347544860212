"""Lists the services of language models that a setting chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageModelProvider:
    """The address of a service, the variables of other systems that hold its key, and what calls it.

    An `extra` of packages other than `agents` means that the service has an API of its own instead of OpenAI's.
    """

    title: str
    url: str = ""
    key_variables: tuple[str, ...] = ()
    extra: str = "agents"
    needs_key: bool = True

    @property
    def has_openai_api(self) -> bool:
        return self.extra == "agents"


DEFAULT_LLM_PROVIDER = "openai"
LLM_PROVIDERS: Mapping[str, LanguageModelProvider] = {
    "openai": LanguageModelProvider("OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY", "OPENROUTER_API_KEY")),
    "anthropic": LanguageModelProvider(
        "Anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), extra="anthropic"
    ),
    "gemini": LanguageModelProvider(
        "Gemini", "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), extra="gemini"
    ),
    "azure": LanguageModelProvider("Azure OpenAI", key_variables=("AZURE_OPENAI_API_KEY",)),
    "bedrock": LanguageModelProvider(
        "Amazon Bedrock", key_variables=("AWS_BEARER_TOKEN_BEDROCK",), extra="bedrock", needs_key=False
    ),
    "mistral": LanguageModelProvider("Mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "groq": LanguageModelProvider("Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "openrouter": LanguageModelProvider("OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "ollama": LanguageModelProvider("Ollama", "http://localhost:11434/v1", needs_key=False),
}
"""Each service by the value of `llm_provider`; `openai` is also every server with OpenAI's API.

A key in `OPENROUTER_API_KEY` is for OpenRouter, also if `openai` uses it: the later service is the owner of a variable.
"""
LLM_KEY_VARIABLES = tuple(dict.fromkeys(name for each in LLM_PROVIDERS.values() for name in each.key_variables))
