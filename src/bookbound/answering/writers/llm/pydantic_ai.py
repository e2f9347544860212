"""Calls a language model that does not speak OpenAI's API through Pydantic AI, and translates its errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
)
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, create_async_httpx2_client
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from bookbound.domain.errors import ConfigError, ServiceError
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

OPTIONS_BY_PARAMETER: Mapping[str, OptionName] = {
    "temperature": "temperature",
    "output_config": "send_schema",  # Anthropic
    "output_format": "send_schema",
    "outputConfig": "send_schema",  # Bedrock
    "response_schema": "send_schema",  # Gemini
    "response_json_schema": "send_schema",
    "response_mime_type": "send_schema",
}
"""What a provider calls the parameter that an option sets; it names it in the text of its error."""
NO_TEMPERATURE_MARKS = ("anthropic_disallows_sampling_settings", "bedrock_disallows_sampling_settings")
BEDROCK_HINT = "Set `AWS_BEARER_TOKEN_BEDROCK`, or the credentials that the command `aws` uses."


class PydanticAIModel:
    """A model of Anthropic, of Google's Gemini API or of Amazon Bedrock, which writes but does not search.

    Nothing is sent anywhere else, and no variable of a provider's own package is used, except those of AWS.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        *,
        url: str | None = None,
        key: str | None = None,
        temperature: float = 0.0,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        quiet_loggers("httpx2", "httpcore2", "anthropic", "google_genai", "botocore", "urllib3")
        self.name = name
        self.temperature = temperature
        self.timeout_seconds = timeout_seconds
        timeout = httpx2.Timeout(timeout_seconds, connect=CONNECT_TIMEOUT_SECONDS)
        # It follows no redirects, and no phase takes longer because a package sets one number for all of them.
        self._http = create_async_httpx2_client(timeout=timeout)
        self._http.event_hooks = {**self._http.event_hooks, "response": [bound_reply]}
        self._model = self._build_model(provider, url, key)

    def _build_model(self, provider: str, url: str | None, key: str | None) -> Model:
        if provider == "anthropic":
            return _build_anthropic_model(self.name, url, key or "", self._http)
        if provider == "gemini":
            return _build_gemini_model(self.name, url, key or "", self._http)
        return _build_bedrock_model(self.name, url, key, self.timeout_seconds)

    async def close(self) -> None:
        await self._http.aclose()

    async def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        """Yields the text as the model writes it, the usage of the call, and then the end; all errors are ours."""
        if tool:
            raise ConfigError("This language model only writes. To let a model search, use one with OpenAI's API.")
        self._require_supported(prompt, options)
        messages = [ModelRequest.user_text_prompt(prompt.message, instructions=prompt.instructions)]
        settings = ModelSettings() if options.temperature is None else ModelSettings(temperature=options.temperature)
        parameters = _build_parameters(prompt, options)
        failure: ServiceError | None = None
        has_begun = False
        try:
            async with model_request_stream(
                self._model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
            ) as stream:
                async for event in stream:
                    has_begun = True
                    if text := _get_text(event):
                        yield text
                response = stream.get()
            yield TokenUsage(1, response.usage.input_tokens, response.usage.output_tokens)
            yield _build_final_reply(response)
        except Exception as error:
            failure = error if isinstance(error, ServiceError) else _translate_error(error, has_begun)
        if failure:
            raise failure  # outside the handler, so that its context is not the package's error with the reader's words

    def _require_supported(self, prompt: Prompt, options: RequestOptions) -> None:
        """Rejects before a call what the model is known to reject; the package would leave it out with a warning."""
        profile: Mapping[str, object] = {**self._model.profile}
        if options.temperature is not None and any(profile.get(name) for name in NO_TEMPERATURE_MARKS):
            raise UnsupportedParameterError("temperature", "temperature")
        if options.send_schema and prompt.reply_schema and not profile.get("supports_json_schema_output"):
            raise UnsupportedParameterError("reply_schema", "send_schema")


def _build_parameters(prompt: Prompt, options: RequestOptions) -> ModelRequestParameters:
    if not (options.send_schema and prompt.reply_schema):
        return ModelRequestParameters()
    schema = OutputObjectDefinition(dict(prompt.reply_schema), name="answer", strict=True)
    return ModelRequestParameters(output_mode="native", output_object=schema)


