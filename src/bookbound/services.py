"""Calls outside services with retries and deadlines, and translates their failures into our errors."""

from __future__ import annotations

import logging
import random
import re
from asyncio import sleep, timeout
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic, time
from typing import TypeVar
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

SERVICE_LABELS = {"embeddings": "The embeddings service", "language model": "The language model"}
"""How a service is spoken of; one that is not here goes by its own name."""
_HOST_PATTERN = re.compile(r"([^@]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?", re.ASCII | re.IGNORECASE)
MAX_RETRY_AFTER_SECONDS = 7 * 24 * 3600.0
"""A week, in seconds: who names a longer wait is taken to have named none."""
AUTHENTICATION_STATUSES, TIMEOUT_STATUS, RATE_LIMIT_STATUS, SERVER_ERROR_STATUS = (401, 403), 408, 429, 500


def get_service_label(service: str) -> str:
    """The service as a message begins with it."""
    return SERVICE_LABELS.get(service, service.capitalize())


def validate_key(key: str, setting: str) -> str:
    """A key as it can stand in a header, or the complaint that names its setting."""
    key = key.strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise ConfigError(f"The setting `{setting}` must be a key of plain letters, digits and signs.")
    return key


def validate_url(url: str, setting: str) -> str:
    """The URL of a service, or the complaint that names its setting."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and _HOST_PATTERN.fullmatch(parts.netloc) and parts.port != 0
        named = named and not (parts.query or parts.fragment or parts.username or parts.password)
    except ValueError:  # such as a port that is no number; its message would hold the URL
        named = None
    if named and url.isascii() and url.isprintable() and " " not in url:
        return url
    raise ConfigError(
        f"The setting `{setting}` must be an address, http:// or https://, without a password or a query."
    )


def parse_retry_after(header: str | None, now: float) -> float | None:
    """The seconds from `now` (of the epoch) after which to come back, from a header in seconds or with an HTTP date."""
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
    """The trouble that a reply of this status is; nothing of the service's own words is in it."""
    name = get_service_label(service)
    header = next((value for key, value in (headers or {}).items() if key.lower() == "retry-after"), None)
    wait = parse_retry_after(header, time())
    if status is None or status < 300:
        return build_response_error(service)
    if status in AUTHENTICATION_STATUSES:
        return ServiceAuthenticationError(
            f"{name} does not take the key. Check the key in the settings.", service=service
        )
    if status == TIMEOUT_STATUS:
        return build_timeout_error(service)
    if status == RATE_LIMIT_STATUS:
        return ServiceRateLimitError(f"{name} was asked too often. Try again later.", service=service, retry_after=wait)
    if status >= SERVER_ERROR_STATUS:
        return ServiceUnreachableError(
            f"{name} is out of order. Try again in a moment.", service=service, retry_after=wait
        )
    return ServiceError(f"{name} does not take the request. Check model and URL in the settings.", service=service)


def build_timeout_error(service: str) -> ServiceTimeoutError:
    """No answer came in time."""
    return ServiceTimeoutError(
        f"{get_service_label(service)} did not answer in time. Try again in a moment.", service=service
    )


def build_unreachable_error(service: str) -> ServiceUnreachableError:
    """No connection came about, or it was lost."""
    return ServiceUnreachableError(
        f"{get_service_label(service)} could not be reached. Check that it runs, and its URL.", service=service
    )


def build_response_error(service: str) -> ServiceResponseError:
    """An answer came that is cut off, malformed, or not what was asked for."""
    return ServiceResponseError(
        f"{get_service_label(service)} gave an answer that cannot be used. Try again in a moment.", service=service
    )


MAX_ATTEMPTS, FIRST_RETRY_SECONDS = 3, 0.25
"""How often a service is tried, and the seconds before the second time; each further pause is twice as long."""
Result = TypeVar("Result")
_RETRYABLE_ERRORS = (ServiceUnreachableError, ServiceTimeoutError, ServiceRateLimitError, ServiceResponseError)
_DEADLINE: ContextVar[float] = ContextVar("until")


def set_deadline(seconds: float) -> None:
    """From now on, whatever is done for this question has so many seconds in all."""
    _DEADLINE.set(monotonic() + seconds)


def limit_to_deadline(most: float) -> float:
    """The seconds that one piece of work may take: `most`, or what is left of the question's own."""
    return min(most, _DEADLINE.get(float("inf")) - monotonic())


async def call_with_retry(attempt: Callable[[float], Awaitable[Result]], *, service: str, most: float) -> Result:
    """The result of `attempt`, which is told how many seconds it has, tried again after trouble that may pass.

    All tries and the pauses between them have `most` seconds together. A service that says when to come back is taken
    at its word where there is time for it, and otherwise not asked again.
    """
    until, tried = monotonic() + limit_to_deadline(most), 0
    while (seconds := until - monotonic()) > 0:
        tried += 1
        try:
            async with timeout(seconds):
                return await attempt(seconds)
        except TimeoutError:
            break
        except _RETRYABLE_ERRORS as trouble:
            pause = _compute_backoff_seconds(trouble, tried)
            if tried == MAX_ATTEMPTS or pause >= until - monotonic():
                raise
        await sleep(pause)
    raise build_timeout_error(service)


def _compute_backoff_seconds(trouble: ServiceError, tried: int) -> float:
    """A little longer each time, beyond what the service asked for; never the same for all who wait."""
    return (trouble.retry_after or 0.0) + FIRST_RETRY_SECONDS * (1 << tried - 1) * random.uniform(0.5, 1.5)


def quiet_loggers(*loggers: str) -> None:
    """Keep loggers by their names to warnings, or to less where they already log less."""
    for logger in map(logging.getLogger, loggers):
        logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
