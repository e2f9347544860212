"""Haystack as in its tutorials: splitter of 150 words that share 50, in-memory store, a pipeline for queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from lab.compare.system import MAX_PASSAGES, BestPassageSystem, Documents, Embedding, FoundPassage
from lab.compare.weights import find_mpnet

FILE_NAME = "store.json"


@component
class BookboundTextEmbedder:
    """Bookbound's embedding model for questions in Haystack."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        from lab.compare.systems.bookbound_vectors import embed_texts

        return {"embedding": embed_texts([text])[0].tolist()}


@component
class BookboundDocumentEmbedder:
    """Bookbound's embedding model for documents in Haystack."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        from lab.compare.systems.bookbound_vectors import embed_texts

        vectors = embed_texts([each.content or "" for each in documents]).tolist()
        return {"documents": [replace(each, embedding=vector) for each, vector in zip(documents, vectors, strict=True)]}


class HaystackMemory(BestPassageSystem):
    """`InMemoryDocumentStore` with its embedding retriever."""

    pipeline: Pipeline

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        if embedding == "own":
            import haystack_integrations.components.embedders.sentence_transformers  # noqa: F401

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        pages = [Document(content=text, meta={"file": file}) for file, text in documents.items()]
        splitter = DocumentSplitter(split_by="word", split_length=150, split_overlap=50)
        chunks = splitter.run(documents=pages)["documents"]
        store = InMemoryDocumentStore()
        store.write_documents(self._document_embedder().run(documents=chunks)["documents"])
        store.save_to_disk(str(folder / FILE_NAME))
        return len(chunks)

    def open(self, folder: Path) -> None:
        store = InMemoryDocumentStore.load_from_disk(str(folder / FILE_NAME))
        self.pipeline = Pipeline()
        self.pipeline.add_component("embedder", self._text_embedder())
        self.pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=MAX_PASSAGES))
        self.pipeline.connect("embedder.embedding", "retriever.query_embedding")

    def search(self, question: str) -> list[FoundPassage]:
        found = self.pipeline.run({"embedder": {"text": question}})["retriever"]["documents"]
        return [
            FoundPassage(
                each.meta["file"],
                each.meta["split_idx_start"],
                each.meta["split_idx_start"] + len(each.content),
                each.content,
                float(each.score),
            )
            for each in found
        ]

    def _text_embedder(self) -> Any:
        if self.embedding == "same":
            return BookboundTextEmbedder()
        from haystack.utils import ComponentDevice
        from haystack_integrations.components.embedders.sentence_transformers import SentenceTransformersTextEmbedder

        return SentenceTransformersTextEmbedder(
            model=str(find_mpnet()), device=ComponentDevice.from_str("cpu"), progress_bar=False
        )

    def _document_embedder(self) -> Any:
        if self.embedding == "same":
            return BookboundDocumentEmbedder()
        from haystack.utils import ComponentDevice
        from haystack_integrations.components.embedders.sentence_transformers import (
            SentenceTransformersDocumentEmbedder,
        )

        embedder = SentenceTransformersDocumentEmbedder(
            model=str(find_mpnet()), device=ComponentDevice.from_str("cpu"), progress_bar=False
        )
        embedder.warm_up()
        return embedder


def build(embedding: Embedding) -> HaystackMemory:
    return HaystackMemory(embedding)
