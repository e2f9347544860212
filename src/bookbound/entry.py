"""The nouns of the log: who asks, and one question as it is logged."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self
from uuid import UUID, uuid4

from bookbound.dialogue import SELECTION_ID, Answer, Question, Refusal, Reply, Scope
from bookbound.finding import RefusalKind
from bookbound.volume import UNNAMED, Volume


class Mode(StrEnum):
    """Where the answer was looked for."""

    BOOK = "standard_rag"
    SELECTION = "selected_text_only"


class Status(StrEnum):
    """What became of a question."""

    ANSWERED = "success"
    REFUSED = "refused"
    FAILED = "error"


@dataclass(frozen=True, slots=True)
class Asker:
    """What is known of who asks: the session that a client named, and the address it asked from."""

    session: UUID | None = None
    address: str | None = field(default=None, repr=False)


ASKING: ContextVar[Asker | None] = ContextVar("asking", default=None)
"""Who asks the question that is being worked on; whoever takes a request in says so here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One question as it is logged: what was asked and what became of it, without a word of book or answer.

    `chapters` are those that an answer's citations stand in, each once; `volume` is the book that was asked.
    """

    question: str = field(repr=False)
    mode: Mode
    status: Status
    milliseconds: int
    asker: Asker = Asker()
    selected: int | None = None
    refusal: RefusalKind | None = None
    retrieved: int | None = None
    top_score: float | None = None
    chapters: tuple[str, ...] = ()
    volume: Volume = UNNAMED
    id: UUID = field(default_factory=uuid4)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    def of(
        cls,
        question: Question,
        outcome: Reply | BaseException,
        milliseconds: float,
        asker: Asker,
        volume: Volume = UNNAMED,
    ) -> Self:
        """The entry for a question that ended in a reply, or broke off; a reply knows its edition."""
        mode = Mode.SELECTION if question.scope is Scope.SELECTION else Mode.BOOK
        selected = len(question.selection) if question.selection else None
        if isinstance(outcome, BaseException):
            return cls(question.text, mode, Status.FAILED, round(milliseconds), asker, selected, volume=volume)
        scores = [passage.score for passage in outcome.trace.retrieval.passages]
        return cls(
            question=question.text,
            mode=mode,
            status=Status.ANSWERED if isinstance(outcome, Answer) else Status.REFUSED,
            milliseconds=round(milliseconds),
            asker=asker,
            selected=selected,
            refusal=outcome.kind if isinstance(outcome, Refusal) else None,
            retrieved=len(scores),
            top_score=max(scores, default=None),
            chapters=_chapters(outcome),
            volume=volume._replace(edition=outcome.trace.edition),
        )


def _chapters(reply: Reply) -> tuple[str, ...]:
    """The chapters that are cited; a selection stands in the one where it was found, or in none."""
    found = reply.trace.retrieval.selection
    places = [found if cited.chunk_id == SELECTION_ID else cited.place for cited in reply.citations]
    return tuple(dict.fromkeys(place.chapter for place in places if place))
