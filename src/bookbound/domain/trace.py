"""Defines the trace of how a reply was made: its timings, token usage and searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from bookbound.domain.errors import ServiceError
from bookbound.domain.question import Retrieval
from bookbound.domain.understanding import QuestionKind


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


Stage = Literal["queue", "embed", "search", "judge", "write", "verify"]


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

    `tool_calls` names each search of the book. `degraded` means that a language model failed to write the answer, or
    to finish it. `differing_editions` lack words that the answer cites. `completed_question` is the question as it was
    understood, if that is not how it was asked, and `question_kind` decides what replied to it. `note` is our own
    sentence about the reply: where it is from if no search found it, or what can be asked instead. `total_seconds` is
    the whole time from the question, or its HTTP request, to the reply: more than the stages together.
    """

    retrieval: Retrieval
    generation: str
    embedder: str
    writer: str
    stages: Mapping[Stage, StageTiming]
    usage: TokenUsage = TokenUsage()
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

        Only a server has a `queue`. A refusal before writing has no `answer`.
        """
        queue = {"queue": self._sum_ms("queue")} if "queue" in self.stages else {}
        answer = {"answer": self.generation_ms} if "write" in self.stages else {}
        timings = {"embed": self._sum_ms("embed"), "search": self._sum_ms("search"), "retrieve": self.retrieval_ms}
        return {**queue, **timings, "judge": self._sum_ms("judge"), **answer, "total": self.total_ms}

    def _sum_ms(self, *stages: Stage) -> float:
        return 1000 * sum(self.stages[stage].seconds for stage in stages if stage in self.stages)
