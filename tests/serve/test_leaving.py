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
from tests.serve.inside import inside

from bookbound.dialogue import Question, Reply
from bookbound.entry import Entry, Status
from bookbound.record.noting import Silent
from bookbound.serve.app import application
from bookbound.serve.desk import BoundedDesk
from bookbound.serve.shelf import Shelf
from bookbound.settings import Settings
from bookbound.testing import MANIFEST, answer, passage

ANSWER = answer([("It walks.", passage("It walks."))])
BODIES = {"/v1/answers": "question", "/ask": "question", "/chat": "question", "/api/query": "query"}


class Kept(Silent):
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def note(self, entry: Entry) -> None:
        self.entries.append(entry)


class Slow:
    """Answers a question that is patient, and never comes to an end with any other."""

    index, edition = SimpleNamespace(manifest=MANIFEST), ""

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
    desk = BoundedDesk(at_once=1, queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk.noted(journal), desk.staffed(Shelf.of(pipeline)):  # type: ignore[arg-type]
            yield

    def body(words: str) -> bytes:
        return json.dumps({BODIES[path]: words}).encode()

    with inside(application(desk, Settings(limits="off"), lifespan)) as running:
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
        "Hasty question?": Status.FAILED,
        "Patient, but late?": Status.FAILED,
        "Patient, and in time?": Status.ANSWERED,
    }


def test_who_stays_has_the_whole_answer_on_a_line_that_is_kept_open() -> None:
    desk = BoundedDesk(at_once=1, queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk.staffed(Shelf.of(Slow())):  # type: ignore[arg-type]
            yield

    app = application(desk, Settings(limits="off"), lifespan)
    with inside(app) as running, httpx.Client(base_url=running.address) as client:
        for number in range(3):
            told = client.post("/v1/answers", json={"question": f"Patient {number}?"})
            assert (told.status_code, told.json()["answer"]) == (200, "It walks.")
