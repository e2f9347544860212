"""Embeds text with the network that ships with the package, without network access."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bookbound.models import EMBEDDER_FILE
from bookbound.models.onnx import ModelRuntime

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


DIMENSION, TOKEN_BUDGET = 384, 256


class OnnxEmbedder:
    """Embeds one text a call, on a bounded number of threads, without a network."""

    dimension, budget = DIMENSION, TOKEN_BUDGET

    def __init__(self, models: ModelRuntime | None = None) -> None:
        self._models = models or ModelRuntime()
        self._network = self._models.network(EMBEDDER_FILE)
        self._marks = self._models.marks

    @property
    def name(self) -> str:
        return f"bookbound-MiniLM-L6-int8@{self._models.digest(EMBEDDER_FILE)[:12]}"

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
        ids = self._models.ids(text)[: TOKEN_BUDGET - len(self._marks)]
        return self._network.read([opening, *ids, closing])["embedding"]
