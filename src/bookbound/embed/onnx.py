"""The embedder that ships with the package: MiniLM-L6, tuned on questions and the passages that answer them, int8."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bookbound.models import EMBEDDER
from bookbound.models.onnx import Models

if TYPE_CHECKING:
    from bookbound.ports import Vectors

DIMENSION, BUDGET = 384, 256


class OnnxEmbedder:
    """Embeds one text a call, on a bounded number of threads, without a network."""

    dimension, budget = DIMENSION, BUDGET

    def __init__(self, models: Models | None = None) -> None:
        self._models = models or Models()
        self._network = self._models.network(EMBEDDER)
        self._marks = self._models.marks

    @property
    def name(self) -> str:
        return f"bookbound-MiniLM-L6-int8@{self._models.digest(EMBEDDER)[:12]}"

    def tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._marks)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = await asyncio.gather(*map(self.embed_question, texts))
        return np.stack(rows) if rows else np.empty((0, DIMENSION), np.float32)

    async def embed_question(self, text: str) -> Vectors:
        return await self._models.run(self._vector, text)

    async def close(self) -> None:
        self._models.close()

    def _vector(self, text: str) -> Vectors:
        opening, closing = self._marks
        ids = self._models.ids(text)[: BUDGET - len(self._marks)]
        return self._network.read([opening, *ids, closing])["embedding"]
