"""Tests what all contracts share: request ids, headers, limits and error bodies."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable

import pytest
from pydantic import BaseModel, Field
from starlette.testclient import TestClient

from bookbound.domain.errors import (
    CorruptIndexError,
    OverloadedError,
    ServiceRateLimitError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
ASKED = {
    "/ask": {"question": "Does it walk?"},
    "/chat": {"question": "Does it walk?"},
    "/api/v1/chat": {"question": "Does it walk?"},
    "/api/query": {"query": "Does it walk?"},
    "/v1/query": {"query": "Does it walk?"},
    "/v1/answers": {"question": "Does it walk?"},
}
INVALID_STATUSES = {
    "/ask": 400,
    "/chat": 422,
    "/api/v1/chat": 422,
    "/api/query": 400,
    "/v1/query": 400,
    "/v1/answers": 422,
}
CORS_SETTINGS, CORS_HEADER = Settings(allowed_origins=("https://book.example",)), "Access-Control-Allow-Origin"
Scripted = Callable[..., TestClient]
SECRET = "the reader's own words"


def error_fields(path: str) -> set[str]:
    """The fields of the error body at a path."""
    if "query" in path:
        return {"status", "answer", "refusal", "error", "metadata"}
    if "chat" in path:
        return {"error", "message", "details", "retry_after"}
    return {"error", "request_id"} if path.startswith("/v1") else {"error", "detail"}


@pytest.mark.parametrize("path", ASKED)
def test_only_our_own_api_falls_back_to_quotes_if_a_model_fails(path: str) -> None:
    backend = ScriptedBackend(ANSWER)
    TestClient(create_app(backend, Settings())).post(path, json=ASKED[path])
    assert [question.allow_fallback for question in backend.questions] == [path == "/v1/answers"]


@pytest.mark.parametrize("path", ASKED)
def test_every_contract_answers_and_refuses_with_200(scripted: Scripted, path: str) -> None:
    assert scripted(ANSWER).post(path, json=ASKED[path]).status_code == 200
    assert scripted(make_refusal()).post(path, json=ASKED[path]).status_code == 200


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ServiceUnreachableError("Qdrant cannot be reached.", service="qdrant"), 503),
        (ServiceTimeoutError("Qdrant did not answer.", service="qdrant"), 504),
        (ServiceRateLimitError("Too fast.", service="language model", retry_after=6.2), 429),
        (OverloadedError("Too many.", retry_after=0.5), 503),
        (CorruptIndexError("Index the book again."), 503),
        (RuntimeError(SECRET), 500),
    ],
)
def test_an_error_has_its_status_and_the_body_of_the_contract(
    scripted: Scripted, path: str, error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        response = scripted(error).post(path, json=ASKED[path])
    assert response.status_code == status
    assert set(response.json()) == error_fields(path)
    wait = getattr(error, "retry_after", None)
    assert response.headers.get("Retry-After") == ({6.2: "7", 0.5: "1"}[wait] if wait else None)
    assert SECRET not in response.text + caplog.text


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("body", ["", "{", "[]", "3", '"x"', '{"question": 3, "query": 3}', "\x00", '{"k": "\\ud800"}'])
def test_an_invalid_body_gets_the_error_body_of_the_contract(scripted: Scripted, path: str, body: str) -> None:
    response = scripted(ANSWER).post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == INVALID_STATUSES[path]
    assert set(response.json()) == error_fields(path)


@pytest.mark.parametrize("path", [*ASKED, "/v1/search"])
def test_an_unknown_field_is_an_error_in_our_own_api_and_ignored_by_the_contracts(
    scripted: Scripted, path: str
) -> None:
    body = ASKED.get(path, {"query": "walking"})
    response = scripted(ANSWER).post(path, json=body | {"selektion": SECRET})
    if path not in ("/v1/answers", "/v1/search"):
        assert response.status_code == 200
        return
    assert response.status_code == 422
    assert [each["field"] for each in response.json()["error"]["fields"]] == ["selektion"]
    assert SECRET not in response.text


def test_malformed_json_is_reported_as_such(scripted: Scripted) -> None:
    response = scripted(ANSWER).post("/ask", content='{"question": ', headers={"Content-Type": "application/json"})
    assert response.json() == {"error": "invalid_input", "detail": "body: is not valid JSON"}


@pytest.mark.parametrize("path", ASKED)
def test_text_with_lone_surrogates_is_invalid(scripted: Scripted, path: str) -> None:
    body = '{"question": "a\\ud800", "query": "a\\ud800"}'
    response = scripted(ANSWER).post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == INVALID_STATUSES[path]


@pytest.mark.parametrize("path", ASKED)
def test_another_content_type_is_415(scripted: Scripted, path: str) -> None:
    response = scripted(ANSWER).post(path, content="question=x", headers={"Content-Type": "text/plain"})
    assert (response.status_code, set(response.json())) == (415, error_fields(path))


@pytest.mark.parametrize("path", ASKED)
def test_a_body_over_the_limit_is_413_with_and_without_content_length(scripted: Scripted, path: str) -> None:
    client = scripted(ANSWER, Settings(max_body_bytes=1024))
    for content in (b"x" * 1025, iter([b"x" * 600, b"x" * 600])):
        response = client.post(path, content=content, headers={"Content-Type": "application/json"})
        assert (response.status_code, set(response.json())) == (413, error_fields(path))
    within = json.dumps(ASKED[path]).ljust(1024)
    assert client.post(path, content=within, headers={"Content-Type": "application/json"}).status_code == 200


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("body", [b"{", b'{"question": "\xff"}', b"[" * 100_000])
def test_every_kind_of_malformed_json_gets_the_same_body(scripted: Scripted, path: str, body: bytes) -> None:
    client, headers = scripted(ANSWER), {"Content-Type": "application/json", "X-Request-ID": "a"}
    first, second = (client.post(path, content=content, headers=headers).json() for content in (body, b'{"query": '))
    assert first == second


@pytest.mark.parametrize("number", [5.0, "5", " 5 ", "5.0"])
def test_a_whole_number_is_taken_in_another_spelling_only_where_the_published_model_takes_it(number: object) -> None:
    class Published(BaseModel):
        top_k: int = Field(5, ge=1, le=20)

    assert Published.model_validate({"top_k": number}).top_k == 5
    for path in ASKED:
        backend = ScriptedBackend(ANSWER)
        field = "k" if path == "/v1/answers" else "top_k"
        response = TestClient(create_app(backend, Settings())).post(path, json=ASKED[path] | {field: number})
        assert response.status_code == (422 if path == "/v1/answers" else 200)
        assert [question.k for question in backend.questions] == ([] if path == "/v1/answers" else [5])


@pytest.mark.parametrize("path", ASKED)
def test_a_trailing_slash_is_the_same_path_without_a_redirect(scripted: Scripted, path: str) -> None:
    client = scripted(ANSWER)
    response = client.post(f"{path}/", json=ASKED[path], follow_redirects=False)
    assert (response.status_code, set(response.json())) == (200, set(client.post(path, json=ASKED[path]).json()))
    invalid = client.post(f"{path}/", json={})
    assert (invalid.status_code, set(invalid.json())) == (INVALID_STATUSES[path], error_fields(path))
    assert client.post(f"{path}//", json=ASKED[path]).status_code == 404


def test_a_trailing_slash_works_for_get_and_for_the_path_of_a_book(scripted: Scripted) -> None:
    client = scripted(ANSWER)
    paths = ("/v1/book/", "/health/", "/health/ready/", "/openapi.json/", "/books/robots/v1/book/")
    assert {client.get(path, follow_redirects=False).status_code for path in paths} == {200}
    assert client.get("/books/robots/").status_code == 404


def test_health_supports_head(scripted: Scripted) -> None:
    client = scripted(ANSWER)
    assert client.head("/health").status_code == client.head("/health/ready").status_code == 200


def test_the_connection_is_closed_after_a_body_that_is_too_large(scripted: Scripted) -> None:
    response = scripted(ANSWER, Settings(max_body_bytes=1024)).post("/ask", json={"question": "x" * 2000})
    assert (response.status_code, response.headers["Connection"]) == (413, "close")


def test_an_unknown_path_is_404_and_a_wrong_method_405_with_the_allowed_methods(scripted: Scripted) -> None:
    client = scripted(ANSWER)
    assert client.get("/nothing/here").status_code == 404
    assert client.post("/nothing/here", json={}).json()["error"]["type"] == "not_found"
    response = client.get("/ask")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
    assert response.json()["error"] == "method_not_allowed"


def test_a_valid_request_id_is_returned_and_an_invalid_one_replaced(scripted: Scripted) -> None:
    client = scripted(ANSWER)
    given = client.post("/chat", json=ASKED["/chat"], headers={"X-Request-ID": "abc-1.2_3"})
    assert given.headers["X-Request-ID"] == given.json()["metadata"]["request_id"] == "abc-1.2_3"
    for bad in ("", "a b", "x" * 129, "<script>"):
        request_id = client.get("/health", headers={"X-Request-ID": bad}).headers["X-Request-ID"]
        assert str(uuid.UUID(request_id)) == request_id


@pytest.mark.parametrize(("method", "path"), [("GET", "/health"), ("POST", "/ask"), ("GET", "/nothing")])
def test_every_response_has_security_headers(scripted: Scripted, method: str, path: str) -> None:
    headers = scripted(ANSWER).request(method, path, json={} if method == "POST" else None).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_other_origins_are_denied_unless_the_setting_names_them(scripted: Scripted) -> None:
    origin = {"Origin": "https://book.example"}
    preflight = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for client, allowed in ((scripted(ANSWER), None), (scripted(ANSWER, CORS_SETTINGS), "https://book.example")):
        assert client.post("/ask", json=ASKED["/ask"], headers=origin).headers.get(CORS_HEADER) == allowed
        assert client.options("/ask", headers=preflight).headers.get(CORS_HEADER) == allowed
        other = {"Origin": "https://evil.example"}
        assert client.post("/ask", json=ASKED["/ask"], headers=other).headers.get(CORS_HEADER) is None


def test_a_refused_origin_is_logged_with_the_setting_that_allows_it(
    scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    client = scripted(ANSWER, CORS_SETTINGS)
    refused, allowed = {"Origin": "https://other.example"}, {"Origin": "https://book.example"}
    own = {"Origin": "http://testserver"}
    preflight = {"Access-Control-Request-Method": "POST"}
    for headers, is_logged in ((refused, True), (allowed, False), (own, False), ({}, False)):
        for method in ("OPTIONS", "POST"):
            caplog.clear()
            client.request(method, "/ask", json=ASKED["/ask"], headers=headers | preflight)
            assert any("`allowed_origins`" in message for message in caplog.messages) == is_logged
            assert "other.example" not in caplog.text


def test_the_server_is_alive_always_and_ready_only_if_each_part_works(scripted: Scripted) -> None:
    ready, failing = scripted(ANSWER), scripted(ServiceUnreachableError(SECRET, service="qdrant"))
    assert ready.get("/health").json() == failing.get("/health").json() == {"status": "alive"}
    for path in ("/health/ready", "/api/v1/health"):
        assert ready.get(path).status_code == 200
        assert ready.get(path).json()["models"] == {"embedder": "scripted", "writer": "scripted"}
        response = failing.get(path)
        assert response.status_code == 503
        assert response.json()["parts"]["script"]["problem"] == "ServiceUnreachableError"
        assert SECRET not in response.text
