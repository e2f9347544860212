from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.indexing.embed.adapters import KEY, make_embedder, run_and_close

from bookbound.domain.errors import ConfigError, ServiceAuthenticationError, ServiceError, ServiceResponseError
from bookbound.domain.ports import Embedder
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.testing.loopback_server import LoopbackServer
from bookbound.testing.scripted_services import Fault, ScriptedServices


def serve_replies(reply: Callable[[list[str]], object]) -> LoopbackServer:
    """Starts a server that computes its reply from the texts of a request."""

    async def answer(request: Request) -> Response:
        content = reply((await request.json())["input"])
        return content if isinstance(content, Response) else JSONResponse(content)

    return LoopbackServer(Starlette(routes=[Route("/v1/embeddings", answer, methods=["POST"])]))


def test_the_request_uses_only_common_parameters(services: ScriptedServices) -> None:
    run_and_close(
        make_embedder("openai", services.url), lambda embedder: embedder.embed(["A robot walks.", "It runs."])
    )
    (request,) = services.requests
    assert request.path == "/v1/embeddings"
    assert request.json == {
        "input": ["A robot walks.", "It runs."],
        "model": "text-embedding-3-small",
        "encoding_format": "float",
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_the_environment_does_not_affect_the_request(
    services: ScriptedServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://ambient.example")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: ambient\nAuthorization: Bearer ambient")
    for key in (KEY, None):
        embedder = OpenAIEmbedder(key, url=services.openai_url)
        run_and_close(embedder, lambda embedder: embedder.embed_question("Who walks?"))
    assert len(services.requests) == 2
    assert all("ambient" not in json.dumps([request.headers, request.json]) for request in services.requests)


def test_sequential_questions_share_one_connection(services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        for question in ("Who walks?", "Who runs?", "Who stands?"):
            await embedder.embed_question(question)

    run_and_close(make_embedder("openai", services.url), work)
    assert len({request.connection for request in services.requests}) == 1


def test_a_known_dimension_is_not_requested(services: ScriptedServices) -> None:
    configured = OpenAIEmbedder(KEY, url=services.openai_url, dimension=1536)
    assert configured.dimension == 1536
    assert services.requests == []
    probing = make_embedder("openai", services.url)

    async def work(embedder: Embedder) -> None:
        await embedder.embed_question("Who walks?")
        assert embedder.dimension == 1536

    run_and_close(probing, work)
    assert len(services.requests) == 1


def test_vectors_of_another_dimension_are_refused(services: ScriptedServices) -> None:
    embedder = OpenAIEmbedder(KEY, url=services.openai_url, dimension=384)
    with pytest.raises(ServiceResponseError):
        run_and_close(embedder, lambda embedder: embedder.embed_question("Who walks?"))


def test_a_failure_while_learning_the_dimension_is_reported_as_usual(services: ScriptedServices) -> None:
    services.fail_with(Fault.UNAUTHORIZED)
    with pytest.raises(ServiceAuthenticationError):
        _ = make_embedder("openai", services.url).dimension


def test_rows_are_sorted_by_their_index(services: ScriptedServices) -> None:
    def backwards(texts: list[str]) -> object:
        rows = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(texts)]
        return {"data": rows[::-1]}

    server = serve_replies(backwards)
    rows = run_and_close(make_embedder("openai", server.url), lambda embedder: embedder.embed(["a", "bbbb", "cc"]))
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
def test_a_malformed_reply_is_refused(reply: object, services: ScriptedServices) -> None:
    server = serve_replies(lambda _: reply)
    with pytest.raises(ServiceResponseError):
        run_and_close(make_embedder("openai", server.url), lambda embedder: embedder.embed_question("Who walks?"))
    server.close()


def test_redirects_are_not_followed(services: ScriptedServices) -> None:
    server = serve_replies(lambda _: RedirectResponse(f"{services.openai_url}/embeddings", 307))
    with pytest.raises(ServiceError):
        run_and_close(make_embedder("openai", server.url), lambda embedder: embedder.embed_question("Who walks?"))
    server.close()
    moved = Starlette(routes=[Route("/v2/embed", lambda _: RedirectResponse(services.url), methods=["POST"])])
    server = LoopbackServer(moved)
    with pytest.raises(ServiceError):
        run_and_close(
            CohereEmbedder(CohereClient(KEY, server.url)), lambda embedder: embedder.embed_question("Who walks?")
        )
    server.close()
    assert services.requests == []


def test_the_name_contains_the_model() -> None:
    assert OpenAIEmbedder(KEY).name == "openai:text-embedding-3-small"
    assert OpenAIEmbedder(KEY, "nomic-embed-text", "http://localhost:11434/v1").name == "openai:nomic-embed-text"


def test_an_invalid_key_or_url_names_its_setting() -> None:
    with pytest.raises(ConfigError, match="`embedder_key`"):
        OpenAIEmbedder("two\nlines")
    with pytest.raises(ConfigError, match="`embedder_url`"):
        OpenAIEmbedder(KEY, url="localhost:11434")
