"""Encodes text as sparse BM25 vectors, in the same way for every store."""

from __future__ import annotations

from qdrant_edge import Bm25, Bm25Config
from qdrant_edge import SparseVector as Sparse

__all__ = ["Sparse", "make_bm25_encoder"]


def make_bm25_encoder(average_words: float) -> Bm25:
    """What weighs the words of a text by how often they stand in it; how rare they are, an engine knows itself."""
    return Bm25(Bm25Config(avg_len=max(1.0, average_words)))
