"""Tests that `/v1/books` lists every book, with the access rules of the book itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.settings import Settings


def index_text(index: Path, words: str, book: str | None = None, edition: str | None = None) -> Settings:
    source = index.parent / "source"
    source.mkdir(exist_ok=True)
    (source / "page.md").write_text(f"# Legs of the {book or 'robot'}\n\n{words}\n")
    settings = Settings(index=index, book=book, edition=edition)
    bootstrap.index_book(source, settings)
    return settings


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books") / "index"
    index_text(folder, "A robot has two legs.")
    index_text(folder, "An ant has six legs.", "ants", "1.9")
    index_text(folder, "An ant has six legs and two feelers.", "ants", "1.10")
    return folder


def list_books(settings: Settings) -> list[dict[str, Any]]:
    books: list[dict[str, Any]] = TestClient(create_web_app(settings)).get("/v1/books").json()["books"]
    return books


def test_every_book_is_listed_with_its_editions_newest_first(index: Path) -> None:
    unnamed, ants = list_books(Settings(index=index))
    assert (unnamed["book"], unnamed["newest"], unnamed["default"]) == ("", "", True)
    assert (ants["book"], ants["newest"], ants["default"], ants["title"]) == ("ants", "1.10", False, "Source")
    assert [each["edition"] for each in ants["editions"]] == ["1.10", "1.9"]
    assert {(each["pages"], each["chunks"]) for each in ants["editions"]} == {(1, 1)}
    assert all(each["generation"] and each["created"] for each in ants["editions"])
    assert [book["default"] for book in list_books(Settings(index=index, book="ants"))] == [False, True]


def test_a_book_that_is_published_later_is_listed_with_its_new_generation(index: Path) -> None:
    client = TestClient(create_web_app(Settings(index=index)))
    before = client.get("/v1/books").json()["books"]
    index_text(index, "A bee has six legs too.", "bees")
    index_text(index, "A robot has three legs.")
    after = client.get("/v1/books").json()["books"]
    assert [book["book"] for book in after] == ["", "ants", "bees"]
    assert after[1] == before[1]
    assert after[0]["editions"][0]["generation"] != before[0]["editions"][0]["generation"]


def test_the_list_of_books_needs_a_key_if_keys_are_required(index: Path, tmp_path: Path) -> None:
    settings = Settings(index=index, access_mode="keys", key_file=tmp_path / "keys.json")
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [ANY_ORIGIN])
    api_keys.add_key(tmp_path / "keys.json", key)
    client = TestClient(create_web_app(settings))
    assert client.get("/v1/books").status_code == 401
    assert client.get("/v1/books", headers={"X-API-Key": secret}).json()["books"]


def test_a_request_for_an_unknown_book_is_told_which_books_there_are(index: Path) -> None:
    with TestClient(create_web_app(Settings(index=index, query_log="off"))) as client:
        for path in ("/books/wasps/v1/book", "/books/ants@2.0/v1/book"):
            response = client.get(path)
            assert response.status_code == 404
            message = response.json()["error"]["message"]
            assert all(name in message for name in ("ants@1.10", "ants@1.9", "GET /v1/books"))
        assert client.get("/books/ants@1.9/v1/book").status_code == 200
