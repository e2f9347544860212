"""How often a service is tried, and how long it is waited for; time is told by a clock that only pauses move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from bookbound import services
from bookbound.domain.errors import (
    BookboundError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.services import FIRST_RETRY_SECONDS, MAX_ATTEMPTS, call_with_retry, limit_to_deadline, set_deadline

SERVICE = "language model"
Attempt = Callable[[float], Awaitable[str]]
GONE, LATE = ServiceUnreachableError("Gone.", service=SERVICE), ServiceTimeoutError("Late.", service=SERVICE)
ODD, FULL = ServiceResponseError("Odd.", service=SERVICE), ServiceRateLimitError("Full.", service=SERVICE)


class Clock:
    """The seconds that have passed, all of them in pauses or in work."""

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
    monkeypatch.setattr(services, "sleep", clock.sleep)
    return clock


class Service:
    """Fails with these troubles, one after the other, and then answers; keeps the seconds it was given each time."""

    def __init__(self, *troubles: Exception, clock: Clock | None = None, takes: float = 0.0) -> None:
        self._troubles: Iterator[Exception] = iter(troubles)
        self._clock, self._takes = clock, takes
        self.given: list[float] = []

    async def __call__(self, seconds: float) -> str:
        self.given.append(seconds)
        if self._clock:
            self._clock.now += self._takes
        if trouble := next(self._troubles, None):
            raise trouble
        return "answer"


def asked(attempt: Attempt, most: float = 60.0, deadline: float | None = None) -> str:
    async def ask() -> str:
        if deadline is not None:
            set_deadline(deadline)
        return await call_with_retry(attempt, service=SERVICE, most=most)

    return asyncio.run(ask())


@pytest.mark.parametrize("trouble", [GONE, LATE, ODD, FULL])
def test_trouble_that_may_pass_is_tried_again(clock: Clock, trouble: ServiceError) -> None:
    service = Service(trouble, trouble)
    assert asked(service) == "answer"
    assert len(service.given) == 3


@pytest.mark.parametrize("trouble", [GONE, LATE, ODD, FULL])
def test_trouble_that_stays_is_raised_after_the_last_try(clock: Clock, trouble: ServiceError) -> None:
    service = Service(*[trouble] * 99)
    with pytest.raises(type(trouble)) as raised:
        asked(service)
    assert raised.value is trouble
    assert len(service.given) == MAX_ATTEMPTS


@pytest.mark.parametrize(
    "trouble",
    [
        ServiceAuthenticationError("No.", service=SERVICE),
        ServiceError("No.", service=SERVICE),
        BookboundError("No."),
        KeyError(),
    ],
)
def test_trouble_that_will_not_pass_is_raised_at_once(clock: Clock, trouble: Exception) -> None:
    service = Service(trouble)
    with pytest.raises(type(trouble)):
        asked(service)
    assert (len(service.given), clock.pauses) == (1, [])


def test_each_pause_is_about_twice_as_long_as_the_one_before_and_never_quite_the_same(clock: Clock) -> None:
    for _ in range(20):
        asked(Service(GONE, GONE))
    first, second = clock.pauses[::2], clock.pauses[1::2]
    assert all(FIRST_RETRY_SECONDS * 0.5 <= pause <= FIRST_RETRY_SECONDS * 1.5 for pause in first)
    assert all(FIRST_RETRY_SECONDS <= pause <= FIRST_RETRY_SECONDS * 3 for pause in second)
    assert len(set(first)) > 1


def test_a_service_that_says_when_to_come_back_is_not_asked_before(clock: Clock) -> None:
    assert asked(Service(ServiceRateLimitError("Full.", service=SERVICE, retry_after=7.0))) == "answer"
    (pause,) = clock.pauses
    assert 7.0 < pause <= 7.0 + FIRST_RETRY_SECONDS * 1.5


@pytest.mark.parametrize("bounds", [{"most": 5.0}, {"deadline": 5.0}])
def test_where_there_is_no_time_to_come_back_the_trouble_is_raised_at_once(
    clock: Clock, bounds: dict[str, float]
) -> None:
    service = Service(ServiceRateLimitError("Full.", service=SERVICE, retry_after=7.0))
    with pytest.raises(ServiceRateLimitError) as raised:
        asked(service, **bounds)
    assert (raised.value.retry_after, len(service.given), clock.pauses) == (7.0, 1, [])


def test_all_tries_share_one_span_of_time(clock: Clock) -> None:
    service = Service(GONE, GONE, clock=clock, takes=2.0)
    assert asked(service, most=10.0) == "answer"
    assert service.given[0] == 10.0
    assert service.given[1] == pytest.approx(8.0 - clock.pauses[0])
    assert service.given[2] == pytest.approx(6.0 - sum(clock.pauses))


def test_the_question_s_own_time_goes_before_the_service_s(clock: Clock) -> None:
    service = Service()
    asked(service, most=10.0, deadline=3.0)
    asked(service, most=10.0, deadline=30.0)
    assert service.given == [3.0, 10.0]


def test_nothing_is_tried_when_the_time_is_over(clock: Clock) -> None:
    service = Service()
    with pytest.raises(ServiceTimeoutError, match="The language model did not answer in time") as raised:
        asked(service, deadline=0.0)
    assert (raised.value.service, service.given) == (SERVICE, [])


def test_a_service_that_never_answers_is_left_in_time() -> None:
    async def never(seconds: float) -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(ServiceTimeoutError) as raised:
        asked(never, most=0.01)
    assert (raised.value.service, raised.value.__cause__) == (SERVICE, None)


def test_whoever_leaves_is_not_taken_for_a_service_that_is_late() -> None:
    async def leave() -> None:
        waiting = asyncio.create_task(call_with_retry(lambda _: asyncio.Event().wait(), service=SERVICE, most=60))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(leave())


def test_one_question_s_deadline_is_not_another_s(clock: Clock) -> None:
    async def both() -> tuple[float, ...]:
        async def question(seconds: float) -> float:
            set_deadline(seconds)
            await asyncio.sleep(0)
            return limit_to_deadline(60.0)

        return tuple(await asyncio.gather(question(1.0), question(2.0)))

    assert asyncio.run(both()) == (1.0, 2.0)
    assert limit_to_deadline(60.0) == 60.0
