"""The OpenAPI document matches its snapshot, and the running server matches the document."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.checks import positive_data_acceptance
from schemathesis.core.result import Ok

from bookbound.bootstrap import book_catalogue
from bookbound.bootstrap.reindex_process import build_reindexing
from bookbound.contracts import chat_completions
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

SNAPSHOT = Path(__file__).parent / "openapi.json"
Served = Callable[..., AbstractContextManager[str]]


CLIENT_FIELDS = {
    "query",
    "question",
    "selected_text",
    "selection",
    "scope",
    "k",
    "top_k",
    "threshold",
    "session_id",
} | {*("conversation", "answer", "history", "days", "to")}
SERVER_FIELDS = {
    "path",
    "file",
    "folder",
    "directory",
    "index",
    "url",
    "uri",
    "host",
    "address",
    "collection",
    "key",
} | {
    *("model", "prompt", "system", "instructions", "messages", "temperature", "tools", "embedder", "examiner", "writer")
}

OPENAI_FIELDS = {
    *("messages", "role", "content", "type", "text", "stream", "stream_options", "include_usage"),
    *("n", "tools", "functions", "audio", "modalities", "response_format", "logprobs", "web_search_options"),
    "model",
}
"""The fields of a published API: a model is a book, and the second line must be empty or the one thing we do."""


def build_document() -> dict[str, Any]:
    settings = Settings()
    find_store = partial(book_catalogue.find_book_store, settings)
    list_books = book_catalogue.BookCatalogue(settings).manifests
    app = create_app(
        ScriptedBackend(make_refusal()),
        settings,
        find_store=find_store,
        reindexing=build_reindexing(settings),
        list_books=list_books,
    )
    return app.openapi()


def input_names(document: Any) -> Iterator[str]:
    """The names of all parameters and body fields, at any depth."""
    for operations in document["paths"].values():
        for operation in operations.values():
            yield from (parameter["name"] for parameter in operation.get("parameters", ()))
            yield from _field_names(operation.get("requestBody", {}), document)


def _field_names(node: Any, document: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _field_names(each, document)
    elif isinstance(node, dict):
        yield from node.get("properties", ())
        for each in node.values():
            yield from _field_names(each, document)
        if name := node.get("$ref", "").rpartition("/")[2]:
            yield from _field_names(document["components"]["schemas"][name], document)


def test_no_request_chooses_a_place_on_the_server_the_prompt_or_the_model() -> None:
    document = build_document()
    borrowed = {path: document["paths"].pop(path) for path in chat_completions.PATHS}
    assert set(input_names(document | {"paths": borrowed})) == OPENAI_FIELDS
    found = set(input_names(document))
    assert found >= {"question", "selection", "query", "session_id"}
    assert not found & SERVER_FIELDS
    assert found <= CLIENT_FIELDS, "list a new field of a request here on purpose"


def test_the_document_matches_its_snapshot() -> None:
    document = json.dumps(build_document(), indent=1, sort_keys=True) + "\n"
    if os.environ.get("BOOKBOUND_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(document)
    assert document == SNAPSHOT.read_text(), "set BOOKBOUND_WRITE_SNAPSHOTS=1 to publish a changed contract"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.timeout(600)  # it sends thousands of requests
def test_no_request_gets_a_500_or_an_undocumented_response(served: Served) -> None:
    with served() as address:
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json", timeout=120)
        operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
        assert {operation.path for operation in operations} >= {"/ask", "/chat", "/api/query", "/v1/answers"}
        for operation in operations:
            _check_responses(operation.as_strategy())


def _check_responses(cases: SearchStrategy[Any]) -> None:
    @given(case=cases)
    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    def check_response(case: Any) -> None:
        # The document cannot express that white space is no question, so the server rejects some requests it allows.
        case.call_and_validate(excluded_checks=[positive_data_acceptance], timeout=60)

    check_response()
