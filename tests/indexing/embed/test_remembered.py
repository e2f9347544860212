from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.indexing.embed.adapters import KEY

from bookbound.domain.errors import ServiceAuthenticationError
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.testing.scripted_services import Fault, ScriptedServices

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remembered(services: ScriptedServices, clock: Clock) -> CachingEmbedder:
    """One that remembers two questions for a minute."""
    return CachingEmbedder(CohereEmbedder(CohereClient(KEY, services.url)), 2, 60.0, clock)


def asking(remembered: CachingEmbedder, *questions: str) -> list[Vectors]:
    """The vectors of questions asked one after the other."""

    async def run() -> list[Vectors]:
        try:
            return [await remembered.embed_question(question) for question in questions]
        finally:
            await remembered.close()

    return asyncio.run(run())


def asked(services: ScriptedServices) -> list[str]:
    return [text for request in services.requests for text in request.json["texts"]]


def test_a_question_asked_again_is_not_embedded_again(remembered: CachingEmbedder, services: ScriptedServices) -> None:
    first, second, other = asking(remembered, "one", "one", "two")
    assert asked(services) == ["one", "two"]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_only_the_last_questions_are_kept(remembered: CachingEmbedder, services: ScriptedServices) -> None:
    asking(remembered, "one", "two", "three", "two", "three", "one")
    assert asked(services) == ["one", "two", "three", "one"]


def test_what_is_too_old_is_embedded_anew(
    remembered: CachingEmbedder, services: ScriptedServices, clock: Clock
) -> None:
    async def run() -> None:
        for now in (0.0, 59.9, 60.0, 119.9, 120.0):
            clock.now = now
            await remembered.embed_question("one")
        await remembered.close()

    asyncio.run(run())
    assert asked(services) == ["one"] * 3


def test_where_none_may_be_kept_none_is(services: ScriptedServices) -> None:
    asking(CachingEmbedder(CohereEmbedder(CohereClient(KEY, services.url)), 0), "one", "one")
    assert asked(services) == ["one", "one"]


def test_those_who_ask_the_same_at_once_ask_together(remembered: CachingEmbedder, services: ScriptedServices) -> None:
    async def run() -> list[Vectors]:
        found = await asyncio.gather(*map(remembered.embed_question, ["one", "two", "one", "one"]))
        await remembered.close()
        return found

    first, other, *same = asyncio.run(run())
    assert sorted(asked(services)) == ["one", "two"]
    assert all(np.array_equal(first, each) for each in same)
    assert not np.array_equal(first, other)


def test_a_failure_is_for_those_who_asked_and_not_remembered(
    remembered: CachingEmbedder, services: ScriptedServices
) -> None:
    services.fails(Fault.UNAUTHORIZED)

    async def run() -> None:
        failed = await asyncio.gather(*map(remembered.embed_question, ["one", "one"]), return_exceptions=True)
        assert [type(each) for each in failed] == [ServiceAuthenticationError, ServiceAuthenticationError]
        assert len(await remembered.embed_question("one")) == 1024
        await remembered.close()

    asyncio.run(run())
    assert asked(services) == ["one", "one"]


class Waiting:
    """An embedder that answers when a test says so."""

    name, dimension, budget = "waiting", 1, 1

    def __init__(self) -> None:
        self.go, self.times = asyncio.Event(), 0

    def tokens(self, text: str) -> int:
        return len(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), 1), np.float32)

    async def embed_question(self, text: str) -> Vectors:
        self.times += 1
        await self.go.wait()
        return np.ones(1, np.float32)

    async def close(self) -> None: ...


def test_whoever_leaves_early_takes_nothing_from_the_others() -> None:
    async def run() -> None:
        waiting = Waiting()
        remembered = CachingEmbedder(waiting, 2)
        first, second = (asyncio.create_task(remembered.embed_question("one")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        waiting.go.set()
        assert (await second).shape == (1,)
        assert first.cancelled()
        assert waiting.times == 1

    asyncio.run(run())


def test_closing_ends_what_is_still_asked() -> None:
    async def run() -> None:
        remembered = CachingEmbedder(Waiting(), 2)
        asked = asyncio.create_task(remembered.embed_question("one"))
        await asyncio.sleep(0)
        await remembered.close()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(run())


def test_a_vector_that_many_hold_cannot_be_changed(remembered: CachingEmbedder) -> None:
    (vector,) = asking(remembered, "one")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 2.0
