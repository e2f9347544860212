"""Defines what is recorded of a question: the trace of how its reply was made, and its entry in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple, Self
from uuid import UUID, uuid4

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import ServiceError
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, QuestionKind, Retrieval

if TYPE_CHECKING:
    from bookbound.domain.reply import Reply


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The number of calls to a language model, and of the tokens that it read and wrote."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


class SentenceCounts(NamedTuple):
    """How many sentences of a language model are verified, shown without proof, and not shown.

    `is_withheld`: too much of its answer was not supported, so none of it is shown.
    """

    verified: int = 0
    unverified: int = 0
    dropped: int = 0
    is_withheld: bool = False


NO_SENTENCES = SentenceCounts()
Stage = Literal["queue", "understand", "embed", "search", "judge", "write", "verify"]


@dataclass(slots=True)
class StageTiming:
    """The time that one stage took, in seconds: `began` and `ended` count from the start of the clock.

    `seconds` is the work alone, without the other stages between its calls. `error` names the error that ended it.
    """

    began: float = 0.0
    ended: float = 0.0
    calls: int = 0
    seconds: float = 0.0
    error: str = ""


class StageClock:
    """Measures the stages of one question and collects the errors of the services that they call."""

    def __init__(self) -> None:
        self.started = perf_counter()
        self.stages: dict[Stage, StageTiming] = {}
        self.failures: list[ServiceError] = []
        self._measured = 0.0

    @property
    def elapsed_seconds(self) -> float:
        return perf_counter() - self.started

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Adds the time of this block to a stage; the time of stages within the block counts for those alone."""
        start, measured, error = perf_counter(), self._measured, None
        try:
            yield
        except BaseException as caught:
            error = caught
            raise
        finally:
            end = perf_counter()
            timing = self.stages.setdefault(stage, StageTiming(began=start - self.started))
            timing.seconds += end - start - (self._measured - measured)
            timing.calls, timing.ended = timing.calls + 1, end - self.started
            timing.error = type(error).__name__ if error else timing.error
            self._measured = measured + end - start
            if isinstance(error, ServiceError):
                self.failures.append(error)


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that an interface may report about how a reply was made.

    `sentences` counts those of a language model. `tool_calls` names each search of the book. `degraded` means that
    a language model failed to write the answer, or to finish it. `differing_editions` lack words that the answer
    cites. `completed_question` is the question as it was understood, if that is not how it was asked, and
    `question_kind` decides what replied to it. `note` is our own sentence about the reply: where it is from if no
    search found it, or what can be asked instead. `total_seconds` is the whole time from the question, or its HTTP
    request, to the reply: more than the stages together.
    """

    retrieval: Retrieval
    generation: str
    embedder: str
    writer: str
    stages: Mapping[Stage, StageTiming]
    usage: TokenUsage = TokenUsage()
    sentences: SentenceCounts = NO_SENTENCES
    tool_calls: tuple[str, ...] = ()
    degraded: bool = False
    edition: str = ""
    differing_editions: tuple[str, ...] = ()
    completed_question: str = ""
    question_kind: QuestionKind = QuestionKind.QUESTION
    note: str = ""
    book_title: str = ""
    total_seconds: float = 0.0

    @property
    def retrieval_ms(self) -> float:
        return self._sum_ms("embed", "search")

    @property
    def generation_ms(self) -> float:
        return self._sum_ms("write", "verify")

    @property
    def total_ms(self) -> float:
        return 1000 * self.total_seconds

    @property
    def milliseconds(self) -> dict[str, float]:
        """The published timings: `retrieve` contains `embed` and `search`, and `total` is the whole time.

        Only a server has a `queue`, and a question that a language model restates `understand`. A refusal before
        writing has no `answer`.
        """
        first: tuple[Stage, ...] = ("queue", "understand")
        begun = {stage: self._sum_ms(stage) for stage in first if stage in self.stages}
        answer = {"answer": self.generation_ms} if "write" in self.stages else {}
        timings = {"embed": self._sum_ms("embed"), "search": self._sum_ms("search"), "retrieve": self.retrieval_ms}
        return {**begun, **timings, "judge": self._sum_ms("judge"), **answer, "total": self.total_ms}

    def _sum_ms(self, *stages: Stage) -> float:
        return 1000 * sum(self.stages[stage].seconds for stage in stages if stage in self.stages)


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
            refusal_reason=outcome.kind,
            retrieved_count=len(scores),
            top_score=max(scores, default=None),
            chapters=tuple(dict.fromkeys(place.chapter for place in places if place)),
            book_ref=book_ref._replace(edition=outcome.trace.edition),
        )