def _build_anthropic_model(name: str, url: str | None, key: str, http: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=key,
        base_url=url or "https://api.anthropic.com",
        max_retries=0,
        timeout=http.timeout,
        http_client=http,
        open_telemetry=False,
    )
    client._custom_headers = {}  # those of a variable
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _build_gemini_model(name: str, url: str | None, key: str, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    base_url = url or "https://generativelanguage.googleapis.com"
    return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=base_url, http_client=http))


def _build_bedrock_model(name: str, url: str | None, key: str | None, timeout_seconds: float) -> Model:
    """Builds a model of Bedrock with a key, or with the credentials that every program finds for AWS."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, NoRegionError
    from botocore.session import Session
    from botocore.tokens import FrozenAuthToken
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    session = Session()
    signature = {}
    if key and url and not url.startswith("https://"):
        raise ConfigError("Amazon Bedrock takes a key only over https. Change `llm_url`, or use AWS credentials.")
    if key:
        session.get_auth_token = lambda **_: FrozenAuthToken(key)
        signature = {"signature_version": "bearer"}
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=timeout_seconds,
        retries={"total_max_attempts": 1},
        **signature,
    )
    try:
        if not key and session.get_credentials() is None:
            raise ConfigError(f"There are no credentials for Amazon Bedrock. {BEDROCK_HINT}")
        client = boto3.Session(botocore_session=session).client("bedrock-runtime", config=config, endpoint_url=url)
    except NoRegionError:
        raise ConfigError("Amazon Bedrock needs a region: set `AWS_DEFAULT_REGION` in the environment.") from None
    except BotoCoreError:
        raise ConfigError(f"The AWS configuration cannot be used for Amazon Bedrock. {BEDROCK_HINT}") from None
    return BedrockConverseModel(name, provider=BedrockProvider(bedrock_client=client))


def _get_text(event: object) -> str:
    """Returns the text of an event; thoughts and other parts have none."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _build_final_reply(response: ModelResponse) -> FinalReply:
    """Returns the end of a complete reply; one that is empty, cut off, filtered or refused cannot be used."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if response.finish_reason != "stop" or not text:
        raise build_response_error(LANGUAGE_MODEL_SERVICE)
    return FinalReply(text)


def _translate_error(error: Exception, has_begun: bool) -> ServiceError:
    """Translates an error of the package, before or after the reply began, and keeps none of its words."""
    if isinstance(error, ModelTimeoutError | TimeoutError):
        return build_timeout_error(LANGUAGE_MODEL_SERVICE)
    if isinstance(error, ModelConnectionError):
        build_error = build_response_error if has_begun else build_unreachable_error
        return build_error(LANGUAGE_MODEL_SERVICE)
    if isinstance(error, ModelQuotaExceededError):
        return build_status_error(PAYMENT_REQUIRED, None, LANGUAGE_MODEL_SERVICE)
    if isinstance(error, ModelContextWindowExceededError):
        return ServiceError(PROMPT_TOO_LONG, service=LANGUAGE_MODEL_SERVICE)
    if isinstance(error, ModelAuthenticationError) or _is_credential_error(error):
        return build_status_error(403, None, LANGUAGE_MODEL_SERVICE)
    if not isinstance(error, ModelHTTPError):  # not what was asked for, or of a shape that the package does not expect
        return build_response_error(LANGUAGE_MODEL_SERVICE)
    if error.status_code in BAD_REQUEST_STATUSES:
        return _build_parameter_error(error)
    wait = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return build_status_error(error.status_code, wait, LANGUAGE_MODEL_SERVICE)


def _is_credential_error(error: Exception) -> bool:
    """Returns whether the credentials of AWS are missing or expired, which is found out before a call."""
    causes = (error, error.__cause__) if isinstance(error, ModelAPIError) else (error,)
    names = [type(cause).__name__ for cause in causes]
    return any(name.endswith(("CredentialsError", "CredentialRetrievalError", "TokenRetrievalError")) for name in names)


def _build_parameter_error(error: ModelHTTPError) -> UnsupportedParameterError:
    """Finds the parameter that the text of an error names."""
    words = str(error.body)
    parameter = next((name for name in OPTIONS_BY_PARAMETER if name in words), None)
    return UnsupportedParameterError(parameter, OPTIONS_BY_PARAMETER.get(parameter or ""))
