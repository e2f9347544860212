"""Calls a language model through the OpenAI Agents SDK and translates its errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextvars import ContextVar
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
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    DefaultAsyncHttpxClient,
    Timeout,
)
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFailedEvent, ResponseIncompleteEvent

from bookbound.domain.errors import ServiceError
from bookbound.domain.language_model import (
    BAD_REQUEST_STATUSES,
    CONNECT_TIMEOUT_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    LANGUAGE_MODEL_SERVICE,
    PROMPT_TOO_LONG,
    FinalReply,
    ModelEvent,
    OptionName,
    Prompt,
    RequestOptions,
    SearchTool,
    UnsupportedParameterError,
)
from bookbound.domain.trace import TokenUsage
from bookbound.services import (
    PAYMENT_REQUIRED,
    bound_reply,
    build_response_error,
    build_status_error,
    build_timeout_error,
    build_unreachable_error,
    quiet_loggers,
)

OPENAI_URL = "https://api.openai.com/v1"
QUOTA_CODES = frozenset({"insufficient_quota"})
TOO_LONG_CODES = frozenset({"context_length_exceeded", "string_above_max_length", "exceed_context_size_error"})
OPTIONS_BY_PARAMETER: Mapping[str, OptionName] = {
    "temperature": "temperature",
    "response_format": "send_schema",  # Chat Completions
    "text": "send_schema",  # Responses
    "stream_options": "report_usage",
}
COMPLETE_REASONS = frozenset({"stop", "tool_calls", "function_call"})
"""Why a reply may end; any other reason, or none, means that it was cut off."""
_end_reasons: ContextVar[list[str | None]] = ContextVar("_end_reasons")


class _ChatModel(OpenAIChatCompletionsModel):
    """Records why each reply of Chat Completions ended, because the SDK takes one that was cut off as complete."""

    async def _fetch_response(self, *given: Any, **options: Any) -> Any:
        fetched = await super()._fetch_response(*given, **options)
        if isinstance(fetched, tuple):
            fetched[1]._iterator = _record_end(fetched[1]._iterator)
        return fetched


async def _record_end(chunks: AsyncIterator[ChatCompletionChunk]) -> AsyncGenerator[ChatCompletionChunk]:
    reason: str | None = None
    async for chunk in chunks:
        reason = next((choice.finish_reason for choice in chunk.choices if choice.finish_reason), reason)
        yield chunk
    _end_reasons.get().append(reason)


class OpenAIAgentsModel:
    """A model at an endpoint that speaks OpenAI's Chat Completions or Responses, by default OpenAI's own.

    Nothing is sent anywhere else. The SDK's own environment variables are ignored; the system's proxies are used.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        key: str | None = None,
        api: str = "chat",
        temperature: float = 0.0,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        quiet_loggers("httpx", "httpx2", "httpcore", "httpcore2", "openai")
        self.name = name
        self.temperature = temperature
        self.timeout_seconds = timeout_seconds
        self._client = AsyncOpenAI(
            base_url=url or OPENAI_URL,
            api_key=key or "none",
            max_retries=0,
            timeout=Timeout(timeout_seconds, connect=CONNECT_TIMEOUT_SECONDS),
            http_client=DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [bound_reply]}),
        )
        self._client.organization = self._client.project = self._client.admin_api_key = None
        self._client._custom_headers = {}
        uses_responses = api == "responses"
        self._model = (OpenAIResponsesModel if uses_responses else _ChatModel)(name, self._client)
        self._run_config = RunConfig(
            tracing_disabled=True,
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1),
            tool_not_found_behavior="return_error_to_model",
            call_model_input_filter=_drop_stored_items if uses_responses else None,
        )
        # OpenAI stores requests by default; other Chat Completions endpoints may not know the option.
        is_openai = urlsplit(url or OPENAI_URL).hostname == urlsplit(OPENAI_URL).hostname
        self._store = False if uses_responses or is_openai else None

    async def close(self) -> None:
        await self._client.close()

    async def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        """Yields the text as the model writes it, the usage of each call, and then the end; all errors are ours."""
        agent = self._build_agent(prompt, options, tool)
        end_reasons: list[str | None] = []
        _end_reasons.set(end_reasons)  # the task of this run copies it
        run = Runner.run_streamed(agent, prompt.message, max_turns=turns, run_config=self._run_config)
        events = run.stream_events()
        failure: ServiceError | None = None
        has_begun = False
        try:
            async for event in events:
                if event.type == "raw_response_event":
                    has_begun = event.data.type != "response.completed"
                    if event.data.type == "response.output_text.delta":
                        yield event.data.delta
                    elif isinstance(event.data, ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent):
                        usage = event.data.response.usage
                        yield TokenUsage(1, usage.input_tokens, usage.output_tokens) if usage else TokenUsage(1)
                        if not has_begun and not _has_content(event.data.response):
                            raise ModelBehaviorError("empty reply")  # the SDK would ask again, turn by turn
                        if not COMPLETE_REASONS.issuperset(end_reasons):
                            raise ModelBehaviorError("cut off")
            yield FinalReply(str(run.final_output))
        except Exception as error:
            failure = _translate_error(error, has_begun)
        finally:
            run.cancel()
            await events.aclose()  # type: ignore[attr-defined]
        if failure:
            raise failure  # outside the handler, so that its context is not the SDK's error with the reader's words

    def _build_agent(self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None) -> Agent[Any]:
        return Agent(
            name="bookbound",
            instructions=prompt.instructions,
            model=self._model,
            model_settings=ModelSettings(
                temperature=options.temperature,
                tool_choice=("required" if tool.must_search else "auto") if tool else None,
                include_usage=options.report_usage or None,
                store=self._store,
            ),
            tools=[_build_search_function(tool)] if tool else [],
            tool_use_behavior=_stop_if_nothing_found(tool) if tool else "run_llm_again",
            output_type=_ReplySchema(prompt.reply_schema) if options.send_schema and prompt.reply_schema else None,
        )


