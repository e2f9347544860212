"""What goes into a generation: chunks with their two vectors, checked before any engine sees them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bookbound.book import Chunk
from bookbound.errors import BadSource, WrongEmbedder
from bookbound.manifest import Manifest
from bookbound.store import records
from bookbound.store.bm25 import Sparse, encoder

if TYPE_CHECKING:
    from bookbound.ports import Vectors


class Point(NamedTuple):
    """A chunk as an engine keeps it."""

    chunk: Chunk
    meaning: list[float]
    words: Sparse

    @property
    def size(self) -> int:
        """At most how many bytes an engine needs to keep it."""
        numbers = len(self.meaning) + 2 * len(self.words.indices)
        return len(json.dumps(records.record(self.chunk))) + 8 * numbers + 1024


class Intake:
    """All that a draft was given so far, as far as is needed to know it again."""

    def __init__(self, manifest: Manifest) -> None:
        _check_told_apart(manifest)
        self._manifest = manifest
        self._encoder = encoder(manifest.average_words)
        self._hashes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def take(self, chunks: Sequence[Chunk], vectors: Vectors) -> list[Point]:
        """The points to keep for these chunks, each in place of an earlier one of the same id."""
        if not chunks:
            return []
        rows = comparable(vectors, len(chunks), self._manifest.dimension).tolist()
        self._hashes |= {chunk.id: chunk.hash for chunk in chunks}
        last = {chunk.id: (chunk, row) for chunk, row in zip(chunks, rows, strict=True)}
        return [Point(chunk, row, self._encoder.embed_document(chunk.embedded)) for chunk, row in last.values()]

    def manifest(self) -> Manifest:
        """The manifest of a generation that holds what was taken in."""
        return replace(self._manifest, chunks=len(self._hashes), digest=records.digest(self._hashes))


def comparable(vectors: Vectors, rows: int, dimension: int) -> Vectors:
    """`vectors` as they came, once it is sure that each has a direction and the index's dimension."""
    if vectors.shape != (rows, dimension):
        raise WrongEmbedder(
            f"The index holds vectors of {dimension} numbers, but {rows} text(s) were embedded as {vectors.shape}. "
            "Use the embedder that the index was made with, or index the book again."
        )
    import numpy as np

    if not np.isfinite(vectors).all() or not np.linalg.norm(vectors, axis=1).all():
        raise WrongEmbedder("The embedder gave a vector that points nowhere (zeros or no numbers). Check the embedder.")
    return vectors


def _check_told_apart(manifest: Manifest) -> None:
    """Refuse a book in which two pages have one name: what is asked for by it would be that of both."""
    named = Counter(sheet.file for sheet in manifest.sheets)
    if twice := [name for name, times in named.items() if times > 1]:
        raise BadSource(
            f"Two pages of the book have the same name, {twice[0]}, so the index could not tell them apart. "
            "Rename one of them, or leave it out, and index the book again."
        )
