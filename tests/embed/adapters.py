"""Every embedder there is, and a way to use one and close it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bookbound.embed.cohere import CohereEmbedder
from bookbound.embed.onnx import OnnxEmbedder
from bookbound.embed.openai import OpenAIEmbedder
from bookbound.embed.remembered import RememberedEmbedder
from bookbound.models.cohere import Cohere
from bookbound.ports import Embedder

KEY = "sk-key-that-nobody-may-see"
Result = TypeVar("Result")


def made(kind: str, url: str, seconds: float = 30.0) -> Embedder:
    """The embedder of a kind, which asks the server at `url` if any."""
    if kind == "local":
        return OnnxEmbedder()
    if kind == "openai":
        return OpenAIEmbedder(KEY, url=f"{url}/v1", seconds=seconds)
    embedder = CohereEmbedder(Cohere(KEY, url, seconds))
    return RememberedEmbedder(embedder, 8) if kind == "remembered" else embedder


def using(embedder: Embedder, work: Callable[[Embedder], Awaitable[Result]]) -> Result:
    """What comes of some work with an embedder, which is closed after it."""

    async def run() -> Result:
        try:
            return await work(embedder)
        finally:
            await embedder.close()

    return asyncio.run(run())
