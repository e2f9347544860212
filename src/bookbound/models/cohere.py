"""Calls the Cohere API and translates its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from math import isfinite
from typing import Literal, TypeVar

import cohere
import httpx

from bookbound import services
from bookbound.domain.question import NO_DEADLINE, Deadline

SERVICE_NAME = "cohere"
DEFAULT_URL = "https://api.cohere.com"
REQUEST_TIMEOUT_SECONDS = 60.0
"""Covers all attempts of one request; the deadline of a question may be shorter."""
InputType = Literal["search_document", "search_query"]
Result = TypeVar("Result")


class CohereClient:
    """Sends requests to Cohere, or to a compatible service, and to no other host; ignores Cohere's own environment."""

    def __init__(self, key: str, url: str | None = None, seconds: float = REQUEST_TIMEOUT_SECONDS) -> None:
        self._seconds = seconds
        services.quiet_loggers("httpx", "httpcore", "cohere")
        self._connections = httpx.AsyncClient(event_hooks={"response": [services.bound_reply]})
        self._client = cohere.AsyncClientV2(
            services.validate_key(key, "cohere_key"),
            base_url=services.validate_url(url or DEFAULT_URL, "cohere_url"),
            httpx_client=self._connections,
            max_retries=0,
        )

    async def embed(
        self, texts: Sequence[str], model: str, input_type: InputType, deadline: Deadline = NO_DEADLINE
    ) -> Sequence[Sequence[float]]:
        """Returns the vectors of at most 96 texts."""

        async def attempt(seconds: float) -> Sequence[Sequence[float]]:
            reply = await self._client.embed(
                texts=texts,
                model=model,
                input_type=input_type,
                embedding_types=["float"],
                truncate="END",
                request_options={"timeout": seconds},
            )
            return reply.embeddings.float_ or ()

        return await self._call(attempt, deadline)

    async def rerank(
        self, question: str, documents: Sequence[str], model: str, deadline: Deadline = NO_DEADLINE
    ) -> list[float]:
        """Returns the relevance of each document to the question, from 0 to 1."""

        async def attempt(seconds: float) -> list[float]:
            reply = await self._client.rerank(
                query=question, documents=documents, model=model, request_options={"timeout": seconds}
            )
            found = {result.index: float(result.relevance_score) for result in reply.results}
            return [found[i] for i in range(len(documents))]

        relevance = await self._call(attempt, deadline)
        if not all(isfinite(each) and 0 <= each <= 1 for each in relevance):
            raise services.build_response_error(SERVICE_NAME)
        return relevance

    async def close(self) -> None:
        await self._connections.aclose()

    async def _call(self, attempt: Callable[[float], Awaitable[Result]], deadline: Deadline) -> Result:
        async def translated(seconds: float) -> Result:
            # Cohere's messages may contain the key or the reader's words, so they are not kept, not even as a cause.
            try:
                return await attempt(seconds)
            except cohere.core.ApiError as error:
                raise services.build_status_error(error.status_code, error.headers, SERVICE_NAME) from None
            except httpx.TimeoutException:
                raise services.build_timeout_error(SERVICE_NAME) from None
            except (httpx.ProtocolError, httpx.DecodingError):
                raise services.build_response_error(SERVICE_NAME) from None
            except httpx.HTTPError:
                raise services.build_unreachable_error(SERVICE_NAME) from None
            except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
                # The SDK does not check the shape of a reply, so a wrong one fails when it is first used.
                raise services.build_response_error(SERVICE_NAME) from None

        return await services.call_with_retry(
            translated, service=SERVICE_NAME, seconds=self._seconds, deadline=deadline
        )
