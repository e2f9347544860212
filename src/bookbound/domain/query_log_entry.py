"""Describes one logged question: who asked, in which mode, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self
from uuid import UUID, uuid4

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, Reply


class QueryMode(StrEnum):
    """Which text the answer comes from."""

    BOOK = "standard_rag"
    SELECTION = "selected_text_only"


class QueryStatus(StrEnum):
    """How a question ended; a reply ends as the member with the name of its `ReplyStatus`."""

    ANSWERED = "success"
    UNSURE = "unsure"
    REFUSED = "refused"
    FAILED = "error"


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks: the session that the client names, the client's address, and the ID of the request."""

    session: UUID | None = None
    address: str | None = field(default=None, repr=False)
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class QueryLogEntry:
    """One logged question and its outcome, without any text of the book, the selection or the answer."""

    question: str = field(repr=False)
    mode: QueryMode
    status: QueryStatus
    milliseconds: int
    requester: Requester = Requester()
    selection_length: int | None = None
    refusal_reason: RefusalReason | None = None
    retrieved_count: int | None = None
    top_score: float | None = None
    chapters: tuple[str, ...] = ()
    book_ref: BookRef = UNNAMED_BOOK
    id: UUID = field(default_factory=uuid4)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    def of(
        cls,
        question: Question,
        outcome: Reply | BaseException,
        elapsed_ms: float,
        requester: Requester,
        book_ref: BookRef = UNNAMED_BOOK,
    ) -> Self:
        """Returns the entry for a question; a reply has its own timings, and an error the elapsed time."""
        mode = QueryMode.SELECTION if question.scope is AnswerScope.SELECTION else QueryMode.BOOK
        length = len(question.selection) if question.selection else None
        if isinstance(outcome, BaseException):
            status = QueryStatus.FAILED
            return cls(question.text, mode, status, round(elapsed_ms), requester, length, book_ref=book_ref)
        scores = [passage.score for passage in outcome.trace.retrieval.passages]
        selected = outcome.trace.retrieval.selection  # a selection counts as the chapter in which it was found
        places = [selected if cited.chunk_id == SELECTION_CHUNK_ID else cited.place for cited in outcome.citations]
        return cls(
            question=question.text,
            mode=mode,
            status=QueryStatus[outcome.status.name],
            milliseconds=round(outcome.trace.total_ms),
            requester=requester,
            selection_length=length,
            refusal_reason=None if isinstance(outcome, Answer) else outcome.kind,
            retrieved_count=len(scores),
            top_score=max(scores, default=None),
            chapters=tuple(dict.fromkeys(place.chapter for place in places if place)),
            book_ref=book_ref._replace(edition=outcome.trace.edition),
        )
