"""Defines what goes to a language model and what comes back, whoever provides the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from bookbound.domain.errors import ServiceError
from bookbound.domain.trace import TokenUsage

LANGUAGE_MODEL_SERVICE = "language model"
REQUEST_REJECTED = "The language model rejected the request. Check the settings `llm_model`, `llm_url` and `llm_api`."
PROMPT_TOO_LONG = "The question and its passages are too long for the language model. Use one with a longer context."
BAD_REQUEST_STATUSES = (400, 422)
CONNECT_TIMEOUT_SECONDS = 5.0
DEFAULT_TIMEOUT_SECONDS = 600.0
"""The limit for all calls of one question that has no deadline: a reasoning model is silent for minutes."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions and the message that begin a conversation, and the JSON schema of the reply if it has one."""

    instructions: str
    message: str
    reply_schema: Mapping[str, Any] | None = None


class SearchTool(Protocol):
    """The tool with which a language model searches the book."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments_schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments of a call."""

    @property
    def must_search(self) -> bool:
        """Whether the model has to call the tool before it answers."""

    @property
    def can_search(self) -> bool:
        """Whether the tool may still be offered; it is limited to a few searches."""

    @property
    def found_nothing(self) -> bool:
        """Whether the conversation ends with an empty reply, because there is nothing to answer from."""

    async def run(self, arguments: str) -> str:
        """Searches with arguments in JSON, and returns what the model reads."""


OptionName = Literal["temperature", "send_schema", "report_usage"]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The options of a request, which are reduced for an endpoint that does not accept all of them."""

    temperature: float | None
    send_schema: bool = True
    report_usage: bool = True

    @property
    def plain(self) -> RequestOptions:
        return RequestOptions(None, send_schema=False, report_usage=False)

    def without(self, option: OptionName | None) -> RequestOptions:
        """Returns the options with one left out; without a name they stay the same."""
        return replace(self, **{option: getattr(self.plain, option)}) if option else self


@dataclass(frozen=True, slots=True)
class FinalReply:
    """The whole text of the last reply, at the end of a successful run."""

    text: str


ModelEvent = str | TokenUsage | FinalReply
"""A piece of text as the model writes it, the usage of a call, or the end."""


class UnsupportedParameterError(ServiceError):
    """An endpoint rejects a request; if it names a parameter, `option` is what sets that one."""

    def __init__(self, parameter: str | None = None, option: OptionName | None = None) -> None:
        super().__init__(REQUEST_REJECTED, service=LANGUAGE_MODEL_SERVICE)
        self.parameter = parameter
        self.option = option
