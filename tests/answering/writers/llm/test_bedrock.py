"""Models of Amazon Bedrock, called over real HTTP."""

from __future__ import annotations

import asyncio
import json
import struct
from binascii import crc32
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from pydantic_ai.models.bedrock import BedrockConverseModel
from tests.answering.writers.llm.answering_server import AnsweringServer
from urllib3 import HTTPResponse

from bookbound.answering.writers.llm.pydantic_ai import PydanticAIModel
from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.language_model import (
    FinalReply,
    ModelEvent,
    Prompt,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.domain.trace import TokenUsage
from bookbound.testing.scripted_services import ScriptedServices

PROMPT = Prompt("You answer.", "What is it?")
KEY = "bedrock-api-key-secret"
NAME = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"


CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A region and credentials, and nothing from the machine."""
    for name in ("AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in CREDENTIALS:
        monkeypatch.setenv(name, "AKIASCRIPTED")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name)


def format_event(name: str, data: Mapping[str, Any]) -> bytes:
    """A message of the binary stream of AWS: two lengths, headers, a body, and a checksum after each part."""
    fields = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for key, value in fields.items()
    )
    body = json.dumps(data).encode()
    prelude = struct.pack("!II", len(headers) + len(body) + 16, len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return message + struct.pack("!I", crc32(message))


PIECES = [("contentBlockDelta", {"delta": {"text": text}, "contentBlockIndex": 0}) for text in ("Torque ", "is force.")]
EVENTS: list[tuple[str, Mapping[str, Any]]] = [
    ("messageStart", {"role": "assistant"}),
    *PIECES,
    ("contentBlockStop", {"contentBlockIndex": 0}),
    ("messageStop", {"stopReason": "end_turn"}),
    ("metadata", {"usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}, "metrics": {"latencyMs": 1}}),
]
STREAM = b"".join(format_event(name, data) for name, data in EVENTS)
STREAM_TYPE = {"content-type": "application/vnd.amazon.eventstream"}


def collect(url: str, **more: Any) -> list[ModelEvent]:
    async def main() -> list[ModelEvent]:
        model = PydanticAIModel("bedrock", NAME, url=url, **more)
        try:
            return [event async for event in model.run(PROMPT, RequestOptions(0.0))]
        finally:
            await model.close()

    return asyncio.run(main())


def test_a_reply_comes_in_pieces_with_its_usage_and_credentials_sign_the_request() -> None:
    with AnsweringServer(200, STREAM, STREAM_TYPE) as service:
        assert collect(service.url) == [
            "Torque ",
            "is force.",
            TokenUsage(1, 100, 20),
            FinalReply("Torque is force."),
        ]
    assert service.headers[0]["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIASCRIPTED/")
    assert service.paths[0].endswith("/converse-stream")


@pytest.mark.usefixtures("no_credentials")
def test_a_key_needs_no_credentials_and_is_sent_instead_of_a_signature() -> None:
    sent: list[Any] = []

    def record(request: Any, **_: Any) -> AWSResponse:
        sent.append(request.headers["Authorization"])
        return AWSResponse(request.url, 500, {}, HTTPResponse(BytesIO(b"{}"), preload_content=False))

    async def main() -> None:
        model = PydanticAIModel("bedrock", NAME, url="https://bedrock.example", key=KEY)
        assert isinstance(model._model, BedrockConverseModel)
        model._model.client.meta.events.register("before-send.bedrock-runtime", record)
        async for _ in model.run(PROMPT, RequestOptions(0.0)):
            pass

    with pytest.raises(ServiceUnreachableError):
        asyncio.run(main())
    assert sent == [f"Bearer {KEY}".encode()]


def test_a_key_is_never_sent_without_encryption() -> None:
    with pytest.raises(ConfigError, match="only over https"):
        PydanticAIModel("bedrock", NAME, url="http://bedrock.example", key=KEY)


@pytest.mark.usefixtures("no_credentials")
def test_missing_credentials_are_reported_before_a_call() -> None:
    with pytest.raises(ConfigError, match=r"no credentials for Amazon Bedrock\. Set `AWS_BEARER_TOKEN_BEDROCK`"):
        PydanticAIModel("bedrock", NAME)


@pytest.mark.parametrize("key", [KEY, None])
def test_a_missing_region_is_reported_before_a_call(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(ConfigError, match="needs a region: set `AWS_DEFAULT_REGION`"):
        PydanticAIModel("bedrock", NAME, key=key)


def test_a_profile_that_does_not_exist_is_reported_before_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigError, match="AWS configuration cannot be used"):
        PydanticAIModel("bedrock", NAME)


ERRORS: list[tuple[int, str, type[ServiceError]]] = [
    (400, "ValidationException", UnsupportedParameterError),
    (403, "AccessDeniedException", ServiceAuthenticationError),
    (403, "ExpiredTokenException", ServiceAuthenticationError),
    (404, "ResourceNotFoundException", ServiceError),
    (429, "ThrottlingException", ServiceRateLimitError),
    (500, "InternalServerException", ServiceUnreachableError),
    (503, "ServiceUnavailableException", ServiceUnreachableError),
]


@pytest.mark.parametrize(("status", "name", "expected"), ERRORS)
def test_each_error_is_ours_after_one_call(status: int, name: str, expected: type[ServiceError]) -> None:
    body = json.dumps({"message": "SECRET words of AWS"}).encode()
    with AnsweringServer(status, body, {"x-amzn-errortype": name, "content-type": "application/json"}) as service:
        with pytest.raises(expected) as caught:
            collect(service.url)
        assert len(service.paths) == 1
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "body", [STREAM[: len(STREAM) // 2], b"not a stream", b""], ids=["cut off", "malformed", "empty"]
)
def test_a_reply_that_is_cut_off_or_malformed_cannot_be_used(body: bytes) -> None:
    with AnsweringServer(200, body, STREAM_TYPE) as service, pytest.raises(ServiceResponseError):
        collect(service.url)


def test_a_service_that_does_not_listen_or_is_silent_is_reported() -> None:
    with ScriptedServices() as services, pytest.raises(ServiceUnreachableError):
        collect(services.refused_url)
    with AnsweringServer(200, b"", seconds=5) as service, pytest.raises(ServiceTimeoutError):
        collect(service.url, timeout_seconds=0.2)
