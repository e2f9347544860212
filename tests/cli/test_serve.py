"""`bookbound serve`: which book it indexes, which it serves, and how to try it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.process import served

from bookbound.cli.serve_commands import format_book_paths, format_invitation
from bookbound.domain.book_ref import BookRef


@pytest.fixture
def ants(tmp_path: Path) -> Path:
    book = tmp_path / "ants"
    book.mkdir()
    (book / "index.md").write_text("# Ants\n\nAn ant has six legs and two feelers.\n")
    return book


def test_a_source_is_indexed_first_under_the_name_and_edition_that_are_then_served(tmp_path: Path, ants: Path) -> None:
    options = ("--source", str(ants), "--book", "ants", "--edition", "1.0")
    with served({"index": tmp_path / "index"}, tmp_path / "output", *options) as server:
        assert server.client.get("/v1/book").json()["title"] == "Ants"
        assert server.client.get("/books/ants@1.0/v1/book").status_code == 200
        assert server.client.get("/books/bees/v1/book").status_code == 404
    assert (tmp_path / "index" / "books" / "ants@1.0").is_dir()
    assert " stopping: " in (tmp_path / "output").read_text()


def test_where_books_have_names_their_paths_are_shown() -> None:
    (line,) = format_book_paths([BookRef(), BookRef("ants", "1.0"), *(BookRef(f"b{n}") for n in range(10))])
    assert line.text.startswith("Books: /books/ants@1.0, /books/b0, ")
    assert line.text.endswith("/books/b8, and 1 more")
    assert format_book_paths([BookRef()]) == []


@pytest.mark.parametrize("key", [True, False])
def test_the_question_to_try_has_a_key_where_one_is_needed(key: bool) -> None:
    _, command = format_invitation("Ants", "http://127.0.0.1:8000", key=key)
    assert ("-H 'X-API-Key: KEY'" in command.text) == key
