"""Tests that a limited number of questions runs at once, none is lost, and a disconnect ends the work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.list_query_log import ListQueryLog
from tests.server.pipeline_pool import open_pipeline_pool

from bookbound import bootstrap
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.pipeline import Pipeline
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import BookRef
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import BookNotFoundError, IndexNotFoundError, OverloadedError, ServiceUnreachableError
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Embedder
from bookbound.domain.question import NO_DEADLINE, Deadline, Question, QuestionPart, Retrieval
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryStatus, Requester
from bookbound.server.admission import AdmissionController
from bookbound.server.book_pool import BookPool
from bookbound.settings import Settings

QUESTION, CONTEXT = Question("What is the reality gap?"), RequestContext()


class BlockingAssessor:
    """An assessor that blocks every question until `open` is set."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._assessor = pipeline.engine.assessor
        self.open = asyncio.Event()
        self.running = self.most = self.ended = 0

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.open.wait()
            return await self._assessor.assess(part, passages, deadline)
        finally:
            self.running -= 1
            self.ended += 1


async def open_blocking(index: Path) -> tuple[BlockingAssessor, BookPool]:
    pipeline = await bootstrap.open_pipeline(Settings(index=index, reader="fast"))
    assessor = BlockingAssessor(pipeline)
    return assessor, await open_pipeline_pool(replace(pipeline, engine=replace(pipeline.engine, assessor=assessor)))


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(200):
        await asyncio.sleep(0.001)


def test_questions_beyond_the_queue_are_rejected_at_once_and_the_others_answered(example_index: Path) -> None:
    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=2, max_queue=3)
        async with admission.serve_books(pool):
            waiting = [asyncio.create_task(admission.ask(QUESTION, CONTEXT)) for _ in range(5)]
            await settle()
            with pytest.raises(OverloadedError):
                await admission.ask(QUESTION, CONTEXT)
            with pytest.raises(OverloadedError):
                await admission.search(QUESTION, CONTEXT)
            assessor.open.set()
            replies = await asyncio.gather(*waiting)
            assert len({reply.text for reply in replies}) == 1
            assert assessor.most == 2
            assert (await admission.ask(QUESTION, CONTEXT)).text == replies[0].text

    asyncio.run(run())


def test_a_question_that_waits_too_long_is_rejected_and_frees_its_place_in_the_queue(example_index: Path) -> None:
    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=1, max_queue=1, max_wait_seconds=0.05)
        async with admission.serve_books(pool):
            first = asyncio.create_task(admission.ask(QUESTION, CONTEXT))
            await settle()
            for _ in range(3):
                with pytest.raises(OverloadedError, match="started in time"):
                    await admission.ask(QUESTION, CONTEXT)
            assessor.open.set()
            text = (await first).text
            assert (await admission.ask(QUESTION, CONTEXT)).text == text

    asyncio.run(run())


def test_a_client_whose_questions_fill_the_queue_makes_room_for_another(example_index: Path) -> None:
    def send_from(address: str, key: str | None = None) -> asyncio.Task[Reply]:
        context = RequestContext(requester=Requester(address=address), key_id=key)
        return asyncio.create_task(admission.ask(QUESTION, context))

    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        async with admission.serve_books(pool):
            greedy = []
            for last in range(5):
                greedy.append(send_from(f"2001:db8::{last}"))  # one household
                await settle()
            polite = [send_from("192.0.2.7"), send_from("2001:db8::1", "a key of its own")]
            await settle()
            assert [task.done() for task in greedy] == [False, False, False, True, True]
            assessor.open.set()
            assert len({(await task).text for task in (*greedy[:3], *polite)}) == 1
            for task in greedy[3:]:
                with pytest.raises(OverloadedError):
                    await task

    admission = AdmissionController(max_concurrency=1, max_queue=4)
    asyncio.run(run())


