"""Defines the one value that carries what belongs to a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns
from typing import Literal

from bookbound.domain.book_ref import BookRef
from bookbound.domain.reply import Reply
from bookbound.domain.trace import Requester, StageClock

RequestKind = Literal["question", "search"]


@dataclass(slots=True)
class RequestRecord:
    """What happens to a request; observers report its figures, and never the text of its reply.

    `kind` is what the request asked of the book, if it got that far.
    """

    request_id: str = ""
    method: str = ""
    traceparent: str = ""
    route: str = ""
    contract: str = ""
    status: int | None = None
    kind: RequestKind | None = None
    outcome: str = ""
    reply: Reply | None = field(default=None, repr=False)
    clock: StageClock = field(default_factory=StageClock)
    started_ns: int = field(default_factory=time_ns)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The sender, book, accepted key and record of a request."""

    record: RequestRecord = field(default_factory=RequestRecord)
    book: BookRef | None = None
    requester: Requester = field(default_factory=Requester)
    key_id: str | None = None
    is_admin: bool = False
