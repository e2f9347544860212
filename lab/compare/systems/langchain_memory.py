"""LangChain as in its tutorial for retrieval: recursive splitter of 1,000 characters, in-memory vector store."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from lab.compare.system import MAX_PASSAGES, BestPassageSystem, Documents, Embedding, FoundPassage
from lab.compare.weights import find_mpnet

FILE_NAME = "store.json"


class BookboundEmbeddings(Embeddings):
    """Bookbound's embedding model for LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        from lab.compare.systems.bookbound_vectors import embed_texts

        vectors: list[list[float]] = embed_texts(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class LangChainMemory(BestPassageSystem):
    """`InMemoryVectorStore` with its similarity search."""

    store: InMemoryVectorStore

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        if embedding == "own":
            import langchain_huggingface  # noqa: F401

    @cached_property
    def embeddings(self) -> Embeddings:
        if self.embedding == "same":
            return BookboundEmbeddings()
        from langchain_huggingface import HuggingFaceEmbeddings

        return HuggingFaceEmbeddings(model_name=str(find_mpnet()), model_kwargs={"device": "cpu"})

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)
        pages = [Document(text, metadata={"source": file}) for file, text in documents.items()]
        chunks = splitter.split_documents(pages)
        self.store = InMemoryVectorStore(self.embeddings)
        self.store.add_documents(chunks)
        self.store.dump(str(folder / FILE_NAME))
        return len(chunks)

    def open(self, folder: Path) -> None:
        self.store = InMemoryVectorStore.load(str(folder / FILE_NAME), self.embeddings)

    def search(self, question: str) -> list[FoundPassage]:
        found = self.store.similarity_search_with_score(question, k=MAX_PASSAGES)
        return [
            FoundPassage(
                each.metadata["source"],
                each.metadata["start_index"],
                each.metadata["start_index"] + len(each.page_content),
                each.page_content,
                float(score),
            )
            for each, score in found
        ]


def build(embedding: Embedding) -> LangChainMemory:
    return LangChainMemory(embedding)
