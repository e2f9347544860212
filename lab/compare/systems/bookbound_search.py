"""Bookbound's hybrid search without its readers, which is what a vector store of a framework does."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bookbound import bootstrap
from bookbound.domain.chunk import Passage
from bookbound.domain.ports import Embedder, Index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.library import EventLoopThread
from bookbound.settings import Settings
from lab.compare.system import MAX_PASSAGES, BestPassageSystem, Documents, Embedding, FoundPassage
from lab.compare.systems.bookbound_answers import to_found


class BookboundSearch(BestPassageSystem):
    """The embedder and the index alone."""

    embedder: Embedder
    opened: Index
    loop: EventLoopThread

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        return bootstrap.index_book(source, Settings(index=folder)).manifest.chunks

    def open(self, folder: Path) -> None:
        self.loop = EventLoopThread()
        self.embedder = bootstrap.build_embedder(Settings())
        self.opened = self.loop.run(EdgeStore(folder).open())

    def search(self, question: str) -> list[FoundPassage]:
        return [to_found(passage) for passage in self.loop.run(self._find(question))]

    def close(self) -> None:
        self.loop.run(self.opened.close())
        asyncio.run(self.embedder.close())
        self.loop.close()

    async def _find(self, question: str) -> list[Passage]:
        vector = await self.embedder.embed_question(question)
        return await self.opened.search(question, vector, MAX_PASSAGES)


def build(embedding: Embedding) -> BookboundSearch:
    return BookboundSearch()
