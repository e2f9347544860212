from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from tests.indexing.embed.adapters import KEY

from bookbound.domain.errors import ServiceAuthenticationError
from bookbound.domain.ports import Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.testing.scripted_services import Fault, ScriptedServices


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def caching(services: ScriptedServices, clock: Clock) -> CachingEmbedder:
    """Caches two questions for a minute."""
    return CachingEmbedder(CohereEmbedder(CohereClient(KEY, services.url)), 2, 60.0, clock)


def ask_all(caching: CachingEmbedder, *questions: str) -> list[Vectors]:
    """Embeds questions one after the other."""

    async def run() -> list[Vectors]:
        try:
            return [await caching.embed_question(question) for question in questions]
        finally:
            await caching.close()

    return asyncio.run(run())


def requested_texts(services: ScriptedServices) -> list[str]:
    return [text for request in services.requests for text in request.json["texts"]]


def test_a_repeated_question_is_not_embedded_again(caching: CachingEmbedder, services: ScriptedServices) -> None:
    first, second, other = ask_all(caching, "one", "one", "two")
    assert requested_texts(services) == ["one", "two"]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_only_the_last_questions_are_cached(caching: CachingEmbedder, services: ScriptedServices) -> None:
    ask_all(caching, "one", "two", "three", "two", "three", "one")
    assert requested_texts(services) == ["one", "two", "three", "one"]


def test_an_expired_question_is_embedded_again(
    caching: CachingEmbedder, services: ScriptedServices, clock: Clock
) -> None:
    async def run() -> None:
        for now in (0.0, 59.9, 60.0, 119.9, 120.0):
            clock.now = now
            await caching.embed_question("one")
        await caching.close()

    asyncio.run(run())
    assert requested_texts(services) == ["one"] * 3


def test_a_cache_of_size_zero_keeps_nothing(services: ScriptedServices) -> None:
    ask_all(CachingEmbedder(CohereEmbedder(CohereClient(KEY, services.url)), 0), "one", "one")
    assert requested_texts(services) == ["one", "one"]


def test_concurrent_equal_questions_share_one_request(caching: CachingEmbedder, services: ScriptedServices) -> None:
    async def run() -> list[Vectors]:
        found = await asyncio.gather(*map(caching.embed_question, ["one", "two", "one", "one"]))
        await caching.close()
        return found

    first, other, *same = asyncio.run(run())
    assert sorted(requested_texts(services)) == ["one", "two"]
    assert all(np.array_equal(first, each) for each in same)
    assert not np.array_equal(first, other)


def test_a_failure_is_not_cached(caching: CachingEmbedder, services: ScriptedServices) -> None:
    services.fail_with(Fault.UNAUTHORIZED)

    async def run() -> None:
        failed = await asyncio.gather(*map(caching.embed_question, ["one", "one"]), return_exceptions=True)
        assert [type(each) for each in failed] == [ServiceAuthenticationError, ServiceAuthenticationError]
        assert len(await caching.embed_question("one")) == 1024
        await caching.close()

    asyncio.run(run())
    assert requested_texts(services) == ["one", "one"]


class Waiting:
    """An embedder that waits until a test releases it."""

    name, dimension, max_tokens = "waiting", 1, 1

    def __init__(self) -> None:
        self.go, self.times = asyncio.Event(), 0

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), 1), np.float32)

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        self.times += 1
        await self.go.wait()
        return np.ones(1, np.float32)

    def score_similarity(self, cosine: float) -> float:
        return cosine

    async def close(self) -> None: ...


def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    async def run() -> None:
        waiting = Waiting()
        caching = CachingEmbedder(waiting, 2)
        first, second = (asyncio.create_task(caching.embed_question("one")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        waiting.go.set()
        assert (await second).shape == (1,)
        assert first.cancelled()
        assert waiting.times == 1

    asyncio.run(run())


def test_closing_cancels_pending_requests() -> None:
    async def run() -> None:
        caching = CachingEmbedder(Waiting(), 2)
        requested = asyncio.create_task(caching.embed_question("one"))
        await asyncio.sleep(0)
        await caching.close()
        with pytest.raises(asyncio.CancelledError):
            await requested

    asyncio.run(run())


def test_a_cached_vector_is_read_only(caching: CachingEmbedder) -> None:
    (vector,) = ask_all(caching, "one")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 2.0
