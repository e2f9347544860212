"""Cohere's embeddings: texts and questions as the two kinds of input that its models tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bookbound.embed.onnx import BUDGET
from bookbound.embed.rows import in_batches, unit
from bookbound.errors import BadSetup
from bookbound.models.cohere import SERVICE, Cohere, InputType
from bookbound.models.onnx import Models

if TYPE_CHECKING:
    from bookbound.ports import Vectors

MULTILINGUAL, ENGLISH = "embed-multilingual-v3.0", "embed-english-v3.0"
DIMENSION, BATCH = 1024, 96


class CohereEmbedder:
    """Embeds with one of Cohere's v3 models.

    Tokens are counted by the tokenizer that ships with the package, so that a book has the same chunks as with the
    local embedder; they are well below the 512 tokens of Cohere's own that a text may have.
    """

    dimension, budget = DIMENSION, BUDGET

    def __init__(self, cohere: Cohere, model: str | None = None, models: Models | None = None) -> None:
        self._cohere = cohere
        self._model = model or MULTILINGUAL
        if self._model not in (MULTILINGUAL, ENGLISH):
            raise BadSetup(f"The setting `embed_model` must be {MULTILINGUAL} or {ENGLISH} for Cohere.")
        self._models = models or Models()

    @property
    def name(self) -> str:
        return f"cohere:{self._model}"

    def tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._models.marks)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        return await in_batches(texts, BATCH, lambda batch: self._vectors(batch, "search_document"))

    async def embed_question(self, text: str) -> Vectors:
        vector: Vectors = (await self._vectors([text], "search_query"))[0]
        return vector

    async def close(self) -> None:
        self._models.close()
        await self._cohere.close()

    async def _vectors(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        return unit(await self._cohere.embed(texts, self._model, input_type), len(texts), DIMENSION, SERVICE)
