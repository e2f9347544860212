"""Tests the rules that every embedder keeps; those of services are called over HTTP."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from tests.indexing.embed.adapters import make_embedder, run_and_close

from bookbound.domain.ports import Embedder, Vectors
from bookbound.models.onnx import OnnxEmbedder
from bookbound.testing.scripted_services import ScriptedServices

WALKING, STEPPING, COOKING = (
    "The robot walks on two legs.",
    "On two legs the robot walks slowly.",
    "Simmer soup for an hour.",
)


@pytest.fixture(params=["local", "cohere", "openai", "cached"])
def embedder(request: pytest.FixtureRequest, services: ScriptedServices) -> Embedder:
    return make_embedder(request.param, services.url)


def test_the_dimension_is_known_before_anything_is_embedded(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[int, Vectors, Vectors]:
        return embedder.dimension, await embedder.embed([WALKING]), await embedder.embed_question(WALKING)

    dimension, rows, vector = run_and_close(embedder, work)
    assert rows.shape == (1, dimension)
    assert vector.shape == (dimension,)


def test_each_text_gets_a_vector_of_length_one(embedder: Embedder) -> None:
    rows = run_and_close(embedder, lambda embedder: embedder.embed([WALKING, "x" * 5000, COOKING, WALKING]))
    assert len(rows) == 4
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert np.array_equal(rows[0], rows[3])
    assert not np.array_equal(rows[0], rows[2])


def test_the_vector_of_a_text_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, Vectors]:
        return (await embedder.embed([WALKING]))[0], (await embedder.embed([COOKING, WALKING]))[1]

    alone, among = run_and_close(embedder, work)
    assert np.array_equal(alone, among)


def test_a_question_is_closest_to_the_matching_text(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, Vectors]:
        return await embedder.embed([STEPPING, COOKING]), await embedder.embed_question(WALKING)

    rows, question = run_and_close(embedder, work)
    near, far = rows @ question
    assert near > far + 0.2


def test_the_score_of_a_similarity_rises_with_the_cosine_from_0_to_1(embedder: Embedder) -> None:
    scores = [embedder.score_similarity(cosine / 20) for cosine in range(21)]
    assert scores == sorted(set(scores))
    assert scores[0] == pytest.approx(0, abs=0.01)
    assert scores[-1] == pytest.approx(1, abs=0.01)


def test_concurrent_questions_get_their_own_vectors(embedder: Embedder) -> None:
    texts = [WALKING, COOKING, STEPPING] * 3

    async def work(embedder: Embedder) -> tuple[list[Vectors], list[Vectors]]:
        at_once = await asyncio.gather(*map(embedder.embed_question, texts))
        return at_once, [await embedder.embed_question(text) for text in texts]

    assert np.array_equal(*run_and_close(embedder, work))


def test_no_texts_give_an_empty_matrix(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> tuple[Vectors, int]:
        return await embedder.embed([]), embedder.dimension

    rows, dimension = run_and_close(embedder, work)
    assert rows.shape == (0, dimension)


def test_every_embedder_counts_tokens_like_the_local_one(embedder: Embedder) -> None:
    local = OnnxEmbedder()
    assert embedder.max_tokens == local.max_tokens
    for text in ("", WALKING, "robot " * 300, "漢字かな混じり文。"):
        assert embedder.count_tokens(text) == local.count_tokens(text)


def test_the_name_is_stable_and_contains_neither_key_nor_url(
    embedder: Embedder, services: ScriptedServices, request: pytest.FixtureRequest
) -> None:
    again = make_embedder(request.node.callspec.params["embedder"], services.refused_url)
    assert embedder.name == again.name
    assert "127.0.0.1" not in embedder.name
    assert "sk-" not in embedder.name


def test_an_embedder_can_be_closed_twice(embedder: Embedder) -> None:
    async def work(embedder: Embedder) -> None:
        await embedder.embed_question(WALKING)
        await embedder.close()

    run_and_close(embedder, work)
