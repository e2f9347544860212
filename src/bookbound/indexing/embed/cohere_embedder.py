"""Embeds text with Cohere, with separate input types for passages and questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bookbound.domain.errors import ConfigError
from bookbound.indexing.embed import embed_in_batches, normalize_vectors
from bookbound.indexing.embed.onnx_embedder import TOKEN_BUDGET
from bookbound.models.cohere import SERVICE_NAME, CohereClient, InputType
from bookbound.models.onnx import ModelRuntime

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


MULTILINGUAL_MODEL, ENGLISH_MODEL = "embed-multilingual-v3.0", "embed-english-v3.0"
DIMENSION, BATCH_SIZE = 1024, 96


class CohereEmbedder:
    """Embeds with one of Cohere's v3 models.

    Tokens are counted by the tokenizer that ships with the package, so that a book has the same chunks as with the
    local embedder; they are well below the 512 tokens of Cohere's own that a text may have.
    """

    dimension, budget = DIMENSION, TOKEN_BUDGET

    def __init__(self, cohere: CohereClient, model: str | None = None, models: ModelRuntime | None = None) -> None:
        self._cohere = cohere
        self._model = model or MULTILINGUAL_MODEL
        if self._model not in (MULTILINGUAL_MODEL, ENGLISH_MODEL):
            raise ConfigError(f"The setting `embed_model` must be {MULTILINGUAL_MODEL} or {ENGLISH_MODEL} for Cohere.")
        self._models = models or ModelRuntime()

    @property
    def name(self) -> str:
        return f"cohere:{self._model}"

    def tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._models.marks)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        return await embed_in_batches(texts, BATCH_SIZE, lambda batch: self._vectors(batch, "search_document"))

    async def embed_question(self, text: str) -> Vectors:
        vector: Vectors = (await self._vectors([text], "search_query"))[0]
        return vector

    async def close(self) -> None:
        self._models.close()
        await self._cohere.close()

    async def _vectors(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        return normalize_vectors(
            await self._cohere.embed(texts, self._model, input_type), len(texts), DIMENSION, SERVICE_NAME
        )