def test_the_wait_for_a_free_slot_is_a_stage_of_its_own_and_part_of_the_total(example_index: Path) -> None:
    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=1, max_queue=1)
        async with admission.serve_books(pool):
            waiting = [asyncio.create_task(admission.ask(QUESTION, RequestContext())) for _ in range(2)]
            await settle()
            await asyncio.sleep(0.05)
            assessor.open.set()
            first, second = [reply.trace for reply in await asyncio.gather(*waiting)]
        assert second.milliseconds["queue"] >= 50
        assert first.milliseconds["queue"] < second.milliseconds["queue"]
        assert second.total_ms >= second.milliseconds["queue"] + second.milliseconds["judge"]

    asyncio.run(run())


def test_a_full_queue_says_how_many_seconds_to_wait(example_index: Path) -> None:
    async def run() -> None:
        _, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=1, max_queue=0)
        async with admission.serve_books(pool):
            first = asyncio.create_task(admission.ask(QUESTION, CONTEXT))
            await settle()
            with pytest.raises(OverloadedError, match="Try again in 1 second") as error:
                await admission.ask(QUESTION, CONTEXT)
            assert error.value.retry_after == 1
            first.cancel()

    asyncio.run(run())


def test_questions_that_run_together_get_the_answers_they_get_alone(example_index: Path) -> None:
    async def run() -> None:
        pipeline = await bootstrap.open_pipeline(Settings(index=example_index, reader="fast", answer_threshold=0.0))
        admission = AdmissionController(max_concurrency=8, max_queue=100)
        questions = [Question(f"What is {word}?") for word in ("QoS", "a URDF", "the ZMP", "SLAM", "PPO", "a topic")]
        async with admission.serve_books(await open_pipeline_pool(pipeline)):
            alone = [(await admission.ask(question, CONTEXT)).text for question in questions]
            together = await asyncio.gather(*(admission.ask(question, CONTEXT) for question in questions * 2))
            assert [reply.text for reply in together] == alone * 2

    asyncio.run(run())


def test_a_client_that_disconnects_frees_the_slot_and_ends_the_work(example_index: Path) -> None:
    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=1, max_queue=0)
        async with admission.serve_books(pool):
            task = asyncio.create_task(admission.ask(QUESTION, CONTEXT))
            await settle()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (assessor.running, assessor.ended) == (0, 1)
            assessor.open.set()
            events = admission.stream(QUESTION, CONTEXT)
            await anext(events)
            await events.aclose()
            assert (await admission.ask(QUESTION, CONTEXT)).sentences  # type: ignore[union-attr]

    asyncio.run(run())


def test_frequent_readiness_checks_cost_one_call_of_the_embedder(example_index: Path) -> None:
    class CountingEmbedder:
        def __init__(self, embedder: Embedder) -> None:
            self._embedder, self.calls = embedder, 0

        async def embed(self, texts: Sequence[str]) -> object:
            self.calls += 1
            if self.calls == 1:
                raise ServiceUnreachableError("down", service="embeddings")
            return await self._embedder.embed(texts)

    async def run() -> int:
        pipeline = await bootstrap.open_pipeline(Settings(index=example_index, reader="fast"))
        embedder = CountingEmbedder(pipeline.engine.embedder)
        engine = replace(pipeline.engine, embedder=embedder)  # type: ignore[arg-type]
        admission = AdmissionController(max_concurrency=1, max_queue=1)
        async with admission.serve_books(await open_pipeline_pool(replace(pipeline, engine=engine))):
            with pytest.raises(ServiceUnreachableError):
                await admission.health_checks()["embedder"]()
            for _ in range(3):
                await admission.health_checks()["embedder"]()
        return embedder.calls

    assert asyncio.run(run()) == 2  # a failure is not remembered


def test_without_a_book_the_error_says_so() -> None:
    with pytest.raises(IndexNotFoundError, match="No book is open yet"):
        asyncio.run(AdmissionController(1, 1).manifest(CONTEXT))


