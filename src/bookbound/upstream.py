"""What it takes to ask a service over HTTP: a fit key and address, and the trouble that its reply comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time
from urllib.parse import urlsplit

from bookbound.errors import BadReply, BadSetup, Denied, LimitReached, ServiceTrouble, TimedOut, Unreachable

CALLED = {"embeddings": "The embeddings service", "language model": "The language model"}
"""How a service is spoken of; one that is not here goes by its own name."""

_HOST = re.compile(r"([^@]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?", re.ASCII | re.IGNORECASE)
LONGEST_WAIT = 7 * 24 * 3600.0
"""A week, in seconds: who names a longer wait is taken to have named none."""

DENIED, LATE, LIMITED, BROKEN = (401, 403), 408, 429, 500


def called(service: str) -> str:
    """The service as a message begins with it."""
    return CALLED.get(service, service.capitalize())


def fit_key(key: str, setting: str) -> str:
    """A key as it can stand in a header, or the complaint that names its setting."""
    key = key.strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise BadSetup(f"The setting `{setting}` must be a key of plain letters, digits and signs.")
    return key


def fit_address(url: str, setting: str) -> str:
    """The URL of a service, or the complaint that names its setting."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc) and parts.port != 0
        named = named and not (parts.query or parts.fragment or parts.username or parts.password)
    except ValueError:  # such as a port that is no number; its message would hold the URL
        named = None
    if named and url.isascii() and url.isprintable() and " " not in url:
        return url
    raise BadSetup(f"The setting `{setting}` must be an address, http:// or https://, without a password or a query.")


def retry_after(header: str | None, now: float) -> float | None:
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
    return max(seconds, 0.0) if isfinite(seconds) and seconds <= LONGEST_WAIT else None


def refused(status: int | None, headers: Mapping[str, str] | None, service: str) -> ServiceTrouble:
    """The trouble that a reply of this status is; nothing of the service's own words is in it."""
    name = called(service)
    header = next((value for key, value in (headers or {}).items() if key.lower() == "retry-after"), None)
    wait = retry_after(header, time())
    if status is None or status < 300:
        return unusable(service)
    if status in DENIED:
        return Denied(f"{name} does not take the key. Check the key in the settings.", service=service)
    if status == LATE:
        return late(service)
    if status == LIMITED:
        return LimitReached(f"{name} was asked too often. Try again later.", service=service, retry_after=wait)
    if status >= BROKEN:
        return Unreachable(f"{name} is out of order. Try again in a moment.", service=service, retry_after=wait)
    return ServiceTrouble(f"{name} does not take the request. Check model and URL in the settings.", service=service)


def late(service: str) -> TimedOut:
    """No answer came in time."""
    return TimedOut(f"{called(service)} did not answer in time. Try again in a moment.", service=service)


def away(service: str) -> Unreachable:
    """No connection came about, or it was lost."""
    return Unreachable(f"{called(service)} could not be reached. Check that it runs, and its URL.", service=service)


def unusable(service: str) -> BadReply:
    """An answer came that is cut off, malformed, or not what was asked for."""
    return BadReply(f"{called(service)} gave an answer that cannot be used. Try again in a moment.", service=service)
