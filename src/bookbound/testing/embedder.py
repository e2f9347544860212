"""An embedder that needs no model: texts that share words are near, and it counts what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bookbound.testing.vectors import of_words

if TYPE_CHECKING:
    from bookbound.ports import Vectors


class ScriptedEmbedder:
    """Vectors of hashed words; `given` are the texts that it embedded, in their order."""

    def __init__(self, name: str = "scripted", dimension: int = 32, budget: int = 200) -> None:
        self.name, self.dimension, self.budget = name, dimension, budget
        self.given: list[str] = []

    def tokens(self, text: str) -> int:
        return len(text.split())

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += texts
        return self._vectors(texts)

    async def embed_question(self, text: str) -> Vectors:
        return self._vectors([text]).reshape(-1)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.asarray([of_words(text, self.dimension) for text in texts], dtype=np.float32)
