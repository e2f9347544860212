"""Runs a server without a book whose answers wait: python -m tests.server.slow_server FOLDER WORKERS [PORT]

It creates a file in the folder for each question that it works on, and answers once the file `go` exists.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from fastapi import FastAPI

from bookbound.bootstrap.web_app import build_query_log
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.ports import QueryLog
from bookbound.domain.question import Question
from bookbound.domain.reply import PipelineEvent, Reply
from bookbound.server import uvicorn_server
from bookbound.server.app import create_app
from bookbound.server.query_log import NullQueryLog, record_question
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
WORKING = "working-*"


def make_settings(folder: Path) -> Settings:
    return Settings(index=folder / "index", rate_limits="off", query_log_key="0123456789abcdef", allowed_origins=("*",))


class SlowBackend(ScriptedBackend):
    """Logs each question and lets it wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ANSWER)
        self._folder = folder
        self.query_log: QueryLog = NullQueryLog()

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        with record_question(self.query_log, question, context.requester) as record_reply:
            await self._wait()
            return record_reply(ANSWER)

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        with record_question(self.query_log, question, context.requester) as record_reply:
            yield ANSWER.trace.retrieval
            await self._wait()
            yield record_reply(ANSWER)

    async def _wait(self) -> None:
        (self._folder / WORKING.replace("*", uuid4().hex)).touch()
        while not (self._folder / "go").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def create_slow_app(settings: Settings) -> FastAPI:
    backend = SlowBackend(settings.index.parent)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        backend.query_log = build_query_log(settings)
        yield
        await backend.query_log.close()

    return create_app(backend, settings, lifespan)


if __name__ == "__main__":
    listener = uvicorn_server.bind_socket("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    print(uvicorn_server.socket_url(listener), flush=True)
    settings, factory = make_settings(Path(sys.argv[1])), "tests.server.slow_server:create_slow_app"
    uvicorn_server.serve(listener, int(sys.argv[2]), settings, factory)
