"""A client that goes away before its reply, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from tests.server.inside import inside

from bookbound.domain.query_log_entry import QueryLogEntry, QueryStatus
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.server.admission import AdmissionController
from bookbound.server.app import create_app
from bookbound.server.book_pool import BookPool
from bookbound.server.query_log import NullQueryLog
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST, make_answer, make_passage

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
BODIES = {"/v1/answers": "question", "/ask": "question", "/chat": "question", "/api/query": "query"}


class Kept(NullQueryLog):
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[QueryLogEntry] = []

    def note(self, entry: QueryLogEntry) -> None:
        self.entries.append(entry)


class Slow:
    """Answers a question that is patient, and never comes to an end with any other."""

    index, edition = SimpleNamespace(manifest=SCRIPTED_MANIFEST), ""

    def __init__(self) -> None:
        self.working, self.broken_off = threading.Event(), threading.Event()

    async def ask(self, question: Question) -> Reply:
        if question.text.startswith("Patient"):
            return ANSWER
        self.working.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off.set()
        raise AssertionError

    async def close(self) -> None:
        """There is nothing to let go of."""


@pytest.mark.parametrize("path", BODIES)
def test_who_leaves_ends_the_work_frees_the_place_and_is_logged_as_broken_off(path: str) -> None:
    pipeline, journal = Slow(), Kept()
    desk = AdmissionController(at_once=1, queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk.noted(journal), desk.staffed(BookPool.of(pipeline)):  # type: ignore[arg-type]
            yield

    def body(words: str) -> bytes:
        return json.dumps({BODIES[path]: words}).encode()

    with inside(create_app(desk, Settings(limits="off"), lifespan)) as running:
        ask = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {{}}\r\n\r\n"
        with socket.create_connection(running.place) as leaver:
            sent = body("Hasty question?")
            leaver.sendall(ask.format(len(sent)).encode() + sent)
            assert pipeline.working.wait(30)
            json_ = {"Content-Type": "application/json"}
            busy = httpx.post(running.address + path, content=body("Patient, but late?"), headers=json_)
            assert busy.status_code == 503
        assert pipeline.broken_off.wait(30)
        freed = httpx.post(running.address + path, content=body("Patient, and in time?"), headers=json_)
        assert freed.status_code == 200
    noted = {entry.question: entry.status for entry in journal.entries}
    assert noted == {
        "Hasty question?": QueryStatus.FAILED,
        "Patient, but late?": QueryStatus.FAILED,
        "Patient, and in time?": QueryStatus.ANSWERED,
    }


def test_who_stays_has_the_whole_answer_on_a_line_that_is_kept_open() -> None:
    desk = AdmissionController(at_once=1, queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk.staffed(BookPool.of(Slow())):  # type: ignore[arg-type]
            yield

    app = create_app(desk, Settings(limits="off"), lifespan)
    with inside(app) as running, httpx.Client(base_url=running.address) as client:
        for number in range(3):
            told = client.post("/v1/answers", json={"question": f"Patient {number}?"})
            assert (told.status_code, told.json()["answer"]) == (200, "It walks.")
