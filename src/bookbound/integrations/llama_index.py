"""Retrieves the passages of a book in LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Self

from bookbound.domain.chunk import Passage
from bookbound.integrations import DEFAULT_PASSAGES, describe_passage, open_for, require_framework
from bookbound.library import Book

with require_framework("llama-index"):
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        ObjectType,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )

# What a program needs to find the words again says nothing to a language model or an embedder.
ADDRESS_KEYS = ("file", "span_start", "span_end", "chunk_id")


class BookboundRetriever(BaseRetriever):
    """Retrieves the passages of an open book that most probably answer, best first.

    With `only_answerable` there are none if Bookbound would not answer.
    """

    def __init__(
        self,
        book: Book,
        *,
        similarity_top_k: int = DEFAULT_PASSAGES,
        only_answerable: bool = False,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self.book, self.similarity_top_k, self.only_answerable = book, similarity_top_k, only_answerable

    @classmethod
    def from_index(
        cls, index: str | Path | None = None, *, book: str | None = None, edition: str | None = None, **options: Any
    ) -> Self:
        """Opens a book as `bookbound.open` does; `retriever.book.close()` closes it."""
        return open_for(lambda opened: cls(opened, **options), index, book, edition)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.book.search(query_bundle.query_str, k=self.similarity_top_k, only_answerable=self.only_answerable)
        return [NodeWithScore(node=self._to_node(passage), score=passage.score) for passage in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _to_node(self, passage: Passage) -> TextNode:
        """Returns a node without its score in the metadata, so that the same passage always has the same hash."""
        chunk, place = passage.chunk, passage.chunk.place
        page = RelatedNodeInfo(node_id=place.file, node_type=ObjectType.DOCUMENT, metadata={"url": place.url})
        return TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata=describe_passage(self.book, passage),
            relationships={NodeRelationship.SOURCE: page},
            start_char_idx=place.start,
            end_char_idx=place.end,
            excluded_llm_metadata_keys=list(ADDRESS_KEYS),
            excluded_embed_metadata_keys=list(ADDRESS_KEYS),
        )
