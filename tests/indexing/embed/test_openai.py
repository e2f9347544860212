from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.indexing.embed.adapters import KEY, made, using

from bookbound.domain.errors import ConfigError, ServiceAuthenticationError, ServiceError, ServiceResponseError
from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.testing.loopback_server import LoopbackServer
from bookbound.testing.scripted_services import Fault, ScriptedServices


def answering(reply: Callable[[list[str]], object]) -> LoopbackServer:
    """A server that makes its reply of the texts it is sent."""

    async def answer(request: Request) -> Response:
        made = reply((await request.json())["input"])
        return made if isinstance(made, Response) else JSONResponse(made)

    return LoopbackServer(Starlette(routes=[Route("/v1/embeddings", answer, methods=["POST"])]))


def test_what_is_asked_is_what_every_service_of_the_kind_knows(services: ScriptedServices) -> None:
    using(made("openai", services.url), lambda embedder: embedder.embed(["A robot walks.", "It runs."]))
    (asked,) = services.requests
    assert asked.path == "/v1/embeddings"
    assert asked.json == {
        "input": ["A robot walks.", "It runs."],
        "model": "text-embedding-3-small",
        "encoding_format": "float",
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_nothing_of_the_environment_goes_along(services: ScriptedServices, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://ambient.example")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: ambient\nAuthorization: Bearer ambient")
    for key in (KEY, None):
        embedder = OpenAIEmbedder(key, url=services.openai_url)
        using(embedder, lambda embedder: embedder.embed_question("Who walks?"))
    assert len(services.requests) == 2
    assert all("ambient" not in json.dumps([asked.headers, asked.json]) for asked in services.requests)


def test_one_question_after_another_goes_by_one_connection(services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        for question in ("Who walks?", "Who runs?", "Who stands?"):
            await embedder.embed_question(question)

    using(made("openai", services.url), work)
    assert len({asked.connection for asked in services.requests}) == 1


def test_a_dimension_that_is_known_is_not_asked_for(services: ScriptedServices) -> None:
    given = OpenAIEmbedder(KEY, url=services.openai_url, dimension=1536)
    assert given.dimension == 1536
    assert services.requests == []
    learnt = made("openai", services.url)

    async def work(embedder: Embedder) -> None:
        await embedder.embed_question("Who walks?")
        assert embedder.dimension == 1536

    using(learnt, work)
    assert len(services.requests) == 1


def test_vectors_of_another_dimension_than_the_given_are_not_taken(services: ScriptedServices) -> None:
    embedder = OpenAIEmbedder(KEY, url=services.openai_url, dimension=384)
    with pytest.raises(ServiceResponseError):
        using(embedder, lambda embedder: embedder.embed_question("Who walks?"))


def test_a_service_that_fails_when_asked_for_its_dimension_fails_as_always(services: ScriptedServices) -> None:
    services.fails(Fault.UNAUTHORIZED)
    with pytest.raises(ServiceAuthenticationError):
        _ = made("openai", services.url).dimension


def test_rows_are_put_in_the_order_that_the_service_says(services: ScriptedServices) -> None:
    def backwards(texts: list[str]) -> object:
        rows = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(texts)]
        return {"data": rows[::-1]}

    server = answering(backwards)
    rows = using(made("openai", server.url), lambda embedder: embedder.embed(["a", "bbbb", "cc"]))
    server.close()
    assert np.allclose(rows[:, 0] / rows[:, 1], [1, 4, 2])


@pytest.mark.parametrize(
    "reply",
    [
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 1, "embedding": [1.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": ["one", "two"]}]},
        {"data": [{"index": 0, "embedding": [[1.0]]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"embedding": [1.0]}]},
        {"data": None},
        {"data": "text"},
        [],
        "text",
        None,
        7,
    ],
    ids=str,
)
def test_a_reply_of_another_shape_cannot_be_used(reply: object, services: ScriptedServices) -> None:
    server = answering(lambda _: reply)
    with pytest.raises(ServiceResponseError):
        using(made("openai", server.url), lambda embedder: embedder.embed_question("Who walks?"))
    server.close()


def test_nobody_is_followed_to_another_host(services: ScriptedServices) -> None:
    server = answering(lambda _: RedirectResponse(f"{services.openai_url}/embeddings", 307))
    with pytest.raises(ServiceError):
        using(made("openai", server.url), lambda embedder: embedder.embed_question("Who walks?"))
    server.close()
    moved = Starlette(routes=[Route("/v2/embed", lambda _: RedirectResponse(services.url), methods=["POST"])])
    server = LoopbackServer(moved)
    with pytest.raises(ServiceError):
        using(CohereEmbedder(CohereClient(KEY, server.url)), lambda embedder: embedder.embed_question("Who walks?"))
    server.close()
    assert services.requests == []


def test_a_name_tells_the_model() -> None:
    assert OpenAIEmbedder(KEY).name == "openai:text-embedding-3-small"
    assert OpenAIEmbedder(KEY, "nomic-embed-text", "http://localhost:11434/v1").name == "openai:nomic-embed-text"


def test_a_key_or_an_address_that_is_none_names_its_setting() -> None:
    with pytest.raises(ConfigError, match="`embed_key`"):
        OpenAIEmbedder("two\nlines")
    with pytest.raises(ConfigError, match="`embed_url`"):
        OpenAIEmbedder(KEY, url="localhost:11434")
