"""Who may do what: keys in the words of every face, and what a browser is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.testclient import TestClient

from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.middleware.client_identity import PUBLIC_PATHS
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

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
class Shop:
    """A service, and a key of each kind to it."""

    client: TestClient
    file: Path
    bound: str
    loose: str
    admin: str


@pytest.fixture(params=["keys", "public"])
def access(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(tmp_path: Path, access: str, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setattr(api_keys, "RELOAD_SECONDS", 0.0)
    file = tmp_path / "keys.json"
    secrets = []
    for kind, origin in ((KeyKind.PUBLISHABLE, SITE), (KeyKind.PUBLISHABLE, ANY_ORIGIN), (KeyKind.ADMIN, "")):
        key, secret = ApiKey.new(kind, "", [origin] if origin else [])
        api_keys.add_key(file, key)
        secrets.append(secret)
    app = create_app(ScriptedBackend(ANSWER), Settings(access=access, keys=file, limits="off"))
    _tell_state(app)
    return Shop(TestClient(app), file, *secrets)


def _tell_state(app: FastAPI) -> None:
    """Whatever stands behind the guards finds the key in the state of its request."""

    @app.get("/told")
    async def told(request: Request) -> dict[str, Any]:
        return {name: request.scope["state"].get(name) for name in ("key", "admin")}


def by(secret: str, origin: str | None = None) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"} | ({"Origin": origin} if origin else {})


@pytest.mark.parametrize("path", QUESTIONS)
def test_without_a_key_a_question_is_401_where_keys_are_needed_and_answered_elsewhere(
    shop: Shop, access: str, path: str
) -> None:
    told = shop.client.post(path, json=QUESTIONS[path])
    assert told.status_code == (401 if access == "keys" else 200)
    if access == "keys":
        assert CODES[path](told.json()) == ("VALIDATION_FAILED" if "query" in path else "unauthorized")
        assert told.headers["WWW-Authenticate"] == 'Bearer realm="bookbound"'


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_key_that_does_not_hold_is_401_and_one_from_elsewhere_403_whether_or_not_one_is_needed(
    shop: Shop, path: str
) -> None:
    for wrong in ("", "x", shop.bound[:-1], f"{shop.bound}x"):
        told = shop.client.post(path, json=QUESTIONS[path], headers=by(wrong, SITE))
        assert (told.status_code, "invalid_token" in told.headers["WWW-Authenticate"]) == (401, True)
    for origin in (OTHER, "null", f"{SITE}:8443", f"{SITE}.evil.example", None):
        told = shop.client.post(path, json=QUESTIONS[path], headers=by(shop.bound, origin))
        assert told.status_code == 403
        assert CODES[path](told.json()) == ("VALIDATION_FAILED" if "query" in path else "forbidden")
        assert ("names no origin" in told.text) == (origin is None)
        assert "bound to" in told.text
    assert shop.bound not in told.text


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_key_opens_the_book_from_where_it_may_be_used(shop: Shop, path: str) -> None:
    for headers in (by(shop.bound, SITE), by(shop.loose, OTHER), by(shop.loose), by(shop.admin)):
        assert shop.client.post(path, json=QUESTIONS[path], headers=headers).status_code == 200


def test_what_tells_of_the_book_needs_a_key_too_and_health_never_does(shop: Shop, access: str) -> None:
    needed = 401 if access == "keys" else 200
    assert shop.client.get("/v1/book").status_code == needed
    assert shop.client.get("/v1/book", headers=by(shop.loose)).status_code == 200
    for path in sorted(PUBLIC_PATHS - {"/metrics"}):
        assert shop.client.get(path).status_code == 200
        assert shop.client.get(path, headers=by("wrong")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/book/", "//v1/book", "/V1/book", "/nothing", "/health/v1/book"])
def test_no_spelling_of_a_path_gets_around_the_key(shop: Shop, access: str, path: str) -> None:
    assert shop.client.get(path).status_code == (401 if access == "keys" else 404)


def test_the_key_is_known_before_anything_is_counted(shop: Shop) -> None:
    _, loose, admin = api_keys.load_keys(shop.file).keys
    assert shop.client.get("/told", headers=by(shop.loose)).json() == {"key": loose.id, "admin": False}
    assert shop.client.get("/told", headers={"X-API-Key": shop.admin}).json() == {"key": admin.id, "admin": True}
    both = {"X-API-Key": shop.loose, "Authorization": "Bearer of-the-proxy"}
    assert shop.client.get("/told", headers=both).json()["key"] == loose.id
    assert shop.client.get("/told", headers={"Authorization": f"bearer  {shop.loose} "}).json()["key"] == loose.id


def test_another_scheme_is_no_key(shop: Shop, access: str) -> None:
    told = shop.client.get("/told", headers={"Authorization": "Basic eDp5"})
    assert told.status_code == (401 if access == "keys" else 200)


def test_a_revoked_key_is_refused_without_a_restart_and_a_new_one_taken(shop: Shop) -> None:
    _, loose, _ = api_keys.load_keys(shop.file).keys
    assert shop.client.get("/v1/book", headers=by(shop.loose)).status_code == 200
    api_keys.revoke_key(shop.file, loose.id)
    assert shop.client.get("/v1/book", headers=by(shop.loose)).status_code == 401
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [ANY_ORIGIN])
    api_keys.add_key(shop.file, key)
    assert shop.client.get("/v1/book", headers=by(secret)).status_code == 200


def test_a_browser_may_send_a_key_from_its_origins_and_reads_why_it_was_refused(shop: Shop) -> None:
    _, loose, _ = api_keys.load_keys(shop.file).keys
    api_keys.revoke_key(shop.file, loose.id)
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-api-key"}
    allowed = "Access-Control-Allow-Origin"
    for origin, told in ((SITE, SITE), (OTHER, None)):
        assert shop.client.options("/ask", headers=asks | {"Origin": origin}).headers.get(allowed) == told
        refused = shop.client.post("/ask", json=QUESTIONS["/ask"], headers=by("wrong", origin))
        assert (refused.status_code, refused.headers.get(allowed)) == (401, told)


def test_a_browser_may_name_a_book_and_its_edition_and_what_it_asks_before_has_an_id(shop: Shop) -> None:
    asks = {
        "Origin": SITE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "bookbound-book,bookbound-edition",
        "X-Request-ID": "abc",
    }
    told = shop.client.options("/ask", headers=asks)
    assert (told.status_code, told.headers["X-Request-ID"]) == (200, "abc")
    assert {"Bookbound-Book", "Bookbound-Edition"} <= set(told.headers["Access-Control-Allow-Headers"].split(", "))
