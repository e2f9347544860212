"""The index itself over HTTP: only for admin keys, and back to the generation before."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bookbound import bootstrap
from bookbound.bootstrap import book_opener
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.operator_routes import INDEX_PATHS
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal


def methods(client: TestClient) -> dict[str, str]:
    documented = client.get("/openapi.json").json()["paths"]
    return {path: next(iter(documented[path])) for path in INDEX_PATHS}


@pytest.mark.parametrize("access", ["public", "keys"])
def test_only_an_admin_key_opens_the_index_whatever_access_says(tmp_path: Path, access: str) -> None:
    settings = Settings(index=tmp_path / "index", access=access, limits="off")
    held = {}
    for kind in KeyKind:
        key, held[kind] = ApiKey.new(kind, "", [ANY_ORIGIN])
        api_keys.add_key(api_keys.key_file_path(settings), key)
    client = TestClient(
        create_app(ScriptedBackend(make_refusal()), settings, store=partial(book_opener.find_book_store, settings))
    )
    for path, method in methods(client).items():
        assert client.request(method, path).status_code == 401
        assert client.request(method, path, headers={"X-API-Key": "wrong"}).status_code == 401
        assert client.request(method, path, headers={"X-API-Key": held[KeyKind.PUBLISHABLE]}).status_code == 403
        opened = client.request(method, path, headers={"X-API-Key": held[KeyKind.ADMIN]})
        assert opened.status_code in (200, 503), "there is no index here"


def test_the_generations_are_listed_and_the_one_before_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(index=tmp_path / "index", limits="off")
    source = tmp_path / "book"
    source.mkdir()
    for pages in (1, 2):
        (source / f"{pages}.md").write_text(f"# Page {pages}\n\nThe horn sounds {pages} times.\n")
        bootstrap.index_book(source, settings)
    key, secret = ApiKey.new(KeyKind.ADMIN, "", [])
    api_keys.add_key(api_keys.key_file_path(settings), key)
    client = TestClient(
        create_app(ScriptedBackend(make_refusal()), settings, store=partial(book_opener.find_book_store, settings))
    )
    client.headers["Authorization"] = f"Bearer {secret}"
    newest, before = client.get("/v1/index").json()["generations"]
    assert (newest["current"], newest["pages"], newest["chunks"]) == (True, 2, 2)
    assert (before["current"], before["pages"], before["chunks"]) == (False, 1, 1)
    with caplog.at_level(logging.INFO):
        assert client.post("/v1/index/rollback").json() == before | {"current": True}
    assert any(key.id in told and before["id"] in told for told in caplog.messages)
    assert secret not in caplog.text
    assert asyncio.run(bootstrap.store(settings).generations())[0].generation == before["id"]
    assert [each["id"] for each in client.get("/v1/index").json()["generations"]] == [before["id"]]
    nothing = client.post("/v1/index/rollback")
    assert (nothing.status_code, nothing.json()["error"]["type"]) == (503, "index_unavailable")


def test_what_is_changed_by_way_of_a_book_is_that_book(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", limits="off")
    (source := tmp_path / "book").mkdir()
    for number in (1, 2):
        (source / "page.md").write_text(f"# Page\n\nThe horn sounds {number} times.\n")
        for edition in ("1.0", "2.0"):
            bootstrap.index_book(source, replace(settings, book="horns", edition=edition))
    key, secret = ApiKey.new(KeyKind.ADMIN, "", [])
    api_keys.add_key(api_keys.key_file_path(settings), key)
    client = TestClient(
        create_app(ScriptedBackend(make_refusal()), settings, store=partial(book_opener.find_book_store, settings))
    )
    client.headers["Authorization"] = f"Bearer {secret}"

    def kept(volume: str) -> int:
        return len(client.get(f"/books/{volume}/v1/index").json()["generations"])

    assert client.post("/books/horns/v1/index/rollback").status_code == 200
    assert (kept("horns@1.0"), kept("horns@2.0"), kept("horns")) == (2, 1, 1)
    assert client.get("/books/all/v1/index").status_code == 404


def test_a_rollback_that_fails_is_told_as_that_by_the_log_and_by_its_outcome(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(index=tmp_path / "index", limits="off")
    key, secret = ApiKey.new(KeyKind.ADMIN, "", [])
    api_keys.add_key(api_keys.key_file_path(settings), key)
    client = TestClient(
        create_app(ScriptedBackend(make_refusal()), settings, store=partial(book_opener.find_book_store, settings))
    )
    with caplog.at_level(logging.INFO):
        assert client.post("/v1/index/rollback", headers={"X-API-Key": secret}).status_code == 503
    told = [record.getMessage() for record in caplog.records]
    assert any(f"not rolled back for key {key.id}: " in message for message in told)
    (line,) = (record for record in caplog.records if record.getMessage() == "request")
    assert line.event["outcome"] == "index_unavailable"  # type: ignore[attr-defined]
