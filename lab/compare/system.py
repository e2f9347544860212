"""The interface that every compared system has, and how systems are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

MAX_PASSAGES = 20
Embedding = Literal["same", "own"]
"""Bookbound's embedding model for all systems, or the default of each."""
Documents = Mapping[str, str]
"""The text of each source file."""


class FoundPassage(NamedTuple):
    """Characters `start` to `end` of a source file, with the score that the system gives them."""

    file: str
    start: int
    end: int
    text: str
    score: float


class FoundAnswer(NamedTuple):
    """What a system says without a language model; `score` is how sure it is, and `is_given` whether it answers."""

    text: str
    places: Sequence[tuple[str, int, int]]
    score: float
    is_given: bool = True


class System(Protocol):
    """A system that indexes a book and searches it."""

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        """Indexes a book into a folder and returns the number of chunks."""

    def open(self, folder: Path) -> None:
        """Opens what `index` wrote, in a new process."""

    def search(self, question: str) -> list[FoundPassage]:
        """Returns `MAX_PASSAGES`, best first."""

    def answer(self, question: str) -> FoundAnswer:
        """Returns the answer without a language model."""

    def close(self) -> None: ...


class BestPassageSystem:
    """Answers with the best passage, as a framework does that has neither a language model nor a reader."""

    search: Callable[[str], list[FoundPassage]]

    def answer(self, question: str) -> FoundAnswer:
        found = self.search(question)
        if not found:
            return FoundAnswer("", (), 0.0, is_given=False)
        best = found[0]
        return FoundAnswer(best.text, [(best.file, best.start, best.end)], best.score)

    def close(self) -> None:
        pass


class Entry(NamedTuple):
    """A row of the comparison: its title, the module of its system, and the embedding model."""

    title: str
    module: str
    embedding: Embedding
    model: str

    def load(self) -> System:
        """Imports the system; what it imports is loaded now."""
        module: Any = import_module(f"lab.compare.systems.{self.module}")
        system: System = module.build(self.embedding)
        return system


BOOKBOUND, SEARCH_ALONE = "bookbound", "bookbound-search"
OURS, MPNET = "Bookbound's", "all-mpnet-base-v2"
ENTRIES = {
    BOOKBOUND: Entry("Bookbound", "bookbound_answers", "same", OURS),
    SEARCH_ALONE: Entry("Bookbound, search alone", "bookbound_search", "same", OURS),
    "langchain-same": Entry("LangChain", "langchain_memory", "same", OURS),
    "llama-index-same": Entry("LlamaIndex", "llama_index_vectors", "same", OURS),
    "haystack-same": Entry("Haystack", "haystack_memory", "same", OURS),
    "txtai-same": Entry("txtai", "txtai_embeddings", "same", OURS),
    "langchain-own": Entry("LangChain", "langchain_memory", "own", MPNET),
    "llama-index-own": Entry("LlamaIndex", "llama_index_vectors", "own", "bge-small-en-v1.5, 8 bits"),
    "haystack-own": Entry("Haystack", "haystack_memory", "own", MPNET),
    "txtai-own": Entry("txtai", "txtai_embeddings", "own", "all-MiniLM-L6-v2"),
}
