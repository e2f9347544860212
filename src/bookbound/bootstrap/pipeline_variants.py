"""Opens an open book again with what one conversation chooses: another language model, temperature or book."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

from bookbound.answering.engine import OpenBook
from bookbound.answering.pipeline import Pipeline
from bookbound.bootstrap.book_catalogue import list_books
from bookbound.bootstrap.book_opener import open_published_book
from bookbound.bootstrap.components import build_language_model
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.ports import Agent
from bookbound.library import ConversationOptions
from bookbound.settings import Settings


class PipelineVariants:
    """Pipelines that share the networks of one pipeline; each model and book is opened once."""

    def __init__(self, settings: Settings, pipeline: Pipeline) -> None:
        self._settings, self._pipeline = settings, pipeline
        self._agents: dict[tuple[str, float], Agent] = {}
        self._books: dict[BookRef, OpenBook] = {}
        self._opening, self._opened = asyncio.Lock(), AsyncExitStack()

    async def open(self, options: ConversationOptions) -> Pipeline:
        async with self._opening:
            engine, book = self._pipeline.engine, self._pipeline.book
            if engine.agent and (options.model or options.temperature is not None):
                engine = replace(engine, agent=self._find_agent(engine.agent, options))
            if options.collection:
                book = await self._find_book(find_collection(options.collection, self._settings))
            return Pipeline(engine, book)

    async def close(self) -> None:
        await self._opened.aclose()

    def _find_agent(self, agent: Agent, options: ConversationOptions) -> Agent:
        temperature = agent.temperature if options.temperature is None else options.temperature
        key = options.model or agent.name, temperature
        if key not in self._agents:
            settings = replace(self._settings, llm_model=key[0], llm_temperature=key[1])
            _, self._agents[key], close = build_language_model(settings)
            self._opened.push_async_callback(close)
        return self._agents[key]

    async def _find_book(self, ref: BookRef) -> OpenBook:
        if ref not in self._books:
            settings = self._settings.with_book(ref)
            book = await open_published_book(settings, self._pipeline.engine, await list_books(settings))
            self._opened.push_async_callback(book.close)
            self._books[ref] = book
        return self._books[ref]


def find_collection(name: str, settings: Settings) -> BookRef:
    """The book that a collection name means: `NAME`, `NAME@EDITION`, or the name of its collection in Qdrant."""
    if name == settings.qdrant_collection:
        return UNNAMED_BOOK
    return BookRef.parse(name.removeprefix(f"{settings.qdrant_collection}."))
