"""One way to search, whatever the engine: by meaning and by words, fused there, put in order here."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bookbound.book import Chunk, Passage
from bookbound.errors import DamagedIndex
from bookbound.manifest import Manifest
from bookbound.store import records
from bookbound.store.bm25 import Sparse, encoder
from bookbound.store.intake import comparable

if TYPE_CHECKING:
    from bookbound.ports import Vectors

MEANING_COUNTS = 2
"""How often meaning is counted where words are counted once: readers ask in words of their own."""


class Hit(NamedTuple):
    """A chunk that an engine found, with the engine's own score."""

    id: str
    score: float


class Shard(Protocol):
    """One generation in an engine."""

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[Hit]:
        """The `limit` nearest by each of the two vectors, their scores fused by distribution."""

    async def match(self, words: Sparse, limit: int) -> list[Hit]:
        """The `limit` nearest by words alone."""

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        """Chunks with their vectors of meaning, in any order."""

    async def scan(self, file: str | None = None) -> list[Chunk]:
        """All chunks, or those of one file, in any order."""

    async def close(self) -> None: ...


class HybridIndex:
    """A published generation, open for reading."""

    def __init__(self, shard: Shard, manifest: Manifest) -> None:
        self._shard = shard
        self._manifest = manifest
        self._encoder = encoder(manifest.average_words)

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        question = comparable(vector.reshape(1, -1), 1, self._manifest.dimension)[0]
        hits = await self._shard.fuse(question.tolist(), self._encoder.embed_query(words), _reach(k))
        return [Passage(chunk, _cosine(question, meaning)) for chunk, meaning in await self._best(hits, k)]

    async def match(self, words: str, k: int) -> list[Chunk]:
        hits = await self._shard.match(self._encoder.embed_query(words), _reach(k))
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

    async def _best(self, hits: Sequence[Hit], k: int) -> list[tuple[Chunk, Sequence[float]]]:
        """The `k` best chunks with their vectors; equal ones in reading order."""
        if k < 1:
            return []
        worst = min(heapq.nlargest(k, (hit.score for hit in hits)), default=0.0)
        scores = {hit.id: hit.score for hit in hits if hit.score >= worst}
        found = await self._shard.fetch([*scores])
        return sorted(found, key=lambda pair: (-scores[pair[0].id], pair[0].position, pair[0].id))[:k]


async def verify(shard: Shard, manifest: Manifest) -> None:
    """Refuse a generation that holds other chunks than its manifest says, or finds none by what it means and says."""
    held = {chunk.id: chunk for chunk in await shard.scan()}
    if records.digest({name: chunk.hash for name, chunk in held.items()}) != manifest.digest:
        raise DamagedIndex("The index does not hold what was written to it. Index the book again.")
    for name, chunk in [*held.items()][-1:]:
        words = encoder(manifest.average_words).embed_document(chunk.embedded)
        near = [hit for _, meaning in await shard.fetch([name]) for hit in await shard.fuse([*meaning], words, 1)]
        if not near or (words.indices and not await shard.match(words, 1)):
            raise DamagedIndex("The index finds nothing of what was written to it. Index the book again.")


def _reach(k: int) -> int:
    """How many candidates to ask for: enough that the two halves meet and ties are cut here, not by the engine."""
    return max(50, 4 * k)


def _cosine(question: Vectors, vector: Sequence[float]) -> float:
    """The cosine of two vectors; what points away counts as 0."""
    import numpy as np

    asked, found = question.astype(np.float64), np.asarray(vector, dtype=np.float64)
    return float(np.clip(asked @ found / (np.linalg.norm(asked) * np.linalg.norm(found)), 0.0, 1.0))