class _ReplySchema(AgentOutputSchemaBase):
    """Sends the schema of a reply; the writer validates the text."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "answer"

    def json_schema(self) -> dict[str, Any]:
        return self._schema

    def is_strict_json_schema(self) -> bool:
        return True

    def validate_json(self, json_str: str) -> str:
        return json_str


def _drop_stored_items(call: CallModelData[Any]) -> ModelInputData:
    """Removes references to stored items, because nothing is stored."""
    items: list[Any] = [dict(item) for item in call.model_data.input if item.get("type") != "reasoning"]
    for item in items:
        if item.get("type") == "function_call":
            item.pop("id", None)
    return ModelInputData(input=items, instructions=call.model_data.instructions)


def _build_search_function(tool: SearchTool) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.arguments_schema),
        on_invoke_tool=lambda _, arguments: tool.run(arguments),
        is_enabled=lambda *_: tool.can_search,
    )


def _stop_if_nothing_found(tool: SearchTool) -> ToolsToFinalOutputFunction[Any]:
    return lambda *_: ToolsToFinalOutputResult(is_final_output=tool.found_nothing, final_output="")


def _has_content(response: Response) -> bool:
    """Returns whether a reply contains text, a refusal or a tool call."""
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    has_call = any(item.type == "function_call" for item in response.output)
    return has_call or any(part.text if part.type == "output_text" else part.refusal for part in parts)


def _translate_error(error: Exception, has_begun: bool) -> ServiceError:
    """Translates an error of the SDK, before or after the reply began, and keeps none of its words."""
    if isinstance(error, APITimeoutError | TimeoutError):
        return build_timeout_error(LANGUAGE_MODEL_SERVICE)
    if isinstance(error, APIConnectionError):
        build_error = build_response_error if has_begun else build_unreachable_error
        return build_error(LANGUAGE_MODEL_SERVICE)
    codes = {error.code, str(error.type)} if isinstance(error, APIError) else set()
    if codes & TOO_LONG_CODES:
        return ServiceError(PROMPT_TOO_LONG, service=LANGUAGE_MODEL_SERVICE)
    status = PAYMENT_REQUIRED if codes & QUOTA_CODES else _get_http_status(error)
    if status is None:  # not what was asked for, or of a shape that the SDK does not expect
        return build_response_error(LANGUAGE_MODEL_SERVICE)
    if status in BAD_REQUEST_STATUSES:
        named = error.param if isinstance(error, APIError) else None
        parameter = named.split(".")[0] if isinstance(named, str) else ""
        return UnsupportedParameterError(parameter or None, OPTIONS_BY_PARAMETER.get(parameter))
    headers = error.response.headers if isinstance(error, APIStatusError) else None
    return build_status_error(status, headers, LANGUAGE_MODEL_SERVICE)


def _get_http_status(error: Exception) -> int | None:
    """Returns the HTTP status of an error, or the one that a stream reports after it began."""
    if isinstance(error, APIStatusError):
        return error.status_code
    code = error.code if isinstance(error, APIError) else None
    return int(code) if code and code.isdecimal() and len(code) == 3 else None
