"""Calls a language model through the OpenAI Agents SDK and translates its errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

from agents import (
    Agent,
    AgentOutputSchemaBase,
    FunctionTool,
    ModelBehaviorError,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolsToFinalOutputResult,
)
from agents.agent import ToolsToFinalOutputFunction
from agents.run_config import CallModelData, ModelInputData, ToolExecutionConfig
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI, Timeout
from openai import DefaultAsyncHttpxClient as Pool
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFailedEvent, ResponseIncompleteEvent

from bookbound.answering.writers import llm_request
from bookbound.answering.writers.llm_request import (
    LANGUAGE_MODEL_SERVICE,
    REQUEST_REJECTED,
    FinalReply,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.answering.writers.numbered_passages import MIN_SEARCH_PASSAGES, BookSearchTool
from bookbound.answering.writers.stream_parser import REPLY_SCHEMA
from bookbound.domain.errors import ServiceError
from bookbound.domain.reply import SEARCH_TOOL_NAME, TokenUsage
from bookbound.services import (
    build_response_error,
    build_status_error,
    build_timeout_error,
    build_unreachable_error,
    quiet_loggers,
)

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_SECONDS = 5.0
BAD_REQUEST_STATUSES, PAYMENT_REQUIRED, KNOWN_CLIENT_ERRORS = (400, 422), 402, (401, 403, 408, 429)


class ModelEndpoint:
    """A model of an endpoint that speaks OpenAI's Chat Completions or Responses, over connections that are kept open.

    Nothing is sent anywhere else. What the vendor's code would read from the environment counts for nothing; the
    system's proxies do, as for every connection.
    """

    def __init__(self, name: str, url: str | None, key: str | None, *, responses: bool, longest: float) -> None:
        quiet_loggers("httpx", "httpx2", "httpcore", "httpcore2", "openai")
        self._client = AsyncOpenAI(
            base_url=url or OPENAI_URL,
            api_key=key or "none",
            max_retries=0,
            timeout=Timeout(longest, connect=CONNECT_TIMEOUT_SECONDS),
            http_client=Pool(follow_redirects=False),
        )
        self._client.organization = self._client.project = self._client.admin_api_key = None
        self._client._custom_headers = {}
        self._responses = responses
        self._model = (OpenAIResponsesModel if responses else OpenAIChatCompletionsModel)(name, self._client)
        # By default OpenAI keeps what it is sent; other endpoints of Chat Completions may not know of it.
        self._private = responses or urlsplit(url or OPENAI_URL).hostname == urlsplit(OPENAI_URL).hostname

    async def close(self) -> None:
        await self._client.close()

    def agent(self, instructions: str, manner: RequestOptions, searching: BookSearchTool | None = None) -> Agent[Any]:
        """The model with its instructions; where it may search, its first call must do so or is free to."""
        return Agent(
            name="bookbound",
            instructions=instructions,
            model=self._model,
            model_settings=ModelSettings(
                temperature=manner.temperature,
                tool_choice=("required" if searching.must else "auto") if searching else None,
                include_usage=manner.counted or None,
                store=False if self._private else None,
            ),
            tools=[_build_search_function(searching)] if searching else [],
            tool_use_behavior=_stop_if_nothing_found(searching) if searching else "run_llm_again",
            output_type=_ReplySchema() if manner.shaped else None,
        )

    async def run(
        self, agent: Agent[Any], message: str, *, turns: int = 1
    ) -> AsyncGenerator[str | TokenUsage | FinalReply]:
        """The text as the model writes it, what each call took, and then the end; every failure is one of ours."""
        run = Runner.run_streamed(agent, message, max_turns=turns, run_config=self._config())
        events = run.stream_events()
        trouble: ServiceError | None = None
        begun = False
        try:
            async for event in events:
                if event.type == "raw_response_event":
                    begun = event.data.type != "response.completed"
                    if event.data.type == "response.output_text.delta":
                        yield event.data.delta
                    elif isinstance(event.data, ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent):
                        yield _read_usage(event.data.response)
                        if not begun and not _has_content(event.data.response):
                            raise ModelBehaviorError("nothing said")  # else it would be asked again, turn by turn
            yield FinalReply(str(run.final_output))
        except Exception as error:
            trouble = _translate_error(error, begun)
        finally:
            run.cancel()
            await events.aclose()  # type: ignore[attr-defined]
        if trouble:
            raise trouble  # out here, so that it does not carry the vendor's, which holds what was asked

    def _config(self) -> RunConfig:
        return RunConfig(
            tracing_disabled=True,
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1),
            tool_not_found_behavior="return_error_to_model",
            call_model_input_filter=_drop_stored_items if self._responses else None,
        )


class _ReplySchema(AgentOutputSchemaBase):
    """The JSON of a reply; whoever reads the text holds it to that."""

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "answer"

    def json_schema(self) -> dict[str, Any]:
        return REPLY_SCHEMA

    def is_strict_json_schema(self) -> bool:
        return True

    def validate_json(self, json_str: str) -> str:
        return json_str


def _drop_stored_items(call: CallModelData[Any]) -> ModelInputData:
    """What was said so far, without what points at a store that keeps nothing."""
    said: list[Any] = [dict(item) for item in call.model_data.input if item.get("type") != "reasoning"]
    for item in said:
        if item.get("type") == "function_call":
            item.pop("id", None)
    return ModelInputData(input=said, instructions=call.model_data.instructions)


def _build_search_function(searching: BookSearchTool) -> FunctionTool:
    async def asked(_: Any, arguments: str) -> str:
        return await searching.asked(arguments)

    return FunctionTool(
        name=SEARCH_TOOL_NAME,
        description=llm_request.SEARCH_TOOL_DESCRIPTION,
        params_json_schema=llm_request.build_search_schema(MIN_SEARCH_PASSAGES, searching.most),
        on_invoke_tool=asked,
        is_enabled=lambda *_: searching.more,
    )


def _stop_if_nothing_found(searching: BookSearchTool) -> ToolsToFinalOutputFunction[Any]:
    return lambda *_: ToolsToFinalOutputResult(is_final_output=searching.over, final_output="")


def _read_usage(response: Response) -> TokenUsage:
    """What a call took, as far as the endpoint counts."""
    counted = response.usage
    return TokenUsage(1, counted.input_tokens, counted.output_tokens) if counted else TokenUsage(1)


def _has_content(response: Response) -> bool:
    """Whether a reply has words, a refusal or a call in it."""
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    called = any(item.type == "function_call" for item in response.output)
    return called or any(part.text if part.type == "output_text" else part.refusal for part in parts)


def _translate_error(error: Exception, begun: bool) -> ServiceError:
    """What a failure of the vendor's code means, `begun` or not the reply; nothing of its words is kept."""
    if isinstance(error, APITimeoutError | TimeoutError):
        return build_timeout_error(LANGUAGE_MODEL_SERVICE)
    if isinstance(error, APIConnectionError):
        return (
            build_response_error(LANGUAGE_MODEL_SERVICE) if begun else build_unreachable_error(LANGUAGE_MODEL_SERVICE)
        )
    status = _get_http_status(error)
    if status is None:
        return build_response_error(
            LANGUAGE_MODEL_SERVICE
        )  # not what was asked for, or of a shape that the vendor's code stumbles over
    if status in BAD_REQUEST_STATUSES:
        return UnsupportedParameterError(_get_rejected_parameter(error))
    if status == PAYMENT_REQUIRED:
        status = 403
    if status < 500 and status not in KNOWN_CLIENT_ERRORS:
        return ServiceError(REQUEST_REJECTED, service=LANGUAGE_MODEL_SERVICE)
    return build_status_error(
        status, error.response.headers if isinstance(error, APIStatusError) else None, LANGUAGE_MODEL_SERVICE
    )


def _get_rejected_parameter(error: Exception) -> str | None:
    """The parameter that the vendor names as the reason of an error, without what is wrong within it."""
    named = error.param if isinstance(error, APIError) else None
    return named.split(".")[0] if isinstance(named, str) else None


def _get_http_status(error: Exception) -> int | None:
    """The HTTP status of an error, or what a stream that had begun gives as one."""
    if isinstance(error, APIStatusError):
        return error.status_code
    code = error.code if isinstance(error, APIError) else None
    return int(code) if code and code.isdecimal() and len(code) == 3 else None
