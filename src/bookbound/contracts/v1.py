"""Implements Bookbound's own API: `POST /v1/answers`, `POST /v1/search` and `GET /v1/book`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field, StrictInt, StringConstraints

from bookbound.answering.pipeline import PipelineEvent
from bookbound.contracts import http_contract, serialization
from bookbound.contracts.http_contract import (
    EVENT_STREAM_TYPE,
    AnswerBackend,
    ErrorModel,
    HttpContract,
    StrictRequest,
    build_default_error_body,
    format_server_sent_event,
)
from bookbound.domain.errors import BookboundError
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import (
    MAX_PASSAGES,
    MAX_QUESTION_CHARS,
    MAX_SELECTION_CHARS,
    AnswerScope,
    Question,
    Retrieval,
)
from bookbound.domain.reply import AnswerSentence

QuestionText = Annotated[
    str, StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARS)
]
SelectionText = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, max_length=MAX_SELECTION_CHARS)]
PassageCount = Annotated[StrictInt, Field(ge=1, le=MAX_PASSAGES)]


class AnswerRequest(StrictRequest):
    """A question; with a selection it is answered from that alone, unless `scope` says otherwise."""

    question: QuestionText
    selection: SelectionText | None = None
    scope: Literal["selection", "selection_then_book"] = "selection"
    k: PassageCount = 5
    threshold: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.0

    def asked(self) -> Question:
        return Question(self.question, self.selection, AnswerScope(self.scope), self.k, self.threshold, fall_back=True)


class SearchRequest(StrictRequest):
    """Words to look for."""

    query: QuestionText
    k: PassageCount = 5


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 413, 415, 422, 429, 500, 503, 504)
}


def build_router(desk: AnswerBackend) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["bookbound"])

    @router.post(
        "/answers",
        response_model=ReplyModel,
        responses=ERROR_RESPONSES | {200: {"content": {EVENT_STREAM_TYPE: {"schema": {"type": "string"}}}}},
    )
    async def answers(asked: AnswerRequest, request: Request) -> Any:
        """Answer a question; `Accept: text/event-stream` gives passages, judgement and sentences as they are found."""
        request_id: str = request.state.request_id
        if EVENT_STREAM_TYPE in request.headers.get("accept", ""):
            steps = desk.steps(asked.asked())
            first = await anext(steps)
            return StreamingResponse(_stream_events(first, steps, request_id), media_type=EVENT_STREAM_TYPE)
        return JSONResponse(serialization.serialize_reply(await desk.ask(asked.asked())) | {"request_id": request_id})

    @router.post("/search", response_model=SearchResultsModel, responses=ERROR_RESPONSES)
    async def search(sought: SearchRequest, request: Request) -> Any:
        """The passages nearest to some words, without a judgement."""
        found = await desk.search(Question(sought.query, k=sought.k))
        return {
            "passages": serialization.serialize_passages(found),
            "generation": desk.manifest.generation,
            "request_id": request.state.request_id,
        }

    @router.get(
        "/book", response_model=BookModel, responses={status: {"model": ErrorModel} for status in (401, 403, 503)}
    )
    async def book() -> Any:
        """What is being served."""
        return serialization.serialize_manifest(desk.manifest) | {"models": desk.models}

    return router


async def _stream_events(
    first: PipelineEvent, rest: AsyncGenerator[PipelineEvent], request_id: str
) -> AsyncIterator[str]:
    """Each step as an event; what goes wrong on the way is the last."""
    async with aclosing(rest):
        try:
            yield _format_step(first, request_id)
            async for step in rest:
                yield _format_step(step, request_id)
        except BookboundError as trouble:
            yield format_server_sent_event(
                "error",
                build_default_error_body(
                    http_contract.problem_from_error(trouble, CONTRACT.invalid), request_id
                ).model_dump(),
            )


def _format_step(step: PipelineEvent, request_id: str) -> str:
    match step:
        case Retrieval():
            return format_server_sent_event("retrieval", {"passages": serialization.serialize_passages(step)})
        case Judgement():
            return format_server_sent_event("judgement", serialization.serialize_judgement(step))
        case AnswerSentence():
            return format_server_sent_event("sentence", serialization.serialize_sentence(step))
        case reply:
            return format_server_sent_event("reply", serialization.serialize_reply(reply) | {"request_id": request_id})


CONTRACT = HttpContract(
    paths=("/v1/answers", "/v1/search", "/v1/book"), routes=build_router, body=build_default_error_body
)


class PlaceModel(BaseModel):
    """A stable address in the book."""

    chapter: str
    title: str
    section: str
    path: list[str]
    url: str
    file: str
    start: int
    end: int
    page: int | None
    label: str
    book: str


class CitationModel(PlaceModel):
    """Words of the book, verbatim, where they stand; `link` opens the page with the words highlighted."""

    chunk_id: str
    quote: str
    link: str
    hash: str
    probability: float


class SentenceModel(BaseModel):
    """A sentence of the answer, how surely it is supported, and by which words."""

    text: str
    support: float
    citations: list[CitationModel]


class RefusalModel(BaseModel):
    """Why there is no answer."""

    kind: Literal["empty_retrieval", "low_relevance", "insufficient_grounding", "selected_text_missing"]
    message: str


class JudgementModel(BaseModel):
    """The finding that the reply rests on."""

    probability: float
    answer_present: bool
    quality: Literal["Good", "Partial", "Poor"]
    relevant: list[str]
    evidence: list[CitationModel]


class PassageModel(PlaceModel):
    """A passage that the search found."""

    rank: int
    score: float
    chunk_id: str
    text: str
    hash: str


class UsageModel(BaseModel):
    """What a language model was asked: in how many calls, and how many tokens it read and wrote."""

    calls: int
    read: int
    written: int


class TraceModel(BaseModel):
    """How the reply came to be; `tools` are those that a language model called.

    `differs` names other editions that do not hold all the words that are cited.
    """

    generation: str
    embedder: str
    writer: str
    tools: list[str]
    usage: UsageModel
    edition: str
    differs: list[str]
    selection: PlaceModel | None
    milliseconds: dict[str, float]


class ReplyModel(BaseModel):
    """An answer or a refusal, with everything it rests on; `partial` where only part of what was asked is answered.

    `degraded` where a language model failed: then the sentences are the book's own, or what it had written until then.
    """

    status: Literal["answered", "refused"]
    answer: str | None
    partial: bool
    sure: bool
    reservation: str | None
    degraded: bool
    refusal: RefusalModel | None
    sentences: list[SentenceModel]
    citations: list[CitationModel]
    judgement: JudgementModel
    passages: list[PassageModel]
    trace: TraceModel
    request_id: str


class SearchResultsModel(BaseModel):
    """Passages alone."""

    passages: list[PassageModel]
    generation: str
    request_id: str


class ChapterModel(BaseModel):
    title: str
    pages: int
    chunks: int


class BookModel(BaseModel):
    """The book that is being served."""

    title: str
    kind: str
    pages: int
    chunks: int
    chapters: list[ChapterModel]
    generation: str
    created: str
    models: dict[str, str]
