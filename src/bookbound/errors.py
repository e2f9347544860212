"""Everything that can go wrong and is not a refusal.

BookboundError
├── InvalidInput          the question or its parameters break a rule
├── BadSource             a book's source cannot be read
│   └── Doubtful          it can, and lacks so much of the published book that somebody must say it is meant
├── BadSetup              a setting, key or extra is missing or wrong
├── IndexTrouble
│   ├── NoIndex           nothing has been indexed here yet
│   ├── NoBook            there is no book of this name
│   ├── DamagedIndex      an index does not hold what its manifest says
│   ├── WrongEmbedder     an index was made with another embedder
│   └── IndexBusy         another process is writing this index
├── Busy                  too much is asked at once
└── ServiceTrouble        a service we depend on (`service` names it)
    ├── Unreachable
    ├── TimedOut
    ├── Denied            it does not take our key
    ├── BadReply          it answered with what cannot be used
    └── LimitReached      with `retry_after` seconds where the service said so
"""

from __future__ import annotations


class BookboundError(Exception):
    """The root of the tree; its message says what to do and holds no user text and no key."""


class InvalidInput(BookboundError):
    """The question or its parameters break a rule."""


class BadSource(BookboundError):
    """A book's source cannot be read."""


class Doubtful(BadSource):
    """A source lacks so much of the published book that somebody must say it is meant."""


class BadSetup(BookboundError):
    """A setting, key or extra is missing or wrong."""


class IndexTrouble(BookboundError):
    """An index cannot be used as it is."""


class NoIndex(IndexTrouble):
    """Nothing has been indexed here yet."""


class NoBook(IndexTrouble):
    """There is no book of this name."""


class DamagedIndex(IndexTrouble):
    """An index does not hold what its manifest says."""


class WrongEmbedder(IndexTrouble):
    """An index was made with another embedder than the one asked with."""


class IndexBusy(IndexTrouble):
    """Another process is writing this index."""


class Busy(BookboundError):
    """More questions are being worked on than there is room for."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceTrouble(BookboundError):
    """A service we depend on failed."""

    def __init__(self, message: str, *, service: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.service = service
        self.retry_after = retry_after


class Unreachable(ServiceTrouble):
    """A service could not be reached, or answered that it is broken."""


class TimedOut(ServiceTrouble):
    """A service did not answer in time."""


class Denied(ServiceTrouble):
    """A service does not take our key."""


class BadReply(ServiceTrouble):
    """A service answered with what cannot be used: cut off, malformed, empty, or not what was asked for."""


class LimitReached(ServiceTrouble):
    """A service said that we ask too much."""
