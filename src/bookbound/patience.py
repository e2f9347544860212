"""How long a question may wait for the services it needs, and how often they are tried."""

from __future__ import annotations

import random
from asyncio import sleep, timeout
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from bookbound.errors import BadReply, LimitReached, ServiceTrouble, TimedOut, Unreachable
from bookbound.upstream import late

TRIES, PAUSE = 3, 0.25
"""How often a service is tried, and the seconds before the second time; each further pause is twice as long."""

Result = TypeVar("Result")
_PASSING = (Unreachable, TimedOut, LimitReached, BadReply)
_UNTIL: ContextVar[float] = ContextVar("until")


def wait_at_most(seconds: float) -> None:
    """From now on, whatever is done for this question has so many seconds in all."""
    _UNTIL.set(monotonic() + seconds)


def left(most: float) -> float:
    """The seconds that one piece of work may take: `most`, or what is left of the question's own."""
    return min(most, _UNTIL.get(float("inf")) - monotonic())


async def patiently(attempt: Callable[[float], Awaitable[Result]], *, service: str, most: float) -> Result:
    """The result of `attempt`, which is told how many seconds it has, tried again after trouble that may pass.

    All tries and the pauses between them have `most` seconds together. A service that says when to come back is taken
    at its word where there is time for it, and otherwise not asked again.
    """
    until, tried = monotonic() + left(most), 0
    while (seconds := until - monotonic()) > 0:
        tried += 1
        try:
            async with timeout(seconds):
                return await attempt(seconds)
        except TimeoutError:
            break
        except _PASSING as trouble:
            pause = _pause(trouble, tried)
            if tried == TRIES or pause >= until - monotonic():
                raise
        await sleep(pause)
    raise late(service)


def _pause(trouble: ServiceTrouble, tried: int) -> float:
    """A little longer each time, beyond what the service asked for; never the same for all who wait."""
    return (trouble.retry_after or 0.0) + PAUSE * (1 << tried - 1) * random.uniform(0.5, 1.5)
