"""Retrieves the passages of a book in Haystack."""

# Haystack reads the annotations of a component at run time, and its older versions do not resolve postponed ones.

import asyncio
from pathlib import Path
from threading import Lock
from typing import Any, Self

import bookbound
from bookbound.domain.errors import InvalidInputError
from bookbound.integrations import DEFAULT_PASSAGES, describe_passage, require_framework
from bookbound.library import Book

with require_framework("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class BookboundRetriever:
    """Retrieves the `top_k` passages of a book that most probably answer, best first.

    `index`, `book` and `edition` are those of `bookbound.open`, and `warm_up` opens the book. `book` can also be a book
    that is open; then its owner closes it. With `only_answerable` there are none if Bookbound would not answer.
    """

    def __init__(
        self,
        index: str | Path | None = None,
        *,
        book: str | Book | None = None,
        edition: str | None = None,
        top_k: int = DEFAULT_PASSAGES,
        only_answerable: bool = False,
    ) -> None:
        if isinstance(book, Book) and (index or edition):
            raise InvalidInputError("A book that is open has its index and edition. Leave `index` and `edition` out.")
        self.index, self.book, self.edition = index, book, edition
        self.top_k, self.only_answerable = top_k, only_answerable
        self._opened: Book | None = None
        # `run_async` works in threads, and two of them must not open the book twice.
        self._opening = Lock()

    def warm_up(self) -> None:
        self._open()

    def close(self) -> None:
        """Closes the book if this retriever opened it."""
        with self._opening:
            if self._opened:
                self._opened.close()
            self._opened = None

    def to_dict(self) -> dict[str, Any]:
        if isinstance(self.book, Book):
            raise InvalidInputError(
                "A retriever of a book that is open cannot be saved. Give it `index`, `book` and `edition` instead."
            )
        saved: dict[str, Any] = default_to_dict(
            self,
            index=None if self.index is None else str(self.index),
            book=self.book,
            edition=self.edition,
            top_k=self.top_k,
            only_answerable=self.only_answerable,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        loaded: Self = default_from_dict(cls, data)
        return loaded

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Returns the passages as `documents`; `top_k` is for this call."""
        book = self._open()
        found = book.search(query, k=self.top_k if top_k is None else top_k, only_answerable=self.only_answerable)
        documents = [
            Document(
                id=passage.chunk.id,
                content=passage.chunk.text,
                meta=describe_passage(book, passage),
                score=passage.score,
            )
            for passage in found
        ]
        return {"documents": documents}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Does the same in another thread."""
        return await asyncio.to_thread(self.run, query, top_k)

    def _open(self) -> Book:
        if isinstance(self.book, Book):
            return self.book
        with self._opening:
            if self._opened is None:
                self._opened = bookbound.open(self.index, book=self.book, edition=self.edition)
            return self._opened
