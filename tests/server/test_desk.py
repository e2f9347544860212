"""A bounded number of questions at once, none of them lost, and no work for readers who left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import CURRENT_BOOK_REF, BookRef
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import IndexNotFoundError, OverloadedError, ServiceUnreachableError
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Embedder
from bookbound.domain.query_log_entry import QueryLogEntry, QueryStatus
from bookbound.domain.question import Question
from bookbound.server.admission import AdmissionController
from bookbound.server.book_pool import BookPool
from bookbound.server.query_log import NullQueryLog
from bookbound.settings import Settings

ASKED = Question("What is the reality gap?")


class Gatekeeper:
    """An examiner that holds every question until it is told to let go."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._examiner = pipeline.examiner
        self.open = asyncio.Event()
        self.inside = self.most = self.left = 0

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
            return await self._examiner.examine(question, passages)
        finally:
            self.inside -= 1
            self.left += 1


class Kept(NullQueryLog):
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[QueryLogEntry] = []
        self.closed = False

    def note(self, entry: QueryLogEntry) -> None:
        self.entries.append(entry)

    async def close(self) -> None:
        self.closed = True


async def settle() -> None:
    """Until nothing more happens by itself."""
    for _ in range(200):
        await asyncio.sleep(0.001)


def test_questions_beyond_the_queue_are_refused_at_once_and_the_others_all_answered(example_index: Path) -> None:
    async def crowd() -> None:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = AdmissionController(at_once=2, queue=3)
        async with desk.staffed(BookPool.of(replace(pipeline, examiner=gate))):
            waiting = [asyncio.create_task(desk.ask(ASKED)) for _ in range(5)]
            await settle()
            with pytest.raises(OverloadedError):
                await desk.ask(ASKED)
            with pytest.raises(OverloadedError):
                await desk.search(ASKED)
            gate.open.set()
            replies = await asyncio.gather(*waiting)
            assert len({reply.text for reply in replies}) == 1
            assert gate.most == 2
            assert (await desk.ask(ASKED)).text == replies[0].text

    asyncio.run(crowd())


def test_a_question_that_waits_too_long_for_its_turn_is_refused_and_frees_its_place_in_the_queue(
    example_index: Path,
) -> None:
    async def wait() -> None:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = AdmissionController(at_once=1, queue=1, patience=0.05)
        async with desk.staffed(BookPool.of(replace(pipeline, examiner=gate))):
            first = asyncio.create_task(desk.ask(ASKED))
            await settle()
            for _ in range(3):
                with pytest.raises(OverloadedError, match="begun in time"):
                    await desk.ask(ASKED)
            gate.open.set()
            said = (await first).text
            assert (await desk.ask(ASKED)).text == said

    asyncio.run(wait())


def test_many_questions_at_once_have_the_answers_they_have_alone(example_index: Path) -> None:
    async def together() -> None:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        desk = AdmissionController(at_once=8, queue=100)
        questions = [Question(f"What is {word}?") for word in ("QoS", "a URDF", "the ZMP", "SLAM", "PPO", "a topic")]
        async with desk.staffed(BookPool.of(pipeline)):
            alone = [(await desk.ask(question)).text for question in questions]
            assert [reply.text for reply in await asyncio.gather(*map(desk.ask, questions * 4))] == alone * 4

    asyncio.run(together())


def test_a_reader_who_leaves_frees_the_place_and_ends_the_work(example_index: Path) -> None:
    async def leave() -> None:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = AdmissionController(at_once=1, queue=0)
        async with desk.staffed(BookPool.of(replace(pipeline, examiner=gate))):
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