def test_each_question_is_logged_once_however_it_ends_and_a_search_is_not(example_index: Path) -> None:
    query_log = ListQueryLog()

    async def run() -> None:
        assessor, pool = await open_blocking(example_index)
        admission = AdmissionController(max_concurrency=1, max_queue=0)
        async with admission.log_queries(query_log):
            with pytest.raises(IndexNotFoundError):
                await admission.ask(Question("Before there is a book?"), CONTEXT)
            async with admission.serve_books(pool):
                task = asyncio.create_task(admission.ask(Question("Who disconnects?"), CONTEXT))
                await settle()
                with pytest.raises(OverloadedError):
                    await admission.ask(Question("Is there room?"), CONTEXT)
                with pytest.raises(BookNotFoundError):
                    await admission.ask(Question("To which book?"), RequestContext(book=BookRef("nowhere")))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assessor.open.set()
                await admission.search(QUESTION, CONTEXT)
                await admission.ask(QUESTION, CONTEXT)
                events = admission.stream(Question("Who disconnects in the middle?"), CONTEXT)
                await anext(events)
                await events.aclose()
                async for _ in admission.stream(Question("What is a URDF?"), CONTEXT):
                    pass
            assert not query_log.closed
        assert query_log.closed

    asyncio.run(run())
    assert [(entry.question, entry.status is QueryStatus.FAILED) for entry in query_log.entries] == [
        ("Before there is a book?", True),
        ("Is there room?", True),
        ("Who disconnects?", True),
        (QUESTION.text, False),
        ("Who disconnects in the middle?", True),
        ("What is a URDF?", False),
    ]


def test_a_question_is_logged_with_the_open_edition_even_if_it_is_rejected(example_index: Path) -> None:
    query_log, newest = ListQueryLog(), BookRef("robots", "2.0")

    async def run() -> None:
        pipeline = await bootstrap.open_pipeline(Settings(index=example_index, reader="fast"))
        title = pipeline.book.manifest.title

        async def open_engine() -> Engine:
            return pipeline.engine

        async def open_book(ref: BookRef, engine: Engine) -> OpenBook:
            return replace(pipeline.book, edition="" if ref.book == "all" else newest.edition)

        async def find_version(ref: BookRef) -> str:
            return ""

        admission = AdmissionController(max_concurrency=1, max_queue=0)
        pool = BookPool(open_engine, open_book, find_version, BookRef("robots"))
        async with admission.log_queries(query_log), admission.serve_books(pool):
            await pool.ensure_open()
            for book in (None, BookRef("all")):
                await admission.ask(QUESTION, RequestContext(book=book))
            books = {ref: book.title for ref, book in admission.queue_stats().books.items()}
            assert books == {newest: title, BookRef("all"): title}
            events = admission.stream(QUESTION, CONTEXT)
            await anext(events)
            with pytest.raises(OverloadedError):
                await admission.ask(QUESTION, CONTEXT)
            await events.aclose()

    asyncio.run(run())
    assert [entry.book_ref for entry in query_log.entries] == [newest, BookRef("all"), newest, newest]
    assert {entry.status for entry in query_log.entries[2:]} == {QueryStatus.FAILED}


def test_a_client_that_does_not_read_its_stream_gives_its_slot_back(example_index: Path) -> None:
    async def run() -> None:
        pool = await open_pipeline_pool(await bootstrap.open_pipeline(Settings(index=example_index)))
        admission, query_log = AdmissionController(max_concurrency=1, max_queue=0), ListQueryLog()
        async with admission.log_queries(query_log), admission.serve_books(pool):
            async with aclosing(admission.stream(QUESTION, CONTEXT)) as events:
                first = await anext(events)
                while not query_log.entries:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await settle()
                reply = await admission.ask(QUESTION, CONTEXT)
                rest = [event async for event in events]
            assert isinstance(first, Retrieval)
            assert (rest[-1].text, admission.queue_stats().running) == (reply.text, 0)  # type: ignore[union-attr]

    asyncio.run(asyncio.wait_for(run(), 60))
