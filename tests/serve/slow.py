"""A server without a book, whose answers wait until they may go on: python -m tests.serve.slow FOLDER WORKERS

In the folder it leaves a file for each question that it works on, and waits for the file `go`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from fastapi import FastAPI

from bookbound.ask import Step
from bookbound.dialogue import Question, Reply
from bookbound.ports import Journal
from bookbound.record.noting import Silent, noting
from bookbound.serve import server
from bookbound.serve.app import application
from bookbound.settings import Settings
from bookbound.testing import ScriptedDesk, answer, passage
from bookbound.wire.recording import journal

ANSWER = answer([("It walks.", passage("It walks."))])
FOLDER = "SLOW_FOLDER"
WORKING = "working-*"


def chosen(folder: Path) -> Settings:
    return Settings(index=folder / "index", limits="off", log_key="0123456789abcdef")


class SlowDesk(ScriptedDesk):
    """Notes what becomes of each question, and lets it wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ANSWER)
        self._folder = folder
        self.journal: Journal = Silent()

    async def ask(self, question: Question) -> Reply:
        with noting(self.journal, question) as reached:
            await self._wait()
            return reached(ANSWER)

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        with noting(self.journal, question) as reached:
            yield ANSWER.trace.retrieval
            await self._wait()
            yield reached(ANSWER)

    async def _wait(self) -> None:
        (self._folder / WORKING.replace("*", uuid4().hex)).touch()
        while not (self._folder / "go").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def web() -> FastAPI:
    folder = Path(os.environ[FOLDER])
    desk = SlowDesk(folder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.journal = journal(chosen(folder))
        yield
        await desk.journal.close()

    return application(desk, chosen(folder), lifespan)


if __name__ == "__main__":
    os.environ[FOLDER] = sys.argv[1]
    taken = server.bound("127.0.0.1", 0)
    print(server.address(taken), flush=True)
    server.serve(taken, int(sys.argv[2]), chosen(Path(sys.argv[1])), "tests.serve.slow:web")
