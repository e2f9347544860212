"""Admin keys list the generations of the index, index the book again and roll it back."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bookbound import bootstrap
from bookbound.bootstrap import book_catalogue
from bookbound.bootstrap.reindex_process import build_reindexing
from bookbound.indexing.store.generations import FolderGenerations
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.reindexing import Reindexing
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

ENDPOINTS = {
    "/v1/index": "GET",
    "/v1/index/rollback": "POST",
    "/v1/index/reindex": "GET",
    "/v1/report": "GET",
}
SITE, OTHER_SITE = "http://testserver", "https://evil.example"


def make_client(settings: Settings, reindexing: Reindexing | None = None) -> TestClient:
    find_store = partial(book_catalogue.find_book_store, settings)
    app = create_app(
        ScriptedBackend(make_refusal()),
        settings,
        find_store=find_store,
        reindexing=reindexing or build_reindexing(settings),
    )
    return TestClient(app)


def add_key(settings: Settings, kind: KeyKind) -> tuple[ApiKey, str]:
    key, secret = ApiKey.new(kind, "", [ANY_ORIGIN])
    api_keys.add_key(api_keys.key_file_path(settings), key)
    return key, secret


@pytest.mark.parametrize("access", ["public", "keys"])
def test_only_an_admin_key_opens_the_index_in_every_access_mode(tmp_path: Path, access: str) -> None:
    settings = Settings(index=tmp_path / "index", access_mode=access, rate_limits="off")
    secrets = {kind: add_key(settings, kind)[1] for kind in KeyKind}
    client = make_client(settings)
    for path, method in ENDPOINTS.items():
        assert client.request(method, path).status_code == 401
        assert client.request(method, path, headers={"X-API-Key": "wrong"}).status_code == 401
        assert client.request(method, path, headers={"X-API-Key": secrets[KeyKind.PUBLISHABLE]}).status_code == 403
        opened = client.request(method, path, headers={"X-API-Key": secrets[KeyKind.ADMIN]})
        assert opened.status_code in (200, 409, 503), "there is no index here, and no log"


def test_the_generations_are_listed_and_a_rollback_restores_the_previous_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    source = tmp_path / "book"
    source.mkdir()
    for pages in (1, 2):
        (source / f"{pages}.md").write_text(f"# Page {pages}\n\nThe horn sounds {pages} times.\n")
        bootstrap.index_book(source, settings)
    key, secret = add_key(settings, KeyKind.ADMIN)
    client = make_client(settings)
    client.headers["Authorization"] = f"Bearer {secret}"
    newest, before = client.get("/v1/index").json()["generations"]
    assert (newest["current"], newest["pages"], newest["chunks"]) == (True, 2, 2)
    assert (before["current"], before["pages"], before["chunks"]) == (False, 1, 1)
    with caplog.at_level(logging.INFO):
        assert client.post("/v1/index/rollback").json() == before | {"current": True}
    assert any(key.id in message and before["id"] in message for message in caplog.messages)
    assert secret not in caplog.text
    assert asyncio.run(bootstrap.build_store(settings).generations())[0].generation == before["id"]
    assert [each["id"] for each in client.get("/v1/index").json()["generations"]] == [before["id"]]


def test_a_rollback_without_an_earlier_generation_is_409(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    (source := tmp_path / "book").mkdir()
    (source / "page.md").write_text("# Page\n\nThe horn sounds once.\n")
    bootstrap.index_book(source, settings)
    _, secret = add_key(settings, KeyKind.ADMIN)
    response = make_client(settings).post("/v1/index/rollback", headers={"X-API-Key": secret})
    assert (response.status_code, response.json()["error"]["type"]) == (409, "conflict")
    assert "no earlier intact generation" in response.json()["error"]["message"]


def test_a_rollback_can_name_its_generation_so_that_a_repeated_one_changes_nothing(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    (source := tmp_path / "book").mkdir()
    for number in (1, 2, 3):
        (source / "page.md").write_text(f"# Page\n\nThe horn sounds {number} times.\n")
        bootstrap.index_book(source, settings)
    _, secret = add_key(settings, KeyKind.ADMIN)
    client = make_client(settings)
    client.headers["X-API-Key"] = secret
    _, before, oldest = client.get("/v1/index").json()["generations"]
    assert client.post("/v1/index/rollback", json={"to": before["id"]}).json() == before | {"current": True}
    again = client.post("/v1/index/rollback", json={"to": before["id"]})
    assert (again.status_code, again.json()["error"]["type"]) == (409, "conflict")
    assert [each["id"] for each in client.get("/v1/index").json()["generations"]] == [before["id"], oldest["id"]]
    assert client.post("/v1/index/rollback", json={"generation": "x"}).status_code == 422


def test_a_rollback_while_another_process_writes_the_index_is_409(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    (source := tmp_path / "book").mkdir()
    (source / "page.md").write_text("# Page\n\nThe horn sounds once.\n")
    bootstrap.index_book(source, settings)
    _, secret = add_key(settings, KeyKind.ADMIN)
    with FolderGenerations(settings.index).lock():
        response = make_client(settings).post("/v1/index/rollback", headers={"X-API-Key": secret})
    assert (response.status_code, response.json()["error"]["type"]) == (409, "conflict")


def test_an_admin_key_without_origins_works_on_the_pages_of_its_server_alone(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    key, secret = ApiKey.new(KeyKind.ADMIN, "", [])
    api_keys.add_key(api_keys.key_file_path(settings), key)
    client = make_client(settings)
    for origin, expected in ((SITE, 409), (OTHER_SITE, 403)):
        response = client.post("/v1/index/reindex", headers={"X-API-Key": secret, "Origin": origin})
        assert response.status_code == expected


def test_a_rollback_of_a_named_book_changes_only_that_book(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    (source := tmp_path / "book").mkdir()
    for number in (1, 2):
        (source / "page.md").write_text(f"# Page\n\nThe horn sounds {number} times.\n")
        for edition in ("1.0", "2.0"):
            bootstrap.index_book(source, replace(settings, book="horns", edition=edition))
    _, secret = add_key(settings, KeyKind.ADMIN)
    client = make_client(settings)
    client.headers["Authorization"] = f"Bearer {secret}"

    def count(book: str) -> int:
        return len(client.get(f"/books/{book}/v1/index").json()["generations"])

    assert client.post("/books/horns/v1/index/rollback").status_code == 200
    assert (count("horns@1.0"), count("horns@2.0"), count("horns")) == (2, 1, 1)
    assert client.get("/books/all/v1/index").status_code == 404


def test_a_failed_rollback_is_logged_with_its_outcome(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    key, secret = add_key(settings, KeyKind.ADMIN)
    client = make_client(settings)
    with caplog.at_level(logging.INFO):
        assert client.post("/v1/index/rollback", headers={"X-API-Key": secret}).status_code == 503
    assert any(f"the rollback that key {key.id} requested failed: " in message for message in caplog.messages)
    (line,) = (record for record in caplog.records if record.getMessage() == "request")
    assert line.event["outcome"] == "index_unavailable"  # type: ignore[attr-defined]
