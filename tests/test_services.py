from __future__ import annotations

from contextlib import suppress
from email.utils import formatdate

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.services import build_status_error, get_service_label, parse_retry_after, validate_key, validate_url

NOW = 1_767_225_600.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("604800", 604800.0),
        ("604801", None),
        ("99999999999999999999999999", None),
        ("-3", 0.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW + 90), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("Thu, 01 Jan 2026 02:00:30 +0200", 30.0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 99 Jan 2026 00:00:30 GMT", None),
        ("Thu, 01 Jan 99999999999999 00:00:30 GMT", None),
    ],
)
def test_a_header_says_when_to_come_back_in_seconds_or_with_a_date(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds


@given(
    st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ ([A-Z]{1,4}|[+-]\d+)", fullmatch=True)
)
def test_any_header_is_seconds_or_nothing(header: str) -> None:
    seconds = parse_retry_after(header, NOW)
    assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (None, ServiceResponseError),
        (200, ServiceResponseError),
        (302, ServiceError),
        (400, ServiceError),
        (401, ServiceAuthenticationError),
        (403, ServiceAuthenticationError),
        (404, ServiceError),
        (408, ServiceTimeoutError),
        (429, ServiceRateLimitError),
        (500, ServiceUnreachableError),
        (502, ServiceUnreachableError),
        (529, ServiceUnreachableError),
    ],
)
def test_each_status_is_one_trouble(status: int | None, kind: type[ServiceError]) -> None:
    trouble = build_status_error(status, {"Retry-After": "5"}, "language model")
    assert type(trouble) is kind
    assert trouble.service == "language model"
    assert str(trouble).startswith("The language model ")
    assert trouble.retry_after == (5 if kind in (ServiceRateLimitError, ServiceUnreachableError) else None)


def test_a_service_is_called_by_its_name() -> None:
    assert [get_service_label(name) for name in ("cohere", "qdrant", "embeddings")] == [
        "Cohere",
        "Qdrant",
        "The embeddings service",
    ]


TELLING = ("http://me:pw@h", "https://me@h/v1", "http://h/v1?key=1", "http://h/v1#there")
"""Addresses that hold what belongs in a setting of its own, or in none."""


@given(st.text(st.sampled_from("ab.-_:@[]%/?#19 \\\"'<>|{}$\0\nü")))
def test_what_passes_for_an_address_is_one_to_the_client_that_will_use_it(rest: str) -> None:
    with suppress(ConfigError):
        assert httpx.URL(validate_url(f"http://{rest}", "some_url")).host


@pytest.mark.parametrize(
    "url", ["", "host", "ftp://host", "http://", "http://host:port", "http://[::1", "http://a b", *TELLING]
)
def test_what_is_no_address_names_its_setting_and_is_not_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_url(url, "some_url")
    assert (
        str(caught.value)
        == "The setting `some_url` must be an address, http:// or https://, without a password or a query."
    )


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434/v1", " https://api.example/v1 ", "http://[::1]:80"])
def test_an_address_stays_as_it_is(url: str) -> None:
    assert validate_url(url, "some_url") == url.strip()


@given(st.text())
def test_what_passes_for_a_key_fits_a_header(key: str) -> None:
    with suppress(ConfigError):
        assert httpx.Headers({"Authorization": f"Bearer {validate_key(key, 'some_key')}"})[
            "authorization"
        ].isprintable()


@pytest.mark.parametrize("key", ["", " ", "two\nlines", "schlüssel"])
def test_what_is_no_key_names_its_setting_and_is_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_key(key, "some_key")
    assert str(caught.value) == "The setting `some_key` must be a key of plain letters, digits and signs."
