"""Retrieves the passages of a book in LangChain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, Field

from bookbound.domain.question import MAX_PASSAGES
from bookbound.integrations import DEFAULT_PASSAGES, describe_passage, open_for, require_framework
from bookbound.library import Book

with require_framework("langchain"):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


class BookboundRetriever(BaseRetriever):
    """Retrieves the `k` passages of an open book that most probably answer, best first.

    With `only_answerable` there are none if Bookbound would not answer. `invoke(query, k=3)` is for one call.
    """

    # A misspelt option would have no effect, and nobody would notice.
    model_config = ConfigDict(extra="forbid")

    book: Book
    k: int = Field(default=DEFAULT_PASSAGES, ge=1, le=MAX_PASSAGES)
    only_answerable: bool = False

    @classmethod
    def from_index(
        cls, index: str | Path | None = None, *, book: str | None = None, edition: str | None = None, **fields: Any
    ) -> Self:
        """Opens a book as `bookbound.open` does; `retriever.book.close()` closes it."""
        return open_for(lambda opened: cls(book=opened, **fields), index, book, edition)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._search(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: str, k: int | None) -> list[Document]:
        found = self.book.search(query, k=self.k if k is None else k, only_answerable=self.only_answerable)
        documents = []
        for each in found:
            metadata = describe_passage(self.book, each) | {"score": each.score}
            documents.append(Document(each.chunk.text, id=each.chunk.id, metadata=metadata))
        return documents
