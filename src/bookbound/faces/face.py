"""What a contract on the web is made of: its routes, and its own words for what goes wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel

from bookbound.ask import Step
from bookbound.dialogue import Question, Reply, Retrieval
from bookbound.manifest import Manifest

Check = Callable[[], Awaitable[object]]


class Desk(Protocol):
    """Where faces hand questions in."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def models(self) -> dict[str, str]:
        """The names of the parts that answer: embedder and writer."""

    def checks(self) -> dict[str, Check]:
        """For each part that an answer needs, something that fails when it does."""

    async def ask(self, question: Question) -> Reply: ...

    async def search(self, question: Question) -> Retrieval: ...

    def steps(self, question: Question) -> AsyncGenerator[Step]: ...


class ProblemKind(StrEnum):
    """What can keep a request from its reply."""

    INVALID = "invalid_input"
    NO_KEY = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    WRONG_METHOD = "method_not_allowed"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "unsupported_media_type"
    LIMIT = "limit_reached"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    INDEX = "index_unavailable"
    INTERNAL = "internal_error"


class FieldProblem(NamedTuple):
    """A field of a request and the rule it breaks; never what it held."""

    field: str
    rule: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept a request from its reply, before a face puts it in its own words."""

    kind: ProblemKind
    status: int
    message: str
    service: str = ""
    fields: tuple[FieldProblem, ...] = ()
    retry_after: int | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Face:
    """One published contract: `paths` it answers at, the status it gives to invalid input, and its error body.

    Where questions belong to sessions, `session` finds the one that a request's body names.
    """

    paths: tuple[str, ...]
    routes: Callable[[Desk], APIRouter]
    body: Callable[[Problem, str], BaseModel]
    invalid: int = 422
    session: Callable[[bytes], UUID | None] | None = None
