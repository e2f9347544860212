"""txtai as in its documentation: text cut at paragraphs, an embeddings database with content."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock

from txtai import Embeddings
from txtai.pipeline import Segmentation

from lab.compare.system import MAX_PASSAGES, BestPassageSystem, Documents, Embedding, FoundPassage
from lab.compare.weights import find_minilm

SEPARATOR = "\x1f"


class TxtaiEmbeddings(BestPassageSystem):
    """`Embeddings` with its default index."""

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        self.lock = Lock()

    @cached_property
    def embeddings(self) -> Embeddings:
        if self.embedding == "own":
            return Embeddings(path=str(find_minilm()), content=True, gpu=False)
        os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"
        transform = "lab.compare.systems.bookbound_vectors.embed_texts"
        return Embeddings(method="external", transform=transform, content=True)

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        segment = Segmentation(paragraphs=True)
        rows = [row for file, text in documents.items() for row in _locate(file, text, segment(text))]
        self.embeddings.index(rows)
        self.embeddings.save(str(folder))
        return len(rows)

    def open(self, folder: Path) -> None:
        self.embeddings.load(str(folder))

    def search(self, question: str) -> list[FoundPassage]:
        found = []
        with self.lock:  # its own application does the same: threads must not share its database
            rows = self.embeddings.search(question, MAX_PASSAGES)
        for row in rows:
            file, start, end = row["id"].split(SEPARATOR)
            found.append(FoundPassage(file, int(start), int(end), row["text"], float(row["score"])))
        return found

    def close(self) -> None:
        self.embeddings.close()


def _locate(file: str, text: str, paragraphs: list[str]) -> Iterator[tuple[str, str]]:
    """Yields each paragraph with its place as its id; txtai folds white space."""
    start = 0
    for paragraph in paragraphs:
        pattern = r"\s+".join(map(re.escape, paragraph.split()))
        if pattern and (match := re.compile(pattern).search(text, start)):
            start = match.end()
            yield SEPARATOR.join((file, str(match.start()), str(match.end()))), paragraph


def build(embedding: Embedding) -> TxtaiEmbeddings:
    return TxtaiEmbeddings(embedding)
