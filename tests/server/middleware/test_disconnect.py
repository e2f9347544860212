"""A client disconnects before its reply, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from tests.server.list_query_log import ListQueryLog
from tests.server.thread_server import run_in_thread

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import BookRef
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryStatus, StageClock
from bookbound.server.admission import AdmissionController
from bookbound.server.app import create_app
from bookbound.server.book_pool import BookPool
from bookbound.settings import Settings
from bookbound.testing import ScriptedPipeline, make_answer, make_passage

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
BODIES = {"/v1/answers": "question", "/ask": "question", "/chat": "question", "/api/query": "query"}


class SlowPipeline(ScriptedPipeline):
    """Answers patient questions, and never finishes any other."""

    def __init__(self) -> None:
        super().__init__(ANSWER)
        self.working, self.cancelled = threading.Event(), threading.Event()

    async def ask(self, question: Question, clock: StageClock | None = None, on_event: object = None) -> Reply:
        if question.text.startswith("Patient"):
            return ANSWER
        self.working.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        raise AssertionError


class ScriptedPool(BookPool):
    """A pool whose pipeline is scripted."""

    def __init__(self, pipeline: ScriptedPipeline) -> None:
        self._scripted = pipeline

    @contextmanager
    def use(self, ref: BookRef | None = None) -> Iterator[Pipeline]:
        yield cast(Pipeline, self._scripted)

    def resolve(self, ref: BookRef | None = None) -> BookRef:
        return BookRef()

    async def follow(self) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize("path", BODIES)
def test_a_client_that_disconnects_frees_its_slot_and_is_logged_as_failed(path: str) -> None:
    pipeline, query_log = SlowPipeline(), ListQueryLog()
    admission = AdmissionController(max_concurrency=1, max_queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with admission.log_queries(query_log), admission.serve_books(ScriptedPool(pipeline)):
            yield

    def body(words: str) -> bytes:
        return json.dumps({BODIES[path]: words}).encode()

    with run_in_thread(create_app(admission, Settings(rate_limits="off"), lifespan)) as running:
        ask = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {{}}\r\n\r\n"
        with socket.create_connection(running.address) as client:
            sent = body("Hasty question?")
            client.sendall(ask.format(len(sent)).encode() + sent)
            assert pipeline.working.wait(30)
            json_ = {"Content-Type": "application/json"}
            busy = httpx.post(running.url + path, content=body("Patient, but late?"), headers=json_)
            assert busy.status_code == 503
        assert pipeline.cancelled.wait(30)
        freed = httpx.post(running.url + path, content=body("Patient, and in time?"), headers=json_)
        assert freed.status_code == 200
    logged = {entry.question: entry.status for entry in query_log.entries}
    assert logged == {
        "Hasty question?": QueryStatus.FAILED,
        "Patient, but late?": QueryStatus.FAILED,
        "Patient, and in time?": QueryStatus.ANSWERED,
    }


def test_a_client_that_stays_gets_whole_answers_over_one_connection() -> None:
    admission = AdmissionController(max_concurrency=1, max_queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with admission.serve_books(ScriptedPool(SlowPipeline())):
            yield

    app = create_app(admission, Settings(rate_limits="off"), lifespan)
    with run_in_thread(app) as running, httpx.Client(base_url=running.url) as client:
        for number in range(3):
            reply = client.post("/v1/answers", json={"question": f"Patient {number}?"})
            assert (reply.status_code, reply.json()["answer"]) == (200, "It walks.")
