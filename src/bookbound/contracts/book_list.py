"""Defines the endpoint that lists every book and edition of the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import groupby
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from bookbound.contracts.http_contract import AnswerBackend, HttpContract
from bookbound.contracts.v1 import ErrorModel, build_error_body
from bookbound.domain.book_ref import BookRef, sort_newest_first
from bookbound.domain.manifest import Manifest

BookLister = Callable[[], Awaitable[Mapping[BookRef, Manifest]]]
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 500, 503, 504)
}


class EditionModel(BaseModel):
    """An edition as it is published; `edition` is empty if it has no name."""

    edition: str
    title: str
    generation: str
    created: str
    pages: int
    chunks: int


class ListedBookModel(BaseModel):
    """A book with its editions, newest first; `default` if it answers requests that name no book.

    `book` is the name for requests, and empty if the book has none. `title` is that of the newest edition.
    """

    book: str
    title: str
    newest: str
    default: bool
    editions: list[EditionModel]


class BookListModel(BaseModel):
    books: list[ListedBookModel]


def build_contract(list_books: BookLister, default: BookRef) -> HttpContract:
    """The endpoint; `default` is the book that answers requests that name none."""

    def build_router(_: AnswerBackend) -> APIRouter:
        router = APIRouter(tags=["bookbound"], responses=ERROR_RESPONSES)

        @router.get("/v1/books")
        async def books() -> BookListModel:
            """List every book and edition that the server holds."""
            return BookListModel(books=describe_books(await list_books(), default))

        return router

    return HttpContract(("/v1/books",), build_router, build_error_body)


def describe_books(published: Mapping[BookRef, Manifest], default: BookRef) -> list[ListedBookModel]:
    """Each book with its editions, by name."""
    names = groupby(sorted(published, key=lambda ref: ref.book), lambda ref: ref.book)
    return [_describe_book(name, list(refs), published, is_default=name == default.book) for name, refs in names]


def _describe_book(
    name: str, refs: list[BookRef], published: Mapping[BookRef, Manifest], *, is_default: bool
) -> ListedBookModel:
    fields = ("title", "generation", "created", "pages", "chunks")
    editions = [
        EditionModel(edition=ref.edition, **{field: getattr(published[ref], field) for field in fields})
        for ref in sort_newest_first(refs)
    ]
    newest = editions[0]
    return ListedBookModel(book=name, title=newest.title, newest=newest.edition, default=is_default, editions=editions)
