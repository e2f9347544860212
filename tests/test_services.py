"""Retries, deadlines and errors of outside services; in most tests only pauses and work move the clock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound import services
from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel
from bookbound.domain import question
from bookbound.domain.errors import (
    BookboundError,
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.services import (
    FIRST_RETRY_SECONDS,
    MAX_ATTEMPTS,
    build_status_error,
    call_with_retry,
    get_service_label,
    parse_retry_after,
    quiet_loggers,
    validate_key,
    validate_url,
)

NOW = 1_767_225_600.0
SERVICE = "language model"
Attempt = Callable[[float], Awaitable[str]]
UNREACHABLE = ServiceUnreachableError("Unreachable.", service=SERVICE)
TIMED_OUT = ServiceTimeoutError("Late.", service=SERVICE)
MALFORMED = ServiceResponseError("Malformed.", service=SERVICE)
RATE_LIMITED = ServiceRateLimitError("Full.", service=SERVICE)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(services, "monotonic", clock)
    monkeypatch.setattr(question, "monotonic", clock)
    monkeypatch.setattr(services, "sleep", clock.sleep)
    return clock


class Service:
    """Fails with these errors one after the other, then answers; keeps the seconds that each attempt gets."""

    def __init__(self, *errors: Exception, clock: Clock | None = None, takes: float = 0.0) -> None:
        self._errors: Iterator[Exception] = iter(errors)
        self._clock, self._takes = clock, takes
        self.attempts: list[float] = []

    async def __call__(self, seconds: float) -> str:
        self.attempts.append(seconds)
        if self._clock:
            self._clock.now += self._takes
        if error := next(self._errors, None):
            raise error
        return "answer"


def call(attempt: Attempt, seconds: float = 60.0, deadline: Deadline = NO_DEADLINE) -> str:
    async def run() -> str:
        return await call_with_retry(attempt, service=SERVICE, seconds=seconds, deadline=deadline)

    return asyncio.run(run())


@pytest.mark.parametrize("error", [UNREACHABLE, TIMED_OUT, MALFORMED, RATE_LIMITED])
def test_an_error_that_may_pass_is_retried_and_raised_after_the_last_attempt(clock: Clock, error: ServiceError) -> None:
    service = Service(error, error)
    assert call(service) == "answer"
    assert len(service.attempts) == 3
    broken = Service(*[error] * 99)
    with pytest.raises(type(error)) as raised:
        call(broken)
    assert raised.value is error
    assert len(broken.attempts) == MAX_ATTEMPTS


@pytest.mark.parametrize(
    "error",
    [
        ServiceAuthenticationError("No.", service=SERVICE),
        ServiceError("No.", service=SERVICE),
        BookboundError("No."),
        KeyError(),
    ],
)
def test_an_error_that_will_not_pass_is_raised_at_once(clock: Clock, error: Exception) -> None:
    service = Service(error)
    with pytest.raises(type(error)):
        call(service)
    assert (len(service.attempts), clock.pauses) == (1, [])


def test_each_pause_is_about_twice_as_long_as_the_one_before_and_random(clock: Clock) -> None:
    for _ in range(20):
        call(Service(UNREACHABLE, UNREACHABLE))
    first, second = clock.pauses[::2], clock.pauses[1::2]
    assert all(FIRST_RETRY_SECONDS * 0.5 <= pause <= FIRST_RETRY_SECONDS * 1.5 for pause in first)
    assert all(FIRST_RETRY_SECONDS <= pause <= FIRST_RETRY_SECONDS * 3 for pause in second)
    assert len(set(first)) > 1


def test_retry_after_is_obeyed(clock: Clock) -> None:
    assert call(Service(ServiceRateLimitError("Full.", service=SERVICE, retry_after=7.0))) == "answer"
    (pause,) = clock.pauses
    assert 7.0 < pause <= 7.0 + FIRST_RETRY_SECONDS * 1.5


@pytest.mark.parametrize(("seconds", "left"), [(5.0, 60.0), (60.0, 5.0)])
def test_a_retry_after_beyond_the_limit_raises_the_error_at_once(clock: Clock, seconds: float, left: float) -> None:
    service = Service(ServiceRateLimitError("Full.", service=SERVICE, retry_after=7.0))
    with pytest.raises(ServiceRateLimitError) as raised:
        call(service, seconds, Deadline.after(left))
    assert (raised.value.retry_after, len(service.attempts), clock.pauses) == (7.0, 1, [])


def test_all_attempts_share_one_limit(clock: Clock) -> None:
    service = Service(UNREACHABLE, UNREACHABLE, clock=clock, takes=2.0)
    assert call(service, 10.0) == "answer"
    assert service.attempts[0] == 10.0
    assert service.attempts[1] == pytest.approx(8.0 - clock.pauses[0])
    assert service.attempts[2] == pytest.approx(6.0 - sum(clock.pauses))


def test_the_deadline_of_the_question_limits_the_service(clock: Clock) -> None:
    service = Service()
    call(service, 10.0, Deadline.after(3.0))
    call(service, 10.0, Deadline.after(30.0))
    assert service.attempts == [3.0, 10.0]
    assert NO_DEADLINE.limit(60.0) == 60.0


def test_nothing_is_called_after_the_deadline(clock: Clock) -> None:
    service = Service()
    with pytest.raises(ServiceTimeoutError, match="The language model did not answer in time") as raised:
        call(service, deadline=Deadline.after(0.0))
    assert (raised.value.service, service.attempts) == (SERVICE, [])


def test_a_service_that_never_answers_times_out() -> None:
    async def never(seconds: float) -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(ServiceTimeoutError) as raised:
        call(never, 0.01)
    assert (raised.value.service, raised.value.__cause__) == (SERVICE, None)


def test_a_cancelled_call_is_not_a_timeout() -> None:
    async def cancel() -> None:
        waiting = asyncio.create_task(call_with_retry(lambda _: asyncio.Event().wait(), service=SERVICE, seconds=60))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel())


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
def test_a_retry_after_header_has_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds


@given(
    st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ ([A-Z]{1,4}|[+-]\d+)", fullmatch=True)
)
def test_any_retry_after_header_gives_seconds_or_nothing(header: str) -> None:
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
        (402, ServiceAuthenticationError),
        (403, ServiceAuthenticationError),
        (404, ServiceError),
        (408, ServiceTimeoutError),
        (429, ServiceRateLimitError),
        (500, ServiceUnreachableError),
        (502, ServiceUnreachableError),
        (529, ServiceUnreachableError),
    ],
)
def test_each_status_becomes_one_error(status: int | None, kind: type[ServiceError]) -> None:
    error = build_status_error(status, {"Retry-After": "5"}, SERVICE)
    assert type(error) is kind
    assert error.service == SERVICE
    assert str(error).startswith("The language model ")
    assert error.retry_after == (5 if kind in (ServiceRateLimitError, ServiceUnreachableError) else None)


def test_a_used_up_quota_is_not_blamed_on_the_key() -> None:
    message = "The language model has no credit left. Check the account that the key belongs to."
    assert str(build_status_error(402, None, SERVICE)) == message


def test_messages_begin_with_the_label_of_the_service() -> None:
    labels = [get_service_label(name) for name in ("cohere", "qdrant", "embeddings")]
    assert labels == ["Cohere", "Qdrant", "The embeddings service"]


URLS_WITH_SECRETS = ("http://me:pw@h", "https://me@h/v1", "http://h/v1?key=1", "http://h/v1#there")


@given(st.text(st.sampled_from("ab.-_:@[]%/?#19 \\\"'<>|{}$\0\nü")))
def test_every_valid_url_is_valid_for_the_http_client(rest: str) -> None:
    with suppress(ConfigError):
        assert httpx.URL(validate_url(f"http://{rest}", "some_url")).host


@pytest.mark.parametrize(
    "url", ["", "host", "ftp://host", "http://", "http://host:port", "http://[::1", "http://a b", *URLS_WITH_SECRETS]
)
def test_an_invalid_url_is_reported_by_its_setting_and_not_shown(url: str) -> None:
    message = "The setting `some_url` must be an http:// or https:// address without a password or a query."
    with pytest.raises(ConfigError) as caught:
        validate_url(url, "some_url")
    assert str(caught.value) == message


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434/v1", " https://api.example/v1 ", "http://[::1]:80"])
def test_a_valid_url_is_unchanged(url: str) -> None:
    assert validate_url(url, "some_url") == url.strip()


@given(st.text())
def test_every_valid_key_fits_in_a_header(key: str) -> None:
    with suppress(ConfigError):
        headers = httpx.Headers({"Authorization": f"Bearer {validate_key(key, 'some_key')}"})
        assert headers["authorization"].isprintable()


@pytest.mark.parametrize("key", ["", " ", "two\nlines", "schlüssel"])
def test_an_invalid_key_is_reported_by_its_setting_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_key(key, "some_key")
    assert str(caught.value) == "The setting `some_key` must be a key of plain letters, digits and signs."


@pytest.mark.parametrize(
    ("before", "after"),
    [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.WARNING), (logging.ERROR, logging.ERROR)],
)
def test_a_logger_is_limited_to_warnings_and_never_logs_more_than_before(before: int, after: int) -> None:
    logger = logging.getLogger("bookbound.test.vendor")
    logger.setLevel(before)
    quiet_loggers("bookbound.test.vendor")
    assert logger.level == after


def test_a_stricter_level_of_the_parent_logger_is_kept() -> None:
    parent = logging.getLogger("bookbound.test.strict")
    parent.setLevel(logging.CRITICAL)
    quiet_loggers("bookbound.test.strict.child")
    assert not logging.getLogger("bookbound.test.strict.child").isEnabledFor(logging.ERROR)


@pytest.mark.parametrize(
    ("connect", "loggers"),
    [
        (lambda: OpenAIAgentsModel("scripted-1"), ("openai", "httpx", "httpx2", "httpcore")),
        (OpenAIEmbedder, ("openai", "httpx", "httpx2", "httpcore")),
        (lambda: CohereClient("key"), ("cohere", "httpx", "httpcore")),
    ],
)
def test_every_client_of_a_service_quiets_the_loggers_of_its_libraries(
    connect: Callable[[], Any], loggers: tuple[str, ...]
) -> None:
    for name in loggers:
        logging.getLogger(name).setLevel(logging.DEBUG)
    asyncio.run(connect().close())
    assert [logging.getLogger(name).level for name in loggers] == [logging.WARNING] * len(loggers)