def test_whoever_asks_often_whether_it_is_ready_costs_one_call_of_the_embedder(example_index: Path) -> None:
    class Counted:
        def __init__(self, embedder: Embedder) -> None:
            self._embedder, self.calls = embedder, 0

        async def embed(self, texts: Sequence[str]) -> object:
            self.calls += 1
            if self.calls == 1:
                raise ServiceUnreachableError("down", service="embeddings")
            return await self._embedder.embed(texts)

    async def probe() -> int:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        counted = Counted(pipeline.embedder)
        desk = AdmissionController(at_once=1, queue=1)
        async with desk.staffed(BookPool.of(replace(pipeline, embedder=counted))):  # type: ignore[arg-type]
            with pytest.raises(ServiceUnreachableError):
                await desk.checks()["embedder"]()
            for _ in range(3):
                await desk.checks()["embedder"]()
        return counted.calls

    assert asyncio.run(probe()) == 2  # the one that failed is not remembered


def test_a_desk_without_a_book_says_so() -> None:
    with pytest.raises(IndexNotFoundError, match="No book is open yet"):
        AdmissionController(1, 1).manifest  # noqa: B018


def test_each_question_is_noted_once_however_it_ends_and_a_search_is_none(example_index: Path) -> None:
    journal = Kept()

    async def ask() -> None:
        pipeline = await bootstrap.pipeline(Settings(index=example_index))
        gate = Gatekeeper(pipeline)
        desk = AdmissionController(at_once=1, queue=0)
        async with desk.noted(journal):
            with pytest.raises(IndexNotFoundError):
                await desk.ask(replace(ASKED, text="Before there is a book?"))
            async with desk.staffed(BookPool.of(replace(pipeline, examiner=gate))):
                leaver = asyncio.create_task(desk.ask(replace(ASKED, text="Who leaves?")))
                await settle()
                with pytest.raises(OverloadedError):
                    await desk.ask(replace(ASKED, text="Is there room?"))
                leaver.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await leaver
                gate.open.set()
                await desk.search(ASKED)
                await desk.ask(ASKED)
                steps = desk.steps(replace(ASKED, text="Who leaves in the middle?"))
                await anext(steps)
                await steps.aclose()
                async for _ in desk.steps(replace(ASKED, text="What is a URDF?")):
                    pass
            assert not journal.closed
        assert journal.closed

    asyncio.run(ask())
    assert [(entry.question, entry.status is QueryStatus.FAILED) for entry in journal.entries] == [
        ("Before there is a book?", True),
        ("Is there room?", True),
        ("Who leaves?", True),
        (ASKED.text, False),
        ("Who leaves in the middle?", True),
        ("What is a URDF?", False),
    ]


def test_a_question_is_noted_with_the_edition_that_is_open_also_where_there_is_no_room(example_index: Path) -> None:
    journal, newest = Kept(), BookRef("robots", "2.0")

    async def ask() -> None:
        pipeline = replace(await bootstrap.pipeline(Settings(index=example_index)), edition=newest.edition)

        async def open_(volume: BookRef, parts: Pipeline | None) -> Pipeline:
            return pipeline if volume.book != "all" else replace(pipeline, edition="")

        async def published(volume: BookRef) -> str:
            return ""

        desk, shelf = AdmissionController(at_once=1, queue=0), BookPool(open_, published, BookRef("robots"))
        async with desk.noted(journal), desk.staffed(shelf):
            for volume in (None, BookRef("all")):
                await shelf.ready(volume)
                CURRENT_BOOK_REF.set(volume)
                await desk.ask(ASKED)
            assert {volume: book.title for volume, book in desk.standing().books.items()} == {
                newest: pipeline.index.manifest.title,
                BookRef("all"): pipeline.index.manifest.title,
            }
            CURRENT_BOOK_REF.set(None)
            steps = desk.steps(ASKED)
            await anext(steps)
            with pytest.raises(OverloadedError):
                await desk.ask(ASKED)
            await steps.aclose()

    asyncio.run(ask())
    assert [entry.volume for entry in journal.entries] == [newest, BookRef("all"), newest, newest]
    assert {entry.status for entry in journal.entries[2:]} == {QueryStatus.FAILED}
