"""Embeds text with OpenAI or any service with an OpenAI-compatible API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai

from bookbound import services
from bookbound.domain.ports import Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.embed import embed_in_batches, normalize_vectors
from bookbound.models.onnx import EMBEDDER_MAX_TOKENS, ModelRuntime

SERVICE = "embeddings"
DEFAULT_MODEL, DEFAULT_URL = "text-embedding-3-small", "https://api.openai.com/v1"
BATCH_SIZE = 128  # as many as indexing embeds at once
TIMEOUT_SECONDS = 60.0  # for a batch with all attempts; the deadline of a question may be shorter
PROBE_TEXT = "dimension"
PLACEHOLDER_KEY = "none"
"""Sent to services that need no key, because the SDK requires one."""


class OpenAIEmbedder:
    """Embeds with a model at a base URL.

    The vectors must have the given dimension, such as that of an index, or else that of the first reply. The shipped
    tokenizer counts tokens, so a book gets the same chunks as with the local embedder.
    """

    max_tokens = EMBEDDER_MAX_TOKENS

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
        self._key = services.validate_key(key or PLACEHOLDER_KEY, "embedder_key")
        self._url = services.validate_url(url or DEFAULT_URL, "embedder_url")
        self._model = model or DEFAULT_MODEL
        self.name = f"openai:{self._model}"
        self._dimension, self._seconds = dimension, seconds
        self._models, self._client = models or ModelRuntime(), self._connect()

    @property
    def dimension(self) -> int:
        """The dimension of the vectors; if it is unknown, the caller waits while one word is embedded."""
        if self._dimension is None:
            with ThreadPoolExecutor(1) as thread:  # the caller may be in a running event loop
                self._dimension = thread.submit(asyncio.run, self._probe_dimension()).result()
        return self._dimension

    def count_tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._models.special_ids)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            dimension = self._dimension or len(await self.embed_question(PROBE_TEXT))
            return np.empty((0, dimension), np.float32)
        return await embed_in_batches(texts, BATCH_SIZE, lambda batch: self._request(self._client, batch))

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        vector: Vectors = (await self._request(self._client, [text], deadline))[0]
        return vector

    def score_similarity(self, cosine: float) -> float:
        return cosine

    async def close(self) -> None:
        self._models.close()
        await self._client.close()

    def _connect(self) -> openai.AsyncOpenAI:
        """Returns a client that ignores OpenAI's environment variables."""
        services.quiet_loggers("httpx", "httpx2", "httpcore", "httpcore2", "openai")
        hooks = {"response": [services.bound_reply]}
        client = openai.AsyncOpenAI(
            api_key=self._key,
            admin_api_key="",
            base_url=self._url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks=hooks),
        )
        client.organization = client.project = None
        client._custom_headers = {}  # the only way to drop headers that come from the environment
        return client

    async def _probe_dimension(self) -> int:
        # Connections belong to their event loop, so these are not kept.
        async with self._connect() as client:
            return len((await self._request(client, [PROBE_TEXT]))[0])

    async def _request(
        self, client: openai.AsyncOpenAI, texts: Sequence[str], deadline: Deadline = NO_DEADLINE
    ) -> Vectors:
        rows = await services.call_with_retry(
            lambda seconds: self._attempt(client, texts, seconds),
            service=SERVICE,
            seconds=self._seconds,
            deadline=deadline,
        )
        vectors = normalize_vectors(rows, len(texts), self._dimension, SERVICE)
        self._dimension = vectors.shape[1]
        return vectors

    async def _attempt(self, client: openai.AsyncOpenAI, texts: Sequence[str], seconds: float) -> list[list[float]]:
        # The service's messages may contain the key or the reader's words, so they are dropped, even as a cause.
        try:
            reply = await client.embeddings.create(
                model=self._model,
                input=list(texts),
                encoding_format="float",  # the only format that every service knows
                timeout=seconds,
            )
            rows = {item.index: item.embedding for item in reply.data}
            return [rows[i] for i in range(len(texts))]
        except openai.APITimeoutError:
            raise services.build_timeout_error(SERVICE) from None
        except openai.APIConnectionError as error:
            build_error = services.build_response_error if _is_unusable(error) else services.build_unreachable_error
            raise build_error(SERVICE) from None
        except openai.APIStatusError as error:
            raise services.build_status_error(error.status_code, error.response.headers, SERVICE) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            # The SDK does not check the shape of a reply, so a malformed one fails at its first use.
            raise services.build_response_error(SERVICE) from None


def _is_unusable(error: openai.APIConnectionError) -> bool:
    """Whether a reply was cut or too long; the SDK uses several HTTP clients, whose errors only share their name."""
    return any(kind.__name__ in ("ProtocolError", "ValueError") for kind in type(error.__cause__).__mro__)
