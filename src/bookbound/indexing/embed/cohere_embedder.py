"""Embeds text with Cohere, with separate input types for passages and questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.embed import embed_in_batches, normalize_vectors
from bookbound.models.cohere import SERVICE_NAME, CohereClient, InputType
from bookbound.models.onnx import EMBEDDER_MAX_TOKENS, ModelRuntime

MULTILINGUAL_MODEL, ENGLISH_MODEL = "embed-multilingual-v3.0", "embed-english-v3.0"
DIMENSION, BATCH_SIZE = 1024, 96  # of all v3 models, and the most texts that Cohere takes at once


class CohereEmbedder:
    """Embeds with one of Cohere's v3 models.

    The shipped tokenizer counts tokens, so a book gets the same chunks as with the local embedder. They are well below
    Cohere's own limit of 512 tokens.
    """

    dimension, max_tokens = DIMENSION, EMBEDDER_MAX_TOKENS

    def __init__(self, cohere: CohereClient, model: str | None = None, models: ModelRuntime | None = None) -> None:
        self._model = model or MULTILINGUAL_MODEL
        if self._model not in (MULTILINGUAL_MODEL, ENGLISH_MODEL):
            allowed = f"{MULTILINGUAL_MODEL} or {ENGLISH_MODEL}"
            raise ConfigError(f"The setting `embedder_model` must be {allowed} for Cohere.")
        self.name = f"cohere:{self._model}"
        self._cohere, self._models = cohere, models or ModelRuntime()

    def count_tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._models.special_ids)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        return await embed_in_batches(texts, BATCH_SIZE, lambda batch: self._request(batch, "search_document"))

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        vector: Vectors = (await self._request([text], "search_query", deadline))[0]
        return vector

    def score_similarity(self, cosine: float) -> float:
        return cosine

    async def close(self) -> None:
        self._models.close()
        await self._cohere.close()

    async def _request(self, texts: Sequence[str], input_type: InputType, deadline: Deadline = NO_DEADLINE) -> Vectors:
        rows = await self._cohere.embed(texts, self._model, input_type, deadline)
        return normalize_vectors(rows, len(texts), DIMENSION, SERVICE_NAME)
