"""Bookbound as a library: open a book, ask it, read where the answer stands."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from bookbound.ask import Pipeline
from bookbound.book import Manifest, Passage
from bookbound.dialogue import Question, Reply, Scope


class Book:
    """An indexed book that is open for questions, for code that does not run in an event loop."""

    def __init__(self, pipeline: Pipeline, runner: asyncio.Runner) -> None:
        self.pipeline = pipeline
        self._runner = runner

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.index.manifest

    def ask(self, question: str, *, selection: str | None = None, k: int = 5) -> Reply:
        """An answer with its citations, from the selection alone where one is given, or a refusal."""
        return self._runner.run(self.pipeline.ask(Question(question, selection, Scope.SELECTION, k)))

    def search(self, words: str, *, k: int = 5) -> tuple[Passage, ...]:
        """The best passages for some words, without a judgement."""
        return self._runner.run(self.pipeline.search(Question(words, k=k))).passages

    def close(self) -> None:
        self._runner.run(self.pipeline.index.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
