"""A bounded number of questions at once, none of them lost, and no work for readers who left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound import wire
from bookbound.ask import Pipeline
from bookbound.book import Passage
from bookbound.dialogue import Question
from bookbound.errors import Busy, NoIndex
from bookbound.finding import Examination
from bookbound.serve.desk import BoundedDesk
from bookbound.settings import Settings

ASKED = Question("What is the reality gap?")


class Gatekeeper:
    """An examiner that holds every question until it is told to let go."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._examiner = pipeline.examiner
        self.open = asyncio.Event()
        self.inside = self.most = self.left = 0

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
            return await self._examiner.examine(question, passages)
        finally:
            self.inside -= 1
            self.left += 1


async def settle() -> None:
    """Until nothing more happens by itself."""
    for _ in range(200):
        await asyncio.sleep(0.001)


def test_questions_beyond_the_queue_are_refused_at_once_and_the_others_all_answered(example_index: Path) -> None:
    async def crowd() -> None:
        pipeline = await wire.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = BoundedDesk(at_once=2, queue=3)
        async with desk.staffed(replace(pipeline, examiner=gate)):
            waiting = [asyncio.create_task(desk.ask(ASKED)) for _ in range(5)]
            await settle()
            with pytest.raises(Busy):
                await desk.ask(ASKED)
            with pytest.raises(Busy):
                await desk.search(ASKED)
            gate.open.set()
            replies = await asyncio.gather(*waiting)
            assert len({reply.text for reply in replies}) == 1
            assert gate.most == 2
            assert (await desk.ask(ASKED)).text == replies[0].text

    asyncio.run(crowd())


def test_many_questions_at_once_have_the_answers_they_have_alone(example_index: Path) -> None:
    async def together() -> None:
        pipeline = await wire.pipeline(Settings(index=example_index))
        desk = BoundedDesk(at_once=8, queue=100)
        questions = [
            Question(f"What is {word}?") for word in ("QoS", "a URDF", "the ZMP", "SLAM", "PPO", "a topic")
        ] * 5
        async with desk.staffed(pipeline):
            alone = [(await desk.ask(question)).text for question in questions]
            assert [reply.text for reply in await asyncio.gather(*map(desk.ask, questions))] == alone

    asyncio.run(together())


def test_a_reader_who_leaves_frees_the_place_and_ends_the_work(example_index: Path) -> None:
    async def leave() -> None:
        pipeline = await wire.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = BoundedDesk(at_once=1, queue=0)
        async with desk.staffed(replace(pipeline, examiner=gate)):
            leaver = asyncio.create_task(desk.ask(ASKED))
            await settle()
            leaver.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaver
            assert (gate.inside, gate.left) == (0, 1)
            gate.open.set()
            steps = desk.steps(ASKED)
            await anext(steps)
            await steps.aclose()
            assert (await desk.ask(ASKED)).sentences  # type: ignore[union-attr]

    asyncio.run(leave())


def test_a_desk_without_a_book_says_so() -> None:
    with pytest.raises(NoIndex, match="No book is open yet"):
        BoundedDesk(1, 1).manifest  # noqa: B018
