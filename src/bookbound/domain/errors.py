"""Defines the tree of errors that Bookbound raises."""

from __future__ import annotations


class BookboundError(Exception):
    """The root of the tree; its message says what to do and holds no user text and no key."""


class InvalidInputError(BookboundError):
    """The question or its parameters break a rule."""


class SourceError(BookboundError):
    """A book's source cannot be read."""


class IncompleteSourceError(SourceError):
    """A source lacks so much of the published book that somebody must say it is meant."""


class ConfigError(BookboundError):
    """A setting, key or extra is missing or wrong."""


class BookIndexError(BookboundError):
    """An index cannot be used as it is."""


class IndexNotFoundError(BookIndexError):
    """Nothing has been indexed here yet."""


class BookNotFoundError(BookIndexError):
    """There is no book of this name."""


class CorruptIndexError(BookIndexError):
    """An index does not hold what its manifest says."""


class EmbedderMismatchError(BookIndexError):
    """An index was made with another embedder than the one asked with."""


class IndexLockedError(BookIndexError):
    """Another process is writing this index."""


class OverloadedError(BookboundError):
    """More questions are being worked on than there is room for."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceError(BookboundError):
    """A service we depend on failed."""

    def __init__(self, message: str, *, service: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.service = service
        self.retry_after = retry_after


class ServiceUnreachableError(ServiceError):
    """A service could not be reached, or answered that it is broken."""


class ServiceTimeoutError(ServiceError):
    """A service did not answer in time."""


class ServiceAuthenticationError(ServiceError):
    """A service does not take our key."""


class ServiceResponseError(ServiceError):
    """A service answered with what cannot be used: cut off, malformed, empty, or not what was asked for."""


class ServiceRateLimitError(ServiceError):
    """A service said that we ask too much."""
