"""Defines the tree of errors that Bookbound raises."""

from __future__ import annotations

from collections.abc import Sequence


class BookboundError(Exception):
    """The root of the tree; its message says what to do and contains no user text and no key."""


class InvalidInputError(BookboundError, ValueError):
    """The question or its parameters break a rule."""


class SourceError(BookboundError):
    """A book's source cannot be read."""


class IncompleteSourceError(SourceError):
    """A source lacks so much of the published book that the user must confirm it."""


class ConfigError(BookboundError):
    """A setting, key or extra is missing or wrong."""


class BookIndexError(BookboundError):
    """An index cannot be used."""


class IndexNotFoundError(BookIndexError):
    """Nothing is indexed here yet."""


class BookNotFoundError(BookIndexError):
    """No book has this name; `books` are the names of those that exist."""

    def __init__(self, message: str, books: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.books = tuple(books)


class NoEarlierGenerationError(BookIndexError):
    """There is no earlier generation to roll back to."""


class CorruptIndexError(BookIndexError):
    """The content of an index differs from its manifest."""


class EmbedderMismatchError(BookIndexError):
    """An index was made with another embedder than the one in use."""


class IndexLockedError(BookIndexError):
    """Another process is writing this index."""


class OverloadedError(BookboundError):
    """Too many questions are being answered."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceError(BookboundError):
    """An outside service failed."""

    def __init__(self, message: str, *, service: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.service = service
        self.retry_after = retry_after


class ServiceUnreachableError(ServiceError):
    """A service could not be reached, or reported that it is broken."""


class ServiceTimeoutError(ServiceError):
    """A service did not answer in time."""


class ServiceAuthenticationError(ServiceError):
    """A service rejected the key, or its account has no credit left."""


class ServiceResponseError(ServiceError):
    """A service gave an answer that is cut off, malformed, empty, or not what was asked for."""


class ServiceRateLimitError(ServiceError):
    """A service got too many requests."""
