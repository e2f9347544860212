"""Opens an indexed book for synchronous code: ask questions and search passages."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from bookbound.answering.pipeline import PassageFormatter, Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import BookIndexError
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import AnswerScope, Question, Retrieval
from bookbound.domain.reply import Reply

T = TypeVar("T")


class CoroutineRunner(Protocol):
    """Carries out what is asynchronous for code that waits."""

    def run(self, coro: Coroutine[Any, Any, T], /) -> T: ...

    def close(self) -> None: ...


class Book:
    """An indexed book that is open for questions, for code that does not await."""

    def __init__(self, pipeline: Pipeline, runner: CoroutineRunner) -> None:
        self.pipeline = pipeline
        self._runner = runner
        self._closed = False

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.index.manifest

    def ask(
        self,
        question: str,
        *,
        selection: str | None = None,
        k: int = 5,
        threshold: float = 0.0,
        fall_back: bool = True,
    ) -> Reply:
        """An answer with its citations, from the selection alone where one is given, or a refusal.

        Where no passage is as similar to the question as `threshold`, it is a refusal. Where a language model fails to
        write, the answer is in the book's own words, unless `fall_back` is false: then the trouble is raised.
        """
        asked = Question(question, selection, AnswerScope.SELECTION, k, threshold, fall_back)
        self._check_open()
        return self._runner.run(self.pipeline.ask(asked))

    def converse(
        self, question: str, briefing: PassageFormatter, *, k: int = 5, threshold: float = 0.0, must_search: bool = True
    ) -> Reply:
        """The same by way of a language model that searches by itself, where there is one, and reads what it is told.

        A search gives it `k` passages at most. Unless it must search it may say that it need not, which is a refusal.
        Where it fails, the trouble is raised.
        """
        asked = Question(question, k=k, threshold=threshold)
        self._check_open()
        return self._runner.run(self.pipeline.converse(asked, briefing, must_search=must_search))

    def search(self, words: str, *, k: int = 5) -> tuple[Passage, ...]:
        """The best passages for some words, without a judgement."""
        return self.retrieve(words, k=k).passages

    def retrieve(self, words: str, *, k: int = 5) -> Retrieval:
        """The same, with the time it took to find them."""
        sought = Question(words, k=k)
        self._check_open()
        return self._runner.run(self.pipeline.search(sought))

    def close(self) -> None:
        """Let go of the index; a book that is closed already stays closed."""
        if not self._closed:
            self._closed = True
            self._runner.run(self.pipeline.close())
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise BookIndexError("This book was closed. Open it again to ask it: bookbound.open()")


class EventLoopThread:
    """A thread with an event loop of its own: its callers wait, from any thread, and from within another loop."""

    def __init__(self) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._ended = asyncio.Event()
        self._thread = Thread(target=lambda: asyncio.run(self._work(started)), name="bookbound", daemon=True)
        self._thread.start()
        self._loop = started.result()

    def run(self, coro: Coroutine[Any, Any, T], /) -> T:
        """What comes of the coroutine; whoever is interrupted while waiting takes it back."""
        waiting = asyncio.run_coroutine_threadsafe(coro, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def close(self) -> None:
        """End the loop once all that was taken back has come to its end."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def _work(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._ended.wait()
