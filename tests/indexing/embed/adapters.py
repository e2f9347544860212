"""Every embedder there is, and a way to use one and close it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient

KEY = "sk-key-that-nobody-may-see"
Result = TypeVar("Result")


def made(kind: str, url: str, seconds: float = 30.0) -> Embedder:
    """The embedder of a kind, which asks the server at `url` if any."""
    if kind == "local":
        return OnnxEmbedder()
    if kind == "openai":
        return OpenAIEmbedder(KEY, url=f"{url}/v1", seconds=seconds)
    embedder = CohereEmbedder(CohereClient(KEY, url, seconds))
    return CachingEmbedder(embedder, 8) if kind == "remembered" else embedder


def using(embedder: Embedder, work: Callable[[Embedder], Awaitable[Result]]) -> Result:
    """What comes of some work with an embedder, which is closed after it."""

    async def run() -> Result:
        try:
            return await work(embedder)
        finally:
            await embedder.close()

    return asyncio.run(run())
