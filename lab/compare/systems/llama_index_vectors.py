"""LlamaIndex as in its starter: `VectorStoreIndex.from_documents` with its default splitter, stored as JSON."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding

from lab.compare.system import MAX_PASSAGES, BestPassageSystem, Documents, Embedding, FoundPassage
from lab.compare.weights import find_bge_small


class BookboundEmbedding(BaseEmbedding):
    """Bookbound's embedding model for LlamaIndex."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        from lab.compare.systems.bookbound_vectors import embed_texts

        vectors: list[list[float]] = embed_texts(texts).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class LlamaIndexVectors(BestPassageSystem):
    """The default vector store and its retriever."""

    retriever: Any

    def __init__(self, embedding: Embedding) -> None:
        self.choice = embedding
        if embedding == "own":
            import llama_index.embeddings.fastembed  # noqa: F401

    @cached_property
    def embedding(self) -> BaseEmbedding:
        if self.choice == "same":
            return BookboundEmbedding()
        from llama_index.embeddings.fastembed import FastEmbedEmbedding

        return FastEmbedEmbedding(specific_model_path=str(find_bge_small()))

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        pages = [
            # A model does not read the name of the file, as with the documents of `SimpleDirectoryReader`.
            Document(text=text, metadata={"file": file}, excluded_embed_metadata_keys=["file"])
            for file, text in documents.items()
        ]
        index = VectorStoreIndex.from_documents(pages, embed_model=self.embedding)
        index.storage_context.persist(persist_dir=str(folder))
        return len(index.docstore.docs)

    def open(self, folder: Path) -> None:
        storage = StorageContext.from_defaults(persist_dir=str(folder))
        index = load_index_from_storage(storage, embed_model=self.embedding)
        self.retriever = index.as_retriever(similarity_top_k=MAX_PASSAGES)

    def search(self, question: str) -> list[FoundPassage]:
        return [
            FoundPassage(
                each.node.metadata["file"],
                each.node.start_char_idx,
                each.node.end_char_idx,
                each.node.text,
                float(each.score),
            )
            for each in self.retriever.retrieve(question)
        ]


def build(embedding: Embedding) -> LlamaIndexVectors:
    return LlamaIndexVectors(embedding)
