"""Checks the points of an index and searches them by dense and sparse vectors, whatever the engine."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Protocol

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.errors import CorruptIndexError, EmbedderMismatchError, SourceError
from bookbound.domain.manifest import Manifest
from bookbound.domain.outline import Outline, outline_page
from bookbound.domain.ports import Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.store import index_format
from bookbound.indexing.store.edge_shard import SparseVector, make_bm25_encoder
from bookbound.indexing.store.index_format import IndexPoint, SearchHit
from bookbound.text import split_words


class EngineShard(Protocol):
    """One generation in an engine."""

    def within(self, deadline: Deadline) -> EngineShard:
        """Returns the same shard, whose requests end by the deadline."""

    async def fuse(self, dense: list[float], sparse: SparseVector, limit: int) -> list[SearchHit]:
        """Returns the `limit` nearest points by each vector, with fused scores."""

    async def match(self, sparse: SparseVector, limit: int) -> list[SearchHit]:
        """Returns the `limit` nearest points by words alone."""

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        """Returns chunks with their dense vectors, in any order."""

    def scan(self, file: str | None = None) -> AsyncIterator[list[Chunk]]:
        """Yields all chunks, or those of one file, in pages and in any order."""

    async def close(self) -> None: ...


class PointBuilder:
    """Turns chunks into points and computes the manifest of everything that was added."""

    def __init__(self, manifest: Manifest) -> None:
        _check_unique_files(manifest)
        self._manifest = manifest
        self._encoder = make_bm25_encoder(manifest.average_words)
        self._hashes: dict[str, str] = {}

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> list[IndexPoint]:
        """Returns the points of these chunks; a later chunk replaces an earlier one with the same id."""
        if not chunks:
            return []
        rows = check_vectors(vectors, len(chunks), self._manifest.dimension).tolist()
        self._hashes |= {chunk.id: chunk.hash for chunk in chunks}
        latest = {chunk.id: (chunk, row) for chunk, row in zip(chunks, rows, strict=True)}
        encode = self._encoder.embed_document
        return [IndexPoint(chunk, row, encode(chunk.embedding_text)) for chunk, row in latest.values()]

    def manifest(self) -> Manifest:
        return replace(self._manifest, chunks=len(self._hashes), digest=index_format.digest_chunks(self._hashes))


class HybridIndex:
    """A published generation, open for reading."""

    def __init__(self, shard: EngineShard, manifest: Manifest) -> None:
        self.manifest = manifest
        self._shard = shard
        self._encoder = make_bm25_encoder(manifest.average_words)
        self._outline: Outline | None = None

    async def search(self, words: str, vector: Vectors, k: int, deadline: Deadline = NO_DEADLINE) -> list[Passage]:
        shard = self._shard.within(deadline)
        question = check_vectors(vector.reshape(1, -1), 1, self.manifest.dimension)[0]
        hits = await shard.fuse(question.tolist(), self._encoder.embed_query(words), _candidate_count(k))
        found = await _fetch_best(shard, hits, k)
        return [Passage(chunk, _cosine_similarity(question, dense)) for chunk, dense in found]

    async def match(self, words: str, k: int, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        shard = self._shard.within(deadline)
        hits = await shard.match(self._encoder.embed_query(words), _candidate_count(k))
        return [chunk for chunk, _ in await _fetch_best(shard, hits, k)]

    async def chunks(self, file: str, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        found = [chunk async for page in self._shard.within(deadline).scan(file) for chunk in page]
        return sorted(found, key=lambda chunk: (chunk.position, chunk.id))

    async def outline(self, deadline: Deadline = NO_DEADLINE) -> Outline:
        if self._outline is None:
            chunks = [chunk async for page in self._shard.within(deadline).scan() for chunk in page]
            self._outline = await asyncio.to_thread(_build_outline, chunks, self.manifest)
        return self._outline

    async def chunks_with_vectors(self, file: str) -> list[tuple[Chunk, Vectors]]:
        import numpy as np

        chunks = await self.chunks(file)
        vectors = {chunk.id: vector for chunk, vector in await self._shard.fetch([chunk.id for chunk in chunks])}
        return [(chunk, np.asarray(vectors[chunk.id], dtype=np.float32)) for chunk in chunks]

    async def close(self) -> None:
        await self._shard.close()


def _build_outline(chunks: Sequence[Chunk], manifest: Manifest) -> Outline:
    pages: dict[str, list[Chunk]] = {page.file: [] for page in manifest.page_fingerprints}
    words: Counter[str] = Counter()
    for chunk in sorted(chunks, key=lambda chunk: chunk.position):
        pages.setdefault(chunk.place.file, []).append(chunk)
        words.update(split_words(chunk.embedding_text))
    return Outline(tuple(map(outline_page, filter(None, pages.values()))), words)


def check_vectors(vectors: Vectors, rows: int, dimension: int) -> Vectors:
    """Returns the vectors, or refuses them if one has no direction or another dimension than the index."""
    if vectors.shape != (rows, dimension):
        raise EmbedderMismatchError(
            f"The index has vectors of {dimension} numbers, but the embedder returned {vectors.shape} for {rows} "
            "text(s). Use the embedder that made the index, or index the book again."
        )
    import numpy as np

    if not np.isfinite(vectors).all() or not np.linalg.norm(vectors, axis=1).all():
        raise EmbedderMismatchError(
            "The embedder returned a vector without direction (zeros or not numbers). Check the embedder."
        )
    return vectors


async def verify_contents(shard: EngineShard, manifest: Manifest) -> None:
    """Refuses a generation that contains other chunks than its manifest says, or whose search finds nothing."""
    hashes: dict[str, str] = {}
    last: list[Chunk] = []
    async for page in shard.scan():
        hashes |= {chunk.id: chunk.hash for chunk in page}
        last = page[-1:] or last
    if index_format.digest_chunks(hashes) != manifest.digest:
        raise CorruptIndexError("The index does not contain what was written to it. Index the book again.")
    for chunk in last:
        words = make_bm25_encoder(manifest.average_words).embed_document(chunk.embedding_text)
        near = [hit for _, dense in await shard.fetch([chunk.id]) for hit in await shard.fuse([*dense], words, 1)]
        if not near or (words.indices and not await shard.match(words, 1)):
            raise CorruptIndexError("A search in the new index finds nothing. Index the book again.")


def _check_unique_files(manifest: Manifest) -> None:
    counts = Counter(page.file for page in manifest.page_fingerprints)
    if repeated := [file for file, count in counts.items() if count > 1]:
        raise SourceError(
            f"Two pages of the book have the same name, {repeated[0]}, so the index could not tell them apart. "
            "Rename one of them, or leave it out, and index the book again."
        )


async def _fetch_best(shard: EngineShard, hits: Sequence[SearchHit], k: int) -> list[tuple[Chunk, Sequence[float]]]:
    """Returns the `k` best chunks with their dense vectors; ties are in reading order."""
    if k < 1:
        return []
    worst = min(heapq.nlargest(k, (hit.score for hit in hits)), default=0.0)
    scores = {hit.id: hit.score for hit in hits if hit.score >= worst}
    found = await shard.fetch([*scores])
    return sorted(found, key=lambda pair: (-scores[pair[0].id], pair[0].position, pair[0].id))[:k]


def _candidate_count(k: int) -> int:
    """Returns enough candidates for the two halves to overlap, and for ties to be resolved here, not by the engine."""
    return max(50, 4 * k)


def _cosine_similarity(question: Vectors, vector: Sequence[float]) -> float:
    import numpy as np

    a, b = question.astype(np.float64), np.asarray(vector, dtype=np.float64)
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), 0.0, 1.0))
