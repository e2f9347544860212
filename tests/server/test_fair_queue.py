"""Tests that clients take turns, none keeps others out, and a question that would wait too long is told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from bookbound.domain.errors import OverloadedError
from bookbound.server.admission import FairQueue


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Clients:
    """Asks for slots in the name of clients and notes whose question runs."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue, self.order, self._acquired = queue, list[str](), list[float]()

    async def ask(self, client: str) -> None:
        self._acquired.append(await self.queue.acquire(client))
        self.order.append(client)

    async def start(self, *clients: str) -> list[asyncio.Task[None]]:
        """Each client asks, one after the other."""
        tasks = []
        for client in clients:
            tasks.append(asyncio.create_task(self.ask(client)))
            await settle()
        return tasks

    async def end(self, count: int = 1) -> None:
        for _ in range(count):
            self.queue.release(self._acquired.pop(0))
            await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_a_client_with_one_question_waits_for_one_of_a_client_with_many() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=64))
        await clients.start("greedy", *["greedy"] * 15, "polite")
        await clients.end(17)
        assert clients.order == ["greedy", "greedy", "polite", *["greedy"] * 14]
        assert (clients.queue.running, clients.queue.waiting) == (0, 0)

    run(work())


def test_questions_of_one_client_keep_their_order_and_clients_take_turns() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=64))
        await clients.start("a", "a", "a", "b", "b", "c")
        await clients.end(6)
        assert clients.order == ["a", "a", "b", "c", "a", "b"]

    run(work())


def test_a_full_queue_makes_room_for_a_client_that_has_fewer_questions_in_it() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=4))
        greedy = await clients.start(*["greedy"] * 5)
        (polite,) = await clients.start("polite")
        assert [task.done() for task in greedy] == [True, False, False, False, True]
        with pytest.raises(OverloadedError, match=r"Too many questions are being answered\. Try again in 1 second"):
            await greedy[-1]
        with pytest.raises(OverloadedError):
            await clients.ask("greedy")
        await clients.start("polite")
        assert clients.queue.waiting == 4
        with pytest.raises(OverloadedError):  # it has as many as the greedy one now
            await clients.ask("polite")
        await clients.end(2)
        assert polite.done()

    run(work())


def test_a_question_that_would_wait_too_long_is_rejected_when_it_arrives() -> None:
    async def work() -> None:
        clock = Clock()
        clients = Clients(FairQueue(slots=2, max_waiting=64, max_wait_seconds=30, now=clock))
        await clients.start("a")
        clock.now += 20
        await clients.end()  # a question takes 20 s, so two slots give one every 10 s
        await clients.start("a", "a")
        waiting = await clients.start("a", "a", "a")
        with pytest.raises(OverloadedError, match=r"in time\. Try again in 10 seconds") as error:
            await clients.ask("a")
        assert error.value.retry_after == 10
        waiting += await clients.start("b")  # whose turn comes before the third question of a
        assert not any(task.done() for task in waiting)

    run(work())


def test_quick_answers_make_room_for_more_questions_to_wait() -> None:
    async def work() -> None:
        clock = Clock()
        clients = Clients(FairQueue(slots=1, max_waiting=64, max_wait_seconds=30, now=clock))
        await clients.start("a")
        clock.now += 100
        await clients.end()
        await clients.start("a")
        with pytest.raises(OverloadedError):
            await clients.ask("a")
        await clients.end()
        for _ in range(30):
            await clients.start("a")
            await clients.end()
        await clients.start("a", "a", "a")
        assert clients.queue.waiting == 2

    run(work())


def test_a_question_that_is_cancelled_gives_its_place_and_its_slot_on() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=2))
        _, first, second = await clients.start("a", "b", "c")
        first.cancel()
        await settle()
        assert clients.queue.waiting == 1
        (third,) = await clients.start("b")
        clients.queue.release(0.0)
        second.cancel()  # in the moment in which it got the slot
        await settle()
        assert third.done()
        assert not third.cancelled()
        assert (clients.queue.running, clients.queue.waiting) == (1, 0)

    run(work())


def test_room_is_made_where_a_question_is_cancelled_in_the_same_moment() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=3))
        greedy = await clients.start(*["greedy"] * 4)
        polite = asyncio.create_task(clients.ask("polite"))
        greedy[-1].cancel()  # the other task runs before this one leaves the queue
        await settle()
        await clients.end(2)
        assert polite.done()
        assert not polite.exception()

    run(work())


def test_a_question_that_waited_too_long_leaves_the_queue() -> None:
    async def work() -> None:
        clients = Clients(FairQueue(slots=1, max_waiting=1, max_wait_seconds=0.001))
        await clients.start("a")
        for _ in range(2):
            with pytest.raises(OverloadedError, match=r"No answer could be started in time\. Try again in 1 second"):
                await clients.ask("a")
        assert (clients.queue.running, clients.queue.waiting) == (1, 0)

    run(work())
