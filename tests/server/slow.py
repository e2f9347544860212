"""A server without a book, whose answers wait until they may go on: python -m tests.server.slow FOLDER WORKERS

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

from bookbound.answering.pipeline import PipelineEvent
from bookbound.bootstrap.web_app import build_query_log
from bookbound.domain.ports import QueryLog
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.server import uvicorn_server
from bookbound.server.app import create_app
from bookbound.server.query_log import NullQueryLog, record_question
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
FOLDER = "SLOW_FOLDER"
WORKING = "working-*"


def chosen(folder: Path) -> Settings:
    return Settings(index=folder / "index", limits="off", log_key="0123456789abcdef")


class SlowDesk(ScriptedBackend):
    """Notes what becomes of each question, and lets it wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ANSWER)
        self._folder = folder
        self.journal: QueryLog = NullQueryLog()

    async def ask(self, question: Question) -> Reply:
        with record_question(self.journal, question) as reached:
            await self._wait()
            return reached(ANSWER)

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        with record_question(self.journal, question) as reached:
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
        desk.journal = build_query_log(chosen(folder))
        yield
        await desk.journal.close()

    return create_app(desk, chosen(folder), lifespan)


if __name__ == "__main__":
    os.environ[FOLDER] = sys.argv[1]
    taken = uvicorn_server.bind_socket("127.0.0.1", 0)
    print(uvicorn_server.socket_url(taken), flush=True)
    uvicorn_server.serve(taken, int(sys.argv[2]), chosen(Path(sys.argv[1])), "tests.server.slow:web")
