"""Describes one logged question: who asked, in which mode, and how it ended."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self
from uuid import UUID, uuid4

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, Refusal, Reply


class QueryMode(StrEnum):
    """Where the answer was looked for."""

    BOOK = "standard_rag"
    SELECTION = "selected_text_only"


class QueryStatus(StrEnum):
    """What became of a question."""

    ANSWERED = "success"
    REFUSED = "refused"
    FAILED = "error"


@dataclass(frozen=True, slots=True)
class Requester:
    """What is known of who asks: the session that a client named, and the address it asked from."""

    session: UUID | None = None
    address: str | None = field(default=None, repr=False)


CURRENT_REQUESTER: ContextVar[Requester | None] = ContextVar("asking", default=None)
"""Who asks the question that is being worked on; whoever takes a request in says so here."""


@dataclass(frozen=True, slots=True)
class QueryLogEntry:
    """One question as it is logged: what was asked and what became of it, without a word of book or answer.

    `chapters` are those that an answer's citations stand in, each once; `volume` is the book that was asked.
    """

    question: str = field(repr=False)
    mode: QueryMode
    status: QueryStatus
    milliseconds: int
    asker: Requester = Requester()
    selected: int | None = None
    refusal: RefusalReason | None = None
    retrieved: int | None = None
    top_score: float | None = None
    chapters: tuple[str, ...] = ()
    volume: BookRef = UNNAMED_BOOK
    id: UUID = field(default_factory=uuid4)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    def of(
        cls,
        question: Question,
        outcome: Reply | BaseException,
        milliseconds: float,
        asker: Requester,
        volume: BookRef = UNNAMED_BOOK,
    ) -> Self:
        """The entry for a question that ended in a reply, or broke off; a reply knows its edition."""
        mode = QueryMode.SELECTION if question.scope is AnswerScope.SELECTION else QueryMode.BOOK
        selected = len(question.selection) if question.selection else None
        if isinstance(outcome, BaseException):
            return cls(question.text, mode, QueryStatus.FAILED, round(milliseconds), asker, selected, volume=volume)
        scores = [passage.score for passage in outcome.trace.retrieval.passages]
        return cls(
            question=question.text,
            mode=mode,
            status=QueryStatus.ANSWERED if isinstance(outcome, Answer) else QueryStatus.REFUSED,
            milliseconds=round(milliseconds),
            asker=asker,
            selected=selected,
            refusal=outcome.kind if isinstance(outcome, Refusal) else None,
            retrieved=len(scores),
            top_score=max(scores, default=None),
            chapters=_cited_chapters(outcome),
            volume=volume._replace(edition=outcome.trace.edition),
        )


def _cited_chapters(reply: Reply) -> tuple[str, ...]:
    """The chapters that are cited; a selection stands in the one where it was found, or in none."""
    found = reply.trace.retrieval.selection
    places = [found if cited.chunk_id == SELECTION_CHUNK_ID else cited.place for cited in reply.citations]
    return tuple(dict.fromkeys(place.chapter for place in places if place))
