"""What every embedder promises, whoever computes the vectors; those that ask a service do so over HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.indexing.embed.adapters import made, using

from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.testing.scripted_services import ScriptedServices

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

WALKING, STEPPING, COOKING = (
    "The robot walks on two legs.",
    "On two legs the robot walks slowly.",
    "Simmer soup for an hour.",
)


@pytest.fixture(params=["local", "cohere", "openai", "remembered"])
def embedder(request: pytest.FixtureRequest, services: ScriptedServices) -> Embedder:
    return made(request.param, services.url)


def test_the_dimension_is_known_before_anything_is_embedded(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[int, Vectors, Vectors]:
        return embedder.dimension, await embedder.embed([WALKING]), await embedder.embed_question(WALKING)

    dimension, rows, vector = using(embedder, work)
    assert rows.shape == (1, dimension)
    assert vector.shape == (dimension,)


def test_there_is_a_row_of_length_one_for_each_text(embedder: Embedder) -> None:
    rows = using(embedder, lambda embedder: embedder.embed([WALKING, "x" * 5000, COOKING, WALKING]))
    assert len(rows) == 4
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert np.array_equal(rows[0], rows[3])
    assert not np.array_equal(rows[0], rows[2])


def test_a_text_has_the_same_vector_whatever_is_embedded_with_it(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, Vectors]:
        return (await embedder.embed([WALKING]))[0], (await embedder.embed([COOKING, WALKING]))[1]

    alone, among = using(embedder, work)
    assert np.array_equal(alone, among)


def test_a_question_is_nearer_to_the_text_that_speaks_of_it(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, Vectors]:
        return await embedder.embed([STEPPING, COOKING]), await embedder.embed_question(WALKING)

    rows, question = using(embedder, work)
    near, far = rows @ question
    assert near > far + 0.2


def test_questions_asked_at_once_get_each_its_own_vector(embedder: Embedder) -> None:
    texts = [WALKING, COOKING, STEPPING] * 3

    async def work(embedder: Embedder) -> tuple[list[Vectors], list[Vectors]]:
        at_once = await asyncio.gather(*map(embedder.embed_question, texts))
        return at_once, [await embedder.embed_question(text) for text in texts]

    assert np.array_equal(*using(embedder, work))


def test_nothing_gives_an_empty_matrix(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, int]:
        return await embedder.embed([]), embedder.dimension

    rows, dimension = using(embedder, work)
    assert rows.shape == (0, dimension)


def test_a_text_takes_as_many_tokens_as_with_the_local_embedder_so_that_chunks_are_the_same(embedder: Embedder) -> None:
    local = OnnxEmbedder()
    assert embedder.budget == local.budget
    for text in ("", WALKING, "robot " * 300, "漢字かな混じり文。"):
        assert embedder.tokens(text) == local.tokens(text)


def test_the_name_is_the_same_each_time_and_holds_neither_key_nor_url(
    embedder: Embedder, services: ScriptedServices, request: pytest.FixtureRequest
) -> None:
    again = made(request.node.callspec.params["embedder"], services.refused_url)
    assert embedder.name == again.name
    assert "127.0.0.1" not in embedder.name
    assert "sk-" not in embedder.name


def test_an_embedder_may_be_closed_twice(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> None:
        await embedder.embed_question(WALKING)
        await embedder.close()

    using(embedder, work)
