from __future__ import annotations

import asyncio

import pytest
from tests.indexing.embed.adapters import KEY, make_embedder, run_and_close

from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.cohere_embedder import ENGLISH_MODEL, MULTILINGUAL_MODEL, CohereEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.testing.scripted_services import ScriptedServices


def test_texts_and_questions_have_their_own_input_type_and_the_key_is_in_the_header(services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        await embedder.embed(["A robot walks."])
        await embedder.embed_question("Who walks?")

    run_and_close(make_embedder("cohere", services.url), work)
    text, question = services.requests
    assert text.json == {
        "texts": ["A robot walks."],
        "model": MULTILINGUAL_MODEL,
        "input_type": "search_document",
        "embedding_types": ["float"],
        "truncate": "END",
    }
    assert (question.json["texts"], question.json["input_type"]) == (["Who walks?"], "search_query")
    assert text.headers["authorization"] == f"Bearer {KEY}"


def test_many_texts_go_in_batches_of_96_and_come_back_in_order(services: ScriptedServices) -> None:
    texts = [f"word{i}" for i in range(300)]

    async def work(embedder: Embedder) -> None:
        rows = await embedder.embed(texts)
        assert len(rows) == 300
        for i in (0, 95, 96, 299):
            assert rows[i] @ (await embedder.embed([texts[i]]))[0] > 0.999

    run_and_close(make_embedder("cohere", services.url), work)
    assert sorted(len(request.json["texts"]) for request in services.requests[:4]) == [12, 96, 96, 96]


def test_sequential_questions_share_one_connection(services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        for question in ("Who walks?", "Who runs?", "Who stands?"):
            await embedder.embed_question(question)

    run_and_close(make_embedder("cohere", services.url), work)
    assert len({request.connection for request in services.requests}) == 1


def test_each_model_has_its_own_name() -> None:
    names = []
    for model in (None, MULTILINGUAL_MODEL, ENGLISH_MODEL):
        embedder = CohereEmbedder(CohereClient(KEY), model)
        names.append(embedder.name)
        asyncio.run(embedder.close())
    assert names == ["cohere:embed-multilingual-v3.0", "cohere:embed-multilingual-v3.0", "cohere:embed-english-v3.0"]


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="embedder_model"):
        CohereEmbedder(CohereClient(KEY), "embed-english-light-v3.0")


def test_white_space_around_the_key_is_removed(services: ScriptedServices) -> None:
    run_and_close(
        CohereEmbedder(CohereClient(f" {KEY}\n", services.url)), lambda embedder: embedder.embed_question("Who walks?")
    )
    assert services.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_invalid_key_or_url_names_its_setting() -> None:
    with pytest.raises(ConfigError, match="`cohere_key`"):
        CohereClient("two\nlines")
    with pytest.raises(ConfigError, match="`cohere_url`"):
        CohereClient(KEY, "api.cohere.com")
