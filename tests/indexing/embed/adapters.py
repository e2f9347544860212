"""Builds every embedder, and closes it after use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.models.onnx import OnnxEmbedder

KEY = "sk-key-that-nobody-may-see"
Result = TypeVar("Result")


def make_embedder(kind: str, url: str, seconds: float = 30.0) -> Embedder:
    """Builds an embedder; one that uses a service gets this URL."""
    if kind == "local":
        return OnnxEmbedder()
    if kind == "openai":
        return OpenAIEmbedder(KEY, url=f"{url}/v1", seconds=seconds)
    embedder = CohereEmbedder(CohereClient(KEY, url, seconds))
    return CachingEmbedder(embedder, 8) if kind == "cached" else embedder


def run_and_close(embedder: Embedder, work: Callable[[Embedder], Awaitable[Result]]) -> Result:
    """Runs some work with an embedder, and closes it."""

    async def run() -> Result:
        try:
            return await work(embedder)
        finally:
            await embedder.close()

    return asyncio.run(run())
