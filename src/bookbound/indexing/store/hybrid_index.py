"""Checks the points of an index and searches them by dense and sparse vectors, whatever the engine."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.errors import CorruptIndexError, EmbedderMismatchError, SourceError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import serialization
from bookbound.indexing.store.edge_bm25 import Sparse, make_bm25_encoder

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


class IndexPoint(NamedTuple):
    """A chunk as an engine keeps it."""

    chunk: Chunk
    meaning: list[float]
    words: Sparse

    @property
    def size(self) -> int:
        """At most how many bytes an engine needs to keep it."""
        numbers = len(self.meaning) + 2 * len(self.words.indices)
        return len(json.dumps(serialization.dump_chunk(self.chunk))) + 8 * numbers + 1024


class PointBuilder:
    """All that a draft was given so far, as far as is needed to know it again."""

    def __init__(self, manifest: Manifest) -> None:
        _check_unique_files(manifest)
        self._manifest = manifest
        self._encoder = make_bm25_encoder(manifest.average_words)
        self._hashes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def take(self, chunks: Sequence[Chunk], vectors: Vectors) -> list[IndexPoint]:
        """The points to keep for these chunks, each in place of an earlier one of the same id."""
        if not chunks:
            return []
        rows = check_vectors(vectors, len(chunks), self._manifest.dimension).tolist()
        self._hashes |= {chunk.id: chunk.hash for chunk in chunks}
        last = {chunk.id: (chunk, row) for chunk, row in zip(chunks, rows, strict=True)}
        return [IndexPoint(chunk, row, self._encoder.embed_document(chunk.embedded)) for chunk, row in last.values()]

    def manifest(self) -> Manifest:
        """The manifest of a generation that holds what was taken in."""
        return replace(self._manifest, chunks=len(self._hashes), digest=serialization.digest_chunks(self._hashes))


def check_vectors(vectors: Vectors, rows: int, dimension: int) -> Vectors:
    """`vectors` as they came, once it is sure that each has a direction and the index's dimension."""
    if vectors.shape != (rows, dimension):
        raise EmbedderMismatchError(
            f"The index holds vectors of {dimension} numbers, but {rows} text(s) were embedded as {vectors.shape}. "
            "Use the embedder that the index was made with, or index the book again."
        )
    import numpy as np

    if not np.isfinite(vectors).all() or not np.linalg.norm(vectors, axis=1).all():
        raise EmbedderMismatchError(
            "The embedder gave a vector that points nowhere (zeros or no numbers). Check the embedder."
        )
    return vectors


def _check_unique_files(manifest: Manifest) -> None:
    """Refuse a book in which two pages have one name: what is asked for by it would be that of both."""
    named = Counter(sheet.file for sheet in manifest.sheets)
    if twice := [name for name, times in named.items() if times > 1]:
        raise SourceError(
            f"Two pages of the book have the same name, {twice[0]}, so the index could not tell them apart. "
            "Rename one of them, or leave it out, and index the book again."
        )


DENSE_WEIGHT = 2
"""How often meaning is counted where words are counted once: readers ask in words of their own."""


class SearchHit(NamedTuple):
    """A chunk that an engine found, with the engine's own score."""

    id: str
    score: float


class EngineShard(Protocol):
    """One generation in an engine."""

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[SearchHit]:
        """The `limit` nearest by each of the two vectors, their scores fused by distribution."""

    async def match(self, words: Sparse, limit: int) -> list[SearchHit]:
        """The `limit` nearest by words alone."""

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        """Chunks with their vectors of meaning, in any order."""

    async def scan(self, file: str | None = None) -> list[Chunk]:
        """All chunks, or those of one file, in any order."""

    async def close(self) -> None: ...


class HybridIndex:
    """A published generation, open for reading."""

    def __init__(self, shard: EngineShard, manifest: Manifest) -> None:
        self._shard = shard
        self._manifest = manifest
        self._encoder = make_bm25_encoder(manifest.average_words)

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        question = check_vectors(vector.reshape(1, -1), 1, self._manifest.dimension)[0]
        hits = await self._shard.fuse(question.tolist(), self._encoder.embed_query(words), _candidate_count(k))
        return [Passage(chunk, _cosine_similarity(question, meaning)) for chunk, meaning in await self._best(hits, k)]

    async def match(self, words: str, k: int) -> list[Chunk]:
        hits = await self._shard.match(self._encoder.embed_query(words), _candidate_count(k))
        return [chunk for chunk, _ in await self._best(hits, k)]

    async def chunks(self, file: str) -> list[Chunk]:
        return sorted(await self._shard.scan(file), key=lambda chunk: (chunk.position, chunk.id))

    async def held(self, file: str) -> list[tuple[Chunk, Vectors]]:
        import numpy as np

        chunks = await self.chunks(file)
        found = {chunk.id: vector for chunk, vector in await self._shard.fetch([chunk.id for chunk in chunks])}
        return [(chunk, np.asarray(found[chunk.id], dtype=np.float32)) for chunk in chunks]

    async def close(self) -> None:
        await self._shard.close()

    async def _best(self, hits: Sequence[SearchHit], k: int) -> list[tuple[Chunk, Sequence[float]]]:
        """The `k` best chunks with their vectors; equal ones in reading order."""
        if k < 1:
            return []
        worst = min(heapq.nlargest(k, (hit.score for hit in hits)), default=0.0)
        scores = {hit.id: hit.score for hit in hits if hit.score >= worst}
        found = await self._shard.fetch([*scores])
        return sorted(found, key=lambda pair: (-scores[pair[0].id], pair[0].position, pair[0].id))[:k]


async def verify_contents(shard: EngineShard, manifest: Manifest) -> None:
    """Refuse a generation that holds other chunks than its manifest says, or finds none by what it means and says."""
    held = {chunk.id: chunk for chunk in await shard.scan()}
    if serialization.digest_chunks({name: chunk.hash for name, chunk in held.items()}) != manifest.digest:
        raise CorruptIndexError("The index does not hold what was written to it. Index the book again.")
    for name, chunk in [*held.items()][-1:]:
        words = make_bm25_encoder(manifest.average_words).embed_document(chunk.embedded)
        near = [hit for _, meaning in await shard.fetch([name]) for hit in await shard.fuse([*meaning], words, 1)]
        if not near or (words.indices and not await shard.match(words, 1)):
            raise CorruptIndexError("The index finds nothing of what was written to it. Index the book again.")


def _candidate_count(k: int) -> int:
    """How many candidates to ask for: enough that the two halves meet and ties are cut here, not by the engine."""
    return max(50, 4 * k)


def _cosine_similarity(question: Vectors, vector: Sequence[float]) -> float:
    """The cosine of two vectors; what points away counts as 0."""
    import numpy as np

    asked, found = question.astype(np.float64), np.asarray(vector, dtype=np.float64)
    return float(np.clip(asked @ found / (np.linalg.norm(asked) * np.linalg.norm(found)), 0.0, 1.0))
