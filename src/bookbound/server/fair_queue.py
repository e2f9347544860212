"""Gives a limited number of slots to the questions of all clients, in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import ceil, inf
from time import monotonic

from bookbound.domain.errors import OverloadedError

QUEUE_FULL_MESSAGE = "Too many questions are being answered."
QUEUE_TIMEOUT_MESSAGE = "No answer could be started in time."
RECENT_SHARE = 0.1
"""How much the newest question changes the mean time of a question."""


class FairQueue:
    """Lets `slots` questions run at a time; `max_waiting` more wait for at most `max_wait_seconds`.

    A free slot goes to the client that waits for its turn longest, for its oldest question. A question that would wait
    too long is rejected when it arrives. If the queue is full, a client with many questions in it makes room for one
    with few.
    """

    def __init__(
        self, slots: int, max_waiting: int, max_wait_seconds: float | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self._slots, self._max_waiting = slots, max_waiting
        self._max_wait_seconds, self._now = max_wait_seconds, now
        # The clients are in the order of their turns, and the questions of each in the order in which they came.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self.running, self._mean_seconds = 0, 0.0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def acquire(self, client: str) -> float:
        """Waits for a slot and returns when it was given, which `release` needs."""
        if self.running < self._slots:
            self.running += 1
            return self._now()
        self._check_expected_wait(client)
        if self.waiting >= self._max_waiting:
            self._make_room(client)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(self._max_wait_seconds):
                await turn
        except BaseException as error:
            self._leave(client, turn)
            if isinstance(error, TimeoutError):
                raise build_overloaded_error(QUEUE_TIMEOUT_MESSAGE) from None
            raise
        return self._now()

    def release(self, acquired: float) -> None:
        """Gives a slot back to the next client."""
        seconds = self._now() - acquired
        self._mean_seconds += (seconds - self._mean_seconds) * (RECENT_SHARE if self._mean_seconds else 1)
        self._give_slot_on()

    def _give_slot_on(self) -> None:
        while self._waiting:
            client = next(iter(self._waiting))
            turns = self._waiting.pop(client)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        """Removes a question that no longer waits; a slot that it got in the same moment goes to the next one."""
        turns = self._waiting.get(client, deque())
        if turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]
        elif not turn.cancelled() and not turn.exception():
            self._give_slot_on()

    def _make_room(self, client: str) -> None:
        """Rejects the newest question of the client with most, or the new one if its client has as many."""
        greediest = max(self._waiting, key=lambda each: len(self._waiting[each]), default=client)
        turns, own = self._waiting.get(greediest, ()), self._waiting.get(client, ())
        if len(turns) <= len(own) + 1:
            raise build_overloaded_error(QUEUE_FULL_MESSAGE)
        turn = self._waiting[greediest].pop()
        if not turn.done():  # its client may have left in this moment
            turn.set_exception(build_overloaded_error(QUEUE_FULL_MESSAGE))

    def _check_expected_wait(self, client: str) -> None:
        own = len(self._waiting.get(client, ()))
        before = own + sum(min(len(turns), own + 1) for other, turns in self._waiting.items() if other != client)
        expected = (before + 1) * self._mean_seconds / self._slots
        too_long = expected - (inf if self._max_wait_seconds is None else self._max_wait_seconds)
        if too_long > 0:
            raise build_overloaded_error(QUEUE_TIMEOUT_MESSAGE, too_long)


def build_overloaded_error(message: str, seconds: float = 0.0) -> OverloadedError:
    wait = max(1, ceil(seconds))
    return OverloadedError(f"{message} Try again in {wait} second{'s' * (wait > 1)}.", retry_after=wait)
