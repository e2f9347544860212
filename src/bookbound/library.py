"""Opens an indexed book for synchronous code: ask questions and search passages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Protocol, Self, TypeVar

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import BookIndexError, InvalidInputError
from bookbound.domain.judgement import Judgement
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import PassageFormatter
from bookbound.domain.question import AnswerScope, Question, Retrieval, Turn
from bookbound.domain.reply import PipelineEvent, Reply
from bookbound.domain.trace import StageClock

T = TypeVar("T")


class CoroutineRunner(Protocol):
    """Runs coroutines for synchronous code."""

    def run(self, coro: Coroutine[Any, Any, T], /) -> T: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ConversationOptions:
    """What one conversation uses instead of the settings; what is not set stays as it is.

    `model` is another model of the same endpoint, and `collection` the name of another book of the same index.
    """

    model: str = ""
    temperature: float | None = None
    collection: str = ""


class PipelineFactory(Protocol):
    """Opens pipelines for single conversations."""

    async def open(self, options: ConversationOptions) -> Pipeline: ...

    async def close(self) -> None: ...


class Book:
    """An indexed book that is open for questions from synchronous code."""

    def __init__(self, pipeline: Pipeline, runner: CoroutineRunner, variants: PipelineFactory | None = None) -> None:
        self.pipeline = pipeline
        self._runner, self._variants = runner, variants
        self._is_closed, self._process_id = False, os.getpid()

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.book.manifest

    def ask(
        self,
        question: str,
        *,
        selection: str | None = None,
        k: int = 5,
        threshold: float = 0.0,
        allow_fallback: bool = True,
        hides_unverified: bool = False,
        conversation: Sequence[Turn | tuple[str, str]] = (),
        on_event: Callable[[PipelineEvent], None] | None = None,
    ) -> Reply:
        """Returns an answer with its citations, an unsure reply or a refusal; a selection is answered from it alone.

        It is a refusal if no passage is as similar to the question as `threshold`. If a language model fails, the
        answer quotes the book; without `allow_fallback` the error is raised. What it writes and the book does not prove
        is marked, or left out if `hides_unverified`. A follow-up is completed from `conversation`, the earlier
        questions and the texts of their replies. `on_event` gets each event as it happens.
        """
        turns = _parse_conversation(conversation)
        scope, hides = AnswerScope.SELECTION, hides_unverified
        checked = Question(question, selection, scope, k, threshold, allow_fallback, turns, hides_unverified=hides)
        return self._run(lambda: self.pipeline.ask(checked, on_event=on_event))

    def converse(
        self,
        question: str,
        format_passages: PassageFormatter,
        *,
        k: int = 5,
        threshold: float = 0.0,
        must_search: bool = True,
        options: ConversationOptions | None = None,
    ) -> Reply:
        """Returns the reply of a language model that searches by itself and reads what `format_passages` returns.

        A search gives it at most `k` passages. Unless it must search, it may decide not to, which is a refusal. If it
        fails, the error is raised. Without a language model this is `ask`. The options are for this call alone.
        """
        checked = Question(question, k=k, threshold=threshold, hides_unverified=True)

        async def converse() -> Reply:
            pipeline = await self._variants.open(options) if options and self._variants else self.pipeline
            return await pipeline.converse(checked, format_passages, must_search=must_search)

        return self._run(converse)

    def search(
        self, words: str, *, k: int = 5, only_answerable: bool = False, clock: StageClock | None = None
    ) -> tuple[Passage, ...]:
        """Returns the best passages; a clock measures the stages.

        With `only_answerable` they are judged as `ask` judges them, and there are none if they do not surely answer.
        """
        checked = Question(words, k=k)
        if only_answerable:
            return self._run(lambda: self._search_answer(checked, clock))
        return self._run(lambda: self.pipeline.search(checked, clock)).passages

    def close(self) -> None:
        """Closes the index and the models, and ends the questions of other threads; closing twice does nothing."""
        if not self._is_closed and not self._is_inherited:
            self._is_closed = True
            if self._variants:
                self._runner.run(self._variants.close())
            self._runner.run(self.pipeline.close())
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def _search_answer(self, question: Question, clock: StageClock | None) -> tuple[Passage, ...]:
        passages: tuple[Passage, ...] = ()
        async with aclosing(self.pipeline.steps(question, clock)) as steps:
            async for step in steps:
                if isinstance(step, Retrieval):
                    passages = step.passages
                elif isinstance(step, Judgement):  # nothing has been written yet, and nothing has to be
                    return passages[: question.k] if step.answer_present else ()
        raise AssertionError("every question is judged")

    @property
    def _is_inherited(self) -> bool:
        """Whether the process was forked after the book was opened: it has the book, but not its thread."""
        return os.getpid() != self._process_id

    def _run(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._is_inherited:
            raise BookIndexError("This book was opened in another process. Open it in this one with bookbound.open().")
        try:
            if not self._is_closed:
                return self._runner.run(start())
        except (Exception, CancelledError):
            if not self._is_closed:  # otherwise it failed because another thread closed the book
                raise
        raise BookIndexError("This book is closed. Open it again with bookbound.open().")


def _parse_conversation(conversation: object) -> tuple[Turn, ...]:
    if isinstance(conversation, Sequence):
        turns = [Turn(*turn) for turn in conversation if isinstance(turn, list | tuple) and 1 <= len(turn) <= 2]
        if len(turns) == len(conversation):
            return tuple(turns)
    raise InvalidInputError("A conversation must be a list of turns: (question, text of its reply), oldest first.")


class EventLoopThread:
    """A thread with an event loop, on which other threads, also those with a loop, run coroutines."""

    def __init__(self) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._is_closing, self._submitting = asyncio.Event(), Lock()
        self._thread = Thread(target=lambda: asyncio.run(self._serve(started)), name="bookbound", daemon=True)
        self._thread.start()
        self._loop, self._is_open = started.result(), True

    def run(self, coro: Coroutine[Any, Any, T], /) -> T:
        """Returns the result of the coroutine; an interrupt cancels it, and so does the end of the loop."""
        with self._submitting:
            if not self._is_open:
                coro.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(coro, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the loop after everything that was cancelled has ended."""
        with self._submitting:  # what is submitted later would never run
            self._is_open = False
            self._loop.call_soon_threadsafe(self._is_closing.set)
        self._thread.join()

    async def _serve(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._is_closing.wait()
