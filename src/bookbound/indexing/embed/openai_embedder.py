"""Embeds text with OpenAI or any service with an OpenAI-compatible API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import openai

from bookbound.indexing.embed import embed_in_batches, normalize_vectors
from bookbound.indexing.embed.onnx_embedder import TOKEN_BUDGET
from bookbound.models.onnx import ModelRuntime
from bookbound.services import (
    build_response_error,
    build_status_error,
    build_timeout_error,
    build_unreachable_error,
    call_with_retry,
    quiet_loggers,
    validate_key,
    validate_url,
)

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


SERVICE = "embeddings"
DEFAULT_MODEL, DEFAULT_URL = "text-embedding-3-small", "https://api.openai.com/v1"
BATCH_SIZE, TIMEOUT_SECONDS = 128, 60.0
PROBE_TEXT = "dimension"
PLACEHOLDER_KEY = "none"
"""What is sent where no key is needed: the SDK insists on one."""


class OpenAIEmbedder:
    """Embeds with the model of that name at a base URL.

    Vectors must have the dimension that is given, such as that of an index, or else the one that the first reply has.
    Tokens are counted by the tokenizer that ships with the package: the chunks are those of the local embedder.
    """

    budget = TOKEN_BUDGET

    def __init__(
        self,
        key: str | None = None,
        model: str | None = None,
        url: str | None = None,
        *,
        dimension: int | None = None,
        seconds: float = TIMEOUT_SECONDS,
        models: ModelRuntime | None = None,
    ) -> None:
        self._key = validate_key(key or PLACEHOLDER_KEY, "embed_key")
        self._url = validate_url(url or DEFAULT_URL, "embed_url")
        self._model = model or DEFAULT_MODEL
        self._dimension = dimension
        self._seconds = seconds
        self._models = models or ModelRuntime()
        self._client = self._connected()

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def dimension(self) -> int:
        """As given or learnt; where nothing was embedded yet, one word is, and the caller waits for it."""
        if self._dimension is None:
            with ThreadPoolExecutor(1) as aside:  # the caller may stand in a running loop
                self._dimension = aside.submit(asyncio.run, self._probed()).result()
        return self._dimension

    def tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._models.marks)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            dimension = self._dimension or len(await self.embed_question(PROBE_TEXT))
            return np.empty((0, dimension), np.float32)
        return await embed_in_batches(texts, BATCH_SIZE, self._vectors)

    async def embed_question(self, text: str) -> Vectors:
        vector: Vectors = (await self._vectors([text]))[0]
        return vector

    async def close(self) -> None:
        self._models.close()
        await self._client.close()

    def _connected(self) -> openai.AsyncOpenAI:
        """A client with a pool of connections, which takes nothing from OpenAI's environment variables."""
        quiet_loggers("httpx", "httpx2", "httpcore", "httpcore2", "openai")
        client = openai.AsyncOpenAI(
            api_key=self._key,
            admin_api_key="",
            base_url=self._url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        client.organization = client.project = None
        client._custom_headers = {}  # from the environment; there is no other way to be without
        return client

    async def _probed(self) -> int:
        # Connections belong to the loop they were made in: the ones here are not kept.
        async with self._connected() as client:
            return len((await self._asked(client, [PROBE_TEXT]))[0])

    async def _vectors(self, texts: Sequence[str]) -> Vectors:
        return await self._asked(self._client, texts)

    async def _asked(self, client: openai.AsyncOpenAI, texts: Sequence[str]) -> Vectors:
        rows = await call_with_retry(
            lambda seconds: self._rows(client, texts, seconds), service=SERVICE, most=self._seconds
        )
        vectors = normalize_vectors(rows, len(texts), self._dimension, SERVICE)
        self._dimension = vectors.shape[1]
        return vectors

    async def _rows(self, client: openai.AsyncOpenAI, texts: Sequence[str], seconds: float) -> list[list[float]]:
        # What the service says may hold the key or the reader's words: none of it goes on, not even as a cause.
        try:
            reply = await client.embeddings.create(
                model=self._model,
                input=list(texts),
                encoding_format="float",  # which every service knows
                timeout=seconds,
            )
            found = {item.index: item.embedding for item in reply.data}
            return [found[i] for i in range(len(texts))]
        except openai.APITimeoutError:
            raise build_timeout_error(SERVICE) from None
        except openai.APIConnectionError as trouble:
            raise (build_response_error if _is_truncated_reply(trouble) else build_unreachable_error)(SERVICE) from None
        except openai.APIStatusError as trouble:
            raise build_status_error(trouble.status_code, trouble.response.headers, SERVICE) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            # The SDK does not check the shape of a reply: one of another shape fails wherever it is first used.
            raise build_response_error(SERVICE) from None


def _is_truncated_reply(trouble: openai.APIConnectionError) -> bool:
    """Whether a reply had begun; the SDK's HTTP client is not always the same, the name of its error is."""
    return any(kind.__name__ == "ProtocolError" for kind in type(trouble.__cause__).__mro__)
