"""The OpenAI Agents SDK: how an endpoint is asked through it, what comes back, and what its failures mean."""

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

from bookbound.answer import prompt
from bookbound.answer.incoming import SCHEMA
from bookbound.answer.manner import NOT_TAKEN, SERVICE, Answered, Manner, Unfit
from bookbound.answer.searching import FEWEST, Searching
from bookbound.dialogue import SEARCH_TOOL
from bookbound.discretion import discreet
from bookbound.errors import ServiceTrouble
from bookbound.trace import Usage
from bookbound.upstream import away, late, refused, unusable

OPENAI = "https://api.openai.com/v1"
CONNECT = 5.0
UNFIT, NO_CREDIT, KNOWN = (400, 422), 402, (401, 403, 408, 429)


class Endpoint:
    """A model of an endpoint that speaks OpenAI's Chat Completions or Responses, over connections that are kept open.

    Nothing is sent anywhere else. What the vendor's code would read from the environment counts for nothing; the
    system's proxies do, as for every connection.
    """

    def __init__(self, name: str, url: str | None, key: str | None, *, responses: bool, longest: float) -> None:
        discreet("httpx", "httpx2", "httpcore", "httpcore2", "openai")
        self._client = AsyncOpenAI(
            base_url=url or OPENAI,
            api_key=key or "none",
            max_retries=0,
            timeout=Timeout(longest, connect=CONNECT),
            http_client=Pool(follow_redirects=False),
        )
        self._client.organization = self._client.project = self._client.admin_api_key = None
        self._client._custom_headers = {}
        self._responses = responses
        self._model = (OpenAIResponsesModel if responses else OpenAIChatCompletionsModel)(name, self._client)
        # By default OpenAI keeps what it is sent; other endpoints of Chat Completions may not know of it.
        self._private = responses or urlsplit(url or OPENAI).hostname == urlsplit(OPENAI).hostname

    async def close(self) -> None:
        await self._client.close()

    def agent(self, instructions: str, manner: Manner, searching: Searching | None = None) -> Agent[Any]:
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
            tools=[_tool(searching)] if searching else [],
            tool_use_behavior=_over(searching) if searching else "run_llm_again",
            output_type=_Shape() if manner.shaped else None,
        )

    async def run(self, agent: Agent[Any], message: str, *, turns: int = 1) -> AsyncGenerator[str | Usage | Answered]:
        """The text as the model writes it, what each call took, and then the end; every failure is one of ours."""
        run = Runner.run_streamed(agent, message, max_turns=turns, run_config=self._config())
        events = run.stream_events()
        trouble: ServiceTrouble | None = None
        begun = False
        try:
            async for event in events:
                if event.type == "raw_response_event":
                    begun = event.data.type != "response.completed"
                    if event.data.type == "response.output_text.delta":
                        yield event.data.delta
                    elif isinstance(event.data, ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent):
                        yield _spent(event.data.response)
                        if not begun and not _says(event.data.response):
                            raise ModelBehaviorError("nothing said")  # else it would be asked again, turn by turn
            yield Answered(str(run.final_output))
        except Exception as error:
            trouble = _meant(error, begun)
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
            call_model_input_filter=_unkept if self._responses else None,
        )


class _Shape(AgentOutputSchemaBase):
    """The JSON of a reply; whoever reads the text holds it to that."""

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "answer"

    def json_schema(self) -> dict[str, Any]:
        return SCHEMA

    def is_strict_json_schema(self) -> bool:
        return True

    def validate_json(self, json_str: str) -> str:
        return json_str


def _unkept(call: CallModelData[Any]) -> ModelInputData:
    """What was said so far, without what points at a store that keeps nothing."""
    said: list[Any] = [dict(item) for item in call.model_data.input if item.get("type") != "reasoning"]
    for item in said:
        if item.get("type") == "function_call":
            item.pop("id", None)
    return ModelInputData(input=said, instructions=call.model_data.instructions)


def _tool(searching: Searching) -> FunctionTool:
    async def asked(_: Any, arguments: str) -> str:
        return await searching.asked(arguments)

    return FunctionTool(
        name=SEARCH_TOOL,
        description=prompt.TOOL,
        params_json_schema=prompt.tool_schema(FEWEST, searching.most),
        on_invoke_tool=asked,
        is_enabled=lambda *_: searching.more,
    )


def _over(searching: Searching) -> ToolsToFinalOutputFunction[Any]:
    return lambda *_: ToolsToFinalOutputResult(is_final_output=searching.over, final_output="")


def _spent(response: Response) -> Usage:
    """What a call took, as far as the endpoint counts."""
    counted = response.usage
    return Usage(1, counted.input_tokens, counted.output_tokens) if counted else Usage(1)


def _says(response: Response) -> bool:
    """Whether a reply has words, a refusal or a call in it."""
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    called = any(item.type == "function_call" for item in response.output)
    return called or any(part.text if part.type == "output_text" else part.refusal for part in parts)


def _meant(error: Exception, begun: bool) -> ServiceTrouble:
    """What a failure of the vendor's code means, `begun` or not the reply; nothing of its words is kept."""
    if isinstance(error, APITimeoutError | TimeoutError):
        return late(SERVICE)
    if isinstance(error, APIConnectionError):
        return unusable(SERVICE) if begun else away(SERVICE)
    status = _status(error)
    if status is None:
        return unusable(SERVICE)  # not what was asked for, or of a shape that the vendor's code stumbles over
    if status in UNFIT:
        return Unfit(_parameter(error))
    if status == NO_CREDIT:
        status = 403
    if status < 500 and status not in KNOWN:
        return ServiceTrouble(NOT_TAKEN, service=SERVICE)
    return refused(status, error.response.headers if isinstance(error, APIStatusError) else None, SERVICE)


def _parameter(error: Exception) -> str | None:
    """The parameter that the vendor names as the reason of an error, without what is wrong within it."""
    named = error.param if isinstance(error, APIError) else None
    return named.split(".")[0] if isinstance(named, str) else None


def _status(error: Exception) -> int | None:
    """The HTTP status of an error, or what a stream that had begun gives as one."""
    if isinstance(error, APIStatusError):
        return error.status_code
    code = error.code if isinstance(error, APIError) else None
    return int(code) if code and code.isdecimal() and len(code) == 3 else None
