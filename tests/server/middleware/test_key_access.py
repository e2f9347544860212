"""Tests what a key allows over every contract, and what browsers may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from bookbound.contracts.http_contract import Context
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.middleware.request_guard import PUBLIC_ROUTES
from bookbound.server.telemetry import QueueStats, Telemetry
from bookbound.server.telemetry.prometheus import PrometheusMetrics
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

SITE, OTHER = "https://book.example", "https://evil.example"
ANSWER = make_answer([("It walks.", make_passage("It walks."))])
QUESTIONS = {
    "/ask": {"question": "Does it walk?"},
    "/chat": {"question": "Does it walk?"},
    "/api/v1/chat": {"question": "Does it walk?"},
    "/api/query": {"query": "Does it walk?"},
    "/v1/query": {"query": "Does it walk?"},
    "/v1/answers": {"question": "Does it walk?"},
    "/v1/search": {"query": "walk"},
}
CODES: dict[str, Callable[[Any], str]] = {
    "/ask": lambda body: body["error"],
    "/chat": lambda body: body["error"],
    "/api/v1/chat": lambda body: body["error"],
    "/api/query": lambda body: body["error"]["code"],
    "/v1/query": lambda body: body["error"]["code"],
    "/v1/answers": lambda body: body["error"]["type"],
    "/v1/search": lambda body: body["error"]["type"],
}


@dataclass(frozen=True)
class KeyedService:
    """A service and a secret of each kind for it."""

    client: TestClient
    file: Path
    bound: str
    unbound: str
    admin: str


@pytest.fixture(params=["keys", "public"])
def access(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service(tmp_path: Path, access: str, monkeypatch: pytest.MonkeyPatch) -> KeyedService:
    monkeypatch.setattr(api_keys, "RELOAD_SECONDS", 0.0)
    file = tmp_path / "keys.json"
    secrets = []
    for kind, origin in ((KeyKind.PUBLISHABLE, SITE), (KeyKind.PUBLISHABLE, ANY_ORIGIN), (KeyKind.ADMIN, "")):
        key, secret = ApiKey.new(kind, "", [origin] if origin else [])
        api_keys.add_key(file, key)
        secrets.append(secret)
    app = create_app(ScriptedBackend(ANSWER), Settings(access_mode=access, key_file=file, rate_limits="off"))
    add_context_endpoint(app)
    return KeyedService(TestClient(app), file, *secrets)


def add_context_endpoint(app: FastAPI) -> None:
    @app.get("/context")
    async def show_context(context: Context) -> dict[str, Any]:
        return {"key": context.key_id, "admin": context.is_admin}


def key_headers(secret: str, origin: str | None = None) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"} | ({"Origin": origin} if origin else {})


@pytest.mark.parametrize("path", QUESTIONS)
def test_without_a_key_a_question_is_401_if_keys_are_required(service: KeyedService, access: str, path: str) -> None:
    response = service.client.post(path, json=QUESTIONS[path])
    assert response.status_code == (401 if access == "keys" else 200)
    if access == "keys":
        assert CODES[path](response.json()) == ("VALIDATION_FAILED" if "query" in path else "unauthorized")
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="bookbound"'


@pytest.mark.parametrize("path", QUESTIONS)
def test_an_invalid_key_is_401_and_one_from_another_origin_403_even_if_none_is_required(
    service: KeyedService, path: str
) -> None:
    for wrong in ("", "x", service.bound[:-1], f"{service.bound}x"):
        response = service.client.post(path, json=QUESTIONS[path], headers={"X-API-Key": wrong, "Origin": SITE})
        assert (response.status_code, "invalid_token" in response.headers["WWW-Authenticate"]) == (401, True)
    for origin in (OTHER, "null", f"{SITE}:8443", f"{SITE}.evil.example", None):
        response = service.client.post(path, json=QUESTIONS[path], headers=key_headers(service.bound, origin))
        assert response.status_code == 403
        assert CODES[path](response.json()) == ("VALIDATION_FAILED" if "query" in path else "forbidden")
        assert ("has no origin" in response.text) == (origin is None)
        assert "This key" in response.text
    assert service.bound not in response.text


@pytest.mark.parametrize("path", QUESTIONS)
def test_an_unknown_bearer_token_is_ignored_where_access_is_public(
    service: KeyedService, access: str, path: str
) -> None:
    for unknown in ("", "of-the-proxy", f"{service.bound}x"):
        response = service.client.post(path, json=QUESTIONS[path], headers=key_headers(unknown))
        assert response.status_code == (401 if access == "keys" else 200)
        assert ("invalid_token" in response.headers.get("WWW-Authenticate", "")) == (access == "keys")


def test_an_ignored_token_belongs_to_no_key(service: KeyedService, access: str) -> None:
    response = service.client.get("/context", headers=key_headers("of-the-proxy"))
    assert response.json() == {"key": None, "admin": False} if access == "public" else response.status_code == 401


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_key_opens_the_book_from_its_origins(service: KeyedService, path: str) -> None:
    for headers in (
        key_headers(service.bound, SITE),
        key_headers(service.unbound, OTHER),
        key_headers(service.unbound),
        key_headers(service.admin),
    ):
        assert service.client.post(path, json=QUESTIONS[path], headers=headers).status_code == 200


def test_the_description_of_the_book_needs_a_key_and_health_never_does(service: KeyedService, access: str) -> None:
    status = 401 if access == "keys" else 200
    assert service.client.get("/v1/book").status_code == status
    assert service.client.get("/v1/book", headers=key_headers(service.unbound)).status_code == 200
    for path in sorted(PUBLIC_ROUTES - {"/metrics"}):
        assert service.client.get(path).status_code == 200
        assert service.client.get(path, headers=key_headers("wrong")).status_code == 200


@pytest.mark.parametrize("path", ["//v1/book", "/v1/book//", "/V1/book", "/nothing", "/health/v1/book"])
def test_no_spelling_of_a_path_bypasses_the_key(service: KeyedService, access: str, path: str) -> None:
    assert service.client.get(path).status_code == (401 if access == "keys" else 404)


def test_the_context_of_a_request_has_its_key(service: KeyedService) -> None:
    _, unbound, admin = api_keys.load_keys(service.file).keys
    assert service.client.get("/context", headers=key_headers(service.unbound)).json() == {
        "key": unbound.id,
        "admin": False,
    }
    assert service.client.get("/context", headers={"X-API-Key": service.admin}).json() == {
        "key": admin.id,
        "admin": True,
    }
    both = {"X-API-Key": service.unbound, "Authorization": "Bearer of-the-proxy"}
    assert service.client.get("/context", headers=both).json()["key"] == unbound.id
    assert (
        service.client.get("/context", headers={"Authorization": f"bearer  {service.unbound} "}).json()["key"]
        == unbound.id
    )


def test_another_authorization_scheme_is_not_a_key(service: KeyedService, access: str) -> None:
    response = service.client.get("/context", headers={"Authorization": "Basic eDp5"})
    assert response.status_code == (401 if access == "keys" else 200)


def test_revoked_and_new_keys_take_effect_without_a_restart(service: KeyedService) -> None:
    _, unbound, _ = api_keys.load_keys(service.file).keys
    assert service.client.get("/v1/book", headers=key_headers(service.unbound)).status_code == 200
    api_keys.revoke_key(service.file, unbound.id)
    assert service.client.get("/v1/book", headers={"X-API-Key": service.unbound}).status_code == 401
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [ANY_ORIGIN])
    api_keys.add_key(service.file, key)
    assert service.client.get("/v1/book", headers=key_headers(secret)).status_code == 200


def test_a_page_of_the_origins_may_send_a_key_and_read_errors(service: KeyedService) -> None:
    _, unbound, _ = api_keys.load_keys(service.file).keys
    api_keys.revoke_key(service.file, unbound.id)
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-api-key"}
    allowed = "Access-Control-Allow-Origin"
    for origin, allowed_origin in ((SITE, SITE), (OTHER, None)):
        assert service.client.options("/ask", headers=asks | {"Origin": origin}).headers.get(allowed) == allowed_origin
        wrong = {"X-API-Key": "wrong", "Origin": origin}
        refused = service.client.post("/ask", json=QUESTIONS["/ask"], headers=wrong)
        assert (refused.status_code, refused.headers.get(allowed)) == (401, allowed_origin)


def test_a_page_may_name_a_book_and_preflight_responses_have_a_request_id(service: KeyedService) -> None:
    asks = {
        "Origin": SITE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "bookbound-book,bookbound-edition",
        "X-Request-ID": "abc",
    }
    response = service.client.options("/ask", headers=asks)
    assert (response.status_code, response.headers["X-Request-ID"]) == (200, "abc")
    assert {"Bookbound-Book", "Bookbound-Edition"} <= set(response.headers["Access-Control-Allow-Headers"].split(", "))


def test_a_key_for_any_origin_opens_only_the_replies_to_it(service: KeyedService, access: str) -> None:
    header = "Access-Control-Allow-Origin"
    for path in QUESTIONS:
        without = service.client.post(path, json=QUESTIONS[path], headers={"Origin": OTHER})
        assert without.headers.get(header) == (OTHER if access == "keys" else None), (
            "a page may read that it needs a key"
        )
        reply = service.client.post(path, json=QUESTIONS[path], headers=key_headers(service.unbound, OTHER))
        assert (reply.status_code, reply.headers.get(header)) == (200, OTHER)
    for path in ("/v1/book", "/health", "/openapi.json"):
        allowed = service.client.get(path, headers={"Origin": OTHER}).headers.get(header)
        assert allowed == (OTHER if (access, path) == ("keys", "/v1/book") else None)
        assert service.client.get(path, headers={"Origin": SITE}).headers.get(header) == SITE


def test_no_page_of_another_origin_may_read_the_metrics() -> None:
    metrics = PrometheusMetrics(QueueStats)
    app = create_app(
        ScriptedBackend(make_refusal()), Settings(allowed_origins=("*",)), telemetry=Telemetry((), metrics)
    )
    reply = TestClient(app).get("/metrics", headers={"Origin": OTHER})
    assert (reply.status_code, reply.headers.get("Access-Control-Allow-Origin")) == (200, None)


def test_only_the_named_hosts_are_answered_for() -> None:
    app = create_app(ScriptedBackend(make_refusal()), Settings(allowed_hosts=("Book.example", "127.0.0.1")))
    client = TestClient(app)
    for host, status in (
        ("book.example", 200),
        ("BOOK.example:8443", 200),
        ("127.0.0.1:8000", 200),
        ("evil.example", 421),
        ("book.example.evil.example", 421),
        ("", 421),
    ):
        for path in ("/ask", "/v1/answers"):
            assert client.post(path, json={"question": "Who?"}, headers={"Host": host}).status_code == status
        assert client.get("/openapi.json", headers={"Host": host}).status_code == status
        assert client.get("/health", headers={"Host": host}).status_code == 200
