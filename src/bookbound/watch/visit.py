"""One request as it is watched: what was asked for, what became of it, and what it took at each station."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter, time_ns
from typing import Any, Literal

from bookbound.dialogue import Reply
from bookbound.errors import ServiceTrouble
from bookbound.trace import Trace

Station = Literal["embed", "search", "judge", "write", "verify"]
Asked = Literal["question", "search"]


@dataclass(slots=True)
class Stay:
    """What a question took at one station, in seconds since its request came: from when to when, and in how many calls.

    `seconds` is the work alone: between the calls, other stations were busy, or the reader was.
    """

    began: float
    ended: float
    calls: int = 0
    seconds: float = 0.0
    failed: str = ""


@dataclass(slots=True)
class Visit:
    """A request from its first to its last byte; it holds no word of it, of its reply, or of who sent it.

    `asked` says what it put to the book, where it came so far, and `failures` how services failed it.
    """

    method: str
    state: dict[str, Any] = field(default_factory=dict, repr=False)
    traceparent: str = ""
    route: str = ""
    face: str = ""
    status: int | None = None
    asked: Asked | None = None
    outcome: str = ""
    reply: Reply | None = field(default=None, repr=False)
    stays: dict[Station, Stay] = field(default_factory=dict)
    failures: list[ServiceTrouble] = field(default_factory=list, repr=False)
    at: int = field(default_factory=time_ns)
    began: float = field(default_factory=perf_counter)
    seconds: float = 0.0

    @property
    def request_id(self) -> str | None:
        return self.state.get("request_id")

    @property
    def trace(self) -> Trace | None:
        return self.reply.trace if self.reply else None


VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)
"""The request that is being served; whoever takes a request in says so here."""


@contextmanager
def staying(station: Station) -> Iterator[None]:
    """What is done within this block is done at a station, for the request that is being served, if there is one."""
    visit = VISIT.get()
    if visit is None:
        yield
        return
    start, trouble = perf_counter(), None
    try:
        yield
    except BaseException as error:
        trouble = error
        raise
    finally:
        end = perf_counter()
        stay = visit.stays.setdefault(station, Stay(start - visit.began, end - visit.began))
        stay.ended, stay.calls, stay.seconds = end - visit.began, stay.calls + 1, stay.seconds + end - start
        if trouble is not None and not isinstance(trouble, StopAsyncIteration):
            stay.failed = type(trouble).__name__
        if isinstance(trouble, ServiceTrouble):
            visit.failures.append(trouble)
