"""Calls outside services with retries and deadlines, and translates their failures into our errors."""

from __future__ import annotations

import logging
import random
import re
from asyncio import sleep, timeout
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic, time
from typing import Any, TypeVar
from urllib.parse import urlsplit

from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.language_model import LANGUAGE_MODEL_SERVICE, REQUEST_REJECTED
from bookbound.domain.question import NO_DEADLINE, Deadline

SERVICE_LABELS = {"embeddings": "The embeddings service", LANGUAGE_MODEL_SERVICE: "The language model"}
PAYMENT_REQUIRED = 402
_HOST_PATTERN = re.compile(r"([^@]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?", re.ASCII | re.IGNORECASE)
MAX_RETRY_AFTER_SECONDS = 7 * 24 * 3600.0
"""A longer `Retry-After` is ignored."""
EXTRA_PACKAGES = {
    "agents": ("openai-agents>=0.20",),
    "anthropic": ("pydantic-ai-slim[anthropic]>=2.68,<3",),
    "bedrock": ("pydantic-ai-slim[bedrock]>=2.68,<3",),
    "cohere": ("cohere>=7.0", "httpx>=0.27"),
    "gemini": ("pydantic-ai-slim[google]>=2.68,<3",),
    "haystack": ("haystack-ai>=2.20",),
    "langchain": ("langchain-core>=1.0",),
    "llama-index": ("llama-index-core>=0.14",),
    "mcp": ("mcp>=2.3,<3",),
    "openai": ("openai>=2.30",),
    "postgres": ("psycopg[binary]>=3.2",),
    "qdrant": ("qdrant-client>=1.15", "httpx>=0.27"),
    "redis": ("redis>=5.2",),
    "tracing": ("opentelemetry-sdk>=1.30", "opentelemetry-exporter-otlp-proto-http>=1.30"),
}
"""The packages of each extra in `pyproject.toml`."""


def build_missing_packages_error(subject: str, extra: str) -> ConfigError:
    """Names the packages themselves: our own name may be that of another project in a package index."""
    packages = " ".join(f'"{package}"' for package in EXTRA_PACKAGES[extra])
    return ConfigError(f"{subject} needs more packages. Install them next to Bookbound: pip install {packages}")


def get_service_label(service: str) -> str:
    return SERVICE_LABELS.get(service, service.capitalize())


def validate_key(key: str, setting: str) -> str:
    """Returns a key that can be sent in a header, or raises an error that names its setting."""
    key = key.strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise ConfigError(f"The setting `{setting}` must be a key of plain letters, digits and signs.")
    return key


def validate_url(url: str, setting: str) -> str:
    """Returns the URL of a service, or raises an error that names its setting."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and _HOST_PATTERN.fullmatch(parts.netloc) and parts.port != 0
        valid = valid and not (parts.query or parts.fragment or parts.username or parts.password)
    except ValueError:  # such as a port that is not a number; the message would contain the URL
        valid = None
    if valid and url.isascii() and url.isprintable() and " " not in url:
        return url
    raise ConfigError(f"The setting `{setting}` must be an http:// or https:// address without a password or a query.")


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Returns the seconds to wait from `now`, from a header that has seconds or an HTTP date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    return max(seconds, 0.0) if isfinite(seconds) and seconds <= MAX_RETRY_AFTER_SECONDS else None


def build_status_error(status: int | None, headers: Mapping[str, str] | None, service: str) -> ServiceError:
    """Translates the status of a reply; the error contains none of the service's own words."""
    label = get_service_label(service)
    header = next((value for key, value in (headers or {}).items() if key.lower() == "retry-after"), None)
    wait = parse_retry_after(header, time())
    if status is None or status < 300:
        return build_response_error(service)
    if status == PAYMENT_REQUIRED:
        message = f"{label} has no credit left. Check the account that the key belongs to."
        return ServiceAuthenticationError(message, service=service)
    if status in (401, 403):
        return ServiceAuthenticationError(f"{label} rejected the key. Check the key in the settings.", service=service)
    if status == 408:
        return build_timeout_error(service)
    if status == 429:
        message = f"{label} got too many requests. Try again later."
        return ServiceRateLimitError(message, service=service, retry_after=wait)
    if status >= 500:
        message = f"{label} is out of order. Try again in a moment."
        return ServiceUnreachableError(message, service=service, retry_after=wait)
    rejected = f"{label} rejected the request. Check model and URL in the settings."
    return ServiceError(REQUEST_REJECTED if service == LANGUAGE_MODEL_SERVICE else rejected, service=service)


def build_timeout_error(service: str) -> ServiceTimeoutError:
    message = f"{get_service_label(service)} did not answer in time. Try again in a moment."
    return ServiceTimeoutError(message, service=service)


def build_unreachable_error(service: str) -> ServiceUnreachableError:
    """Describes a connection that failed or was lost."""
    message = f"{get_service_label(service)} could not be reached. Check that it runs, and its URL."
    return ServiceUnreachableError(message, service=service)


def build_response_error(service: str) -> ServiceResponseError:
    """Describes a reply that is cut off, malformed, or not what was asked for."""
    message = f"{get_service_label(service)} gave an answer that cannot be used. Try again in a moment."
    return ServiceResponseError(message, service=service)


MAX_REPLY_BYTES = 32_000_000  # four times 128 vectors of 3,072 numbers with 20 characters each


async def bound_reply(response: Any) -> None:
    """Ends a reply that is too long, whatever its length in transit; a hook for the clients of httpx and httpx2."""
    read = response.aiter_bytes

    async def read_bounded(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        size = 0
        async with aclosing(read(chunk_size)) as pieces:
            async for data in pieces:
                size += len(data)
                if size > MAX_REPLY_BYTES:
                    raise ValueError(f"a reply of more than {MAX_REPLY_BYTES} bytes")
                yield data

    response.aiter_bytes = read_bounded


MAX_ATTEMPTS = 3
FIRST_RETRY_SECONDS = 0.25
"""The pause before the second attempt; each further pause is twice as long."""
Result = TypeVar("Result")
_RETRYABLE_ERRORS = (ServiceUnreachableError, ServiceTimeoutError, ServiceRateLimitError, ServiceResponseError)


async def call_with_retry(
    attempt: Callable[[float], Awaitable[Result]],
    *,
    service: str,
    seconds: float,
    deadline: Deadline = NO_DEADLINE,
    retries_replies: bool = True,
) -> Result:
    """Calls `attempt` with the seconds that it has, and again after an error that may pass.

    All attempts and pauses together take at most `seconds` and end by the deadline. A `Retry-After` is obeyed if there
    is time for it; otherwise the error is raised at once. Without `retries_replies` so is that of an unusable reply.
    """
    end, attempts = monotonic() + deadline.limit(seconds), 0
    while (left := end - monotonic()) > 0:
        attempts += 1
        try:
            async with timeout(left):
                return await attempt(left)
        except TimeoutError:
            break
        except _RETRYABLE_ERRORS as error:
            # Random, so that clients that failed together do not come back together.
            backoff = FIRST_RETRY_SECONDS * (1 << attempts - 1) * random.uniform(0.5, 1.5)
            pause = (error.retry_after or 0.0) + backoff
            is_final = isinstance(error, ServiceResponseError) and not retries_replies
            if is_final or attempts == MAX_ATTEMPTS or pause >= end - monotonic():
                raise
        await sleep(pause)
    raise build_timeout_error(service)


def quiet_loggers(*loggers: str) -> None:
    """Limits loggers to warnings, or leaves them as they are if they log less."""
    for logger in map(logging.getLogger, loggers):
        logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
