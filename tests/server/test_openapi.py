"""The OpenAPI document is the published one, and the running server keeps to it."""

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

from bookbound.bootstrap import book_opener
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

SNAPSHOT = Path(__file__).parent / "openapi.json"
Served = Callable[..., AbstractContextManager[str]]


THEIRS_TO_CHOOSE = {"query", "question", "selected_text", "selection", "scope", "k", "top_k", "threshold", "session_id"}
OURS_TO_CHOOSE = {
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


def published() -> dict[str, Any]:
    chosen = Settings()
    return create_app(
        ScriptedBackend(make_refusal()), chosen, store=partial(book_opener.find_book_store, chosen)
    ).openapi()


def inputs(document: Any) -> Iterator[str]:
    """The names of all that a request can carry: parameters, and the fields of bodies, at any depth."""
    for operations in document["paths"].values():
        for operation in operations.values():
            yield from (parameter["name"] for parameter in operation.get("parameters", ()))
            yield from _fields(operation.get("requestBody", {}), document)


def _fields(node: Any, document: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _fields(each, document)
    elif isinstance(node, dict):
        yield from node.get("properties", ())
        for each in node.values():
            yield from _fields(each, document)
        if name := node.get("$ref", "").rpartition("/")[2]:
            yield from _fields(document["components"]["schemas"][name], document)


def test_no_request_names_a_place_on_the_server_or_chooses_the_prompt_or_the_model() -> None:
    found = set(inputs(published()))
    assert found >= {"question", "selection", "query", "session_id"}
    assert not found & OURS_TO_CHOOSE
    assert found <= THEIRS_TO_CHOOSE, "whatever a request may carry is named here on purpose"


def test_the_document_is_the_published_one() -> None:
    document = json.dumps(published(), indent=1, sort_keys=True) + "\n"
    if os.environ.get("BOOKBOUND_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(document)
    assert document == SNAPSHOT.read_text(), "set BOOKBOUND_WRITE_SNAPSHOTS=1 to publish a changed contract"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_request_gets_a_500_or_what_the_document_does_not_say(served: Served) -> None:
    with served() as address:
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
        assert {operation.path for operation in operations} >= {"/ask", "/chat", "/api/query", "/v1/answers"}
        for operation in operations:
            _kept_to(operation.as_strategy())


def _kept_to(cases: SearchStrategy[Any]) -> None:
    @given(case=cases)
    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    def keeps_to_the_document(case: Any) -> None:
        # A document cannot say that white space is no question, so some requests that it allows are refused.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    keeps_to_the_document()
