"""Implements Bookbound's own API: `POST /v1/answers`, `POST /v1/search` and `GET /v1/book`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints

from bookbound.contracts import http_contract, serialization
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.v1_models import BookModel, ReplyModel, SearchResultsModel
from bookbound.domain.errors import BookboundError
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import (
    MAX_PASSAGES,
    MAX_QUESTION_CHARS,
    MAX_SELECTION_CHARS,
    MAX_TURN_ANSWER_CHARS,
    MAX_TURNS,
    AnswerScope,
    CompletedQuestion,
    Question,
    Retrieval,
    Turn,
)
from bookbound.domain.reply import AnswerSentence, PipelineEvent, Progress

EVENT_STREAM_TYPE = "text/event-stream"
QuestionText = Annotated[
    str,
    StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARS),
    Field(examples=["What is a service in ROS 2?"]),
]
SelectionText = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, max_length=MAX_SELECTION_CHARS)]
PassageCount = Annotated[StrictInt, Field(ge=1, le=MAX_PASSAGES)]


class TurnModel(BaseModel):
    """An earlier question and the text of the reply to it."""

    model_config = ConfigDict(extra="forbid")

    question: QuestionText
    answer: Annotated[str, StringConstraints(strict=True, max_length=MAX_TURN_ANSWER_CHARS)] | None = None


class AnswerRequest(BaseModel):
    """A question; with a selection it is answered from the selection alone, unless `scope` says otherwise.

    A follow-up is completed from `conversation`, the earlier turns, oldest first.
    """

    model_config = ConfigDict(extra="forbid")

    question: QuestionText
    selection: SelectionText | None = None
    scope: Literal["selection", "selection_then_book"] = "selection"
    k: PassageCount = 5
    threshold: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.0
    conversation: Annotated[list[TurnModel], Field(max_length=MAX_TURNS)] = Field(default_factory=list)

    def to_question(self) -> Question:
        turns = tuple(Turn(turn.question, turn.answer or "") for turn in self.conversation)
        scope = AnswerScope(self.scope)
        return Question(self.question, self.selection, scope, self.k, self.threshold, True, turns)


class SearchRequest(BaseModel):
    """Words to search for."""

    model_config = ConfigDict(extra="forbid")

    query: QuestionText
    k: PassageCount = 5


class FieldProblemModel(BaseModel):
    field: str
    rule: str


class ProblemModel(BaseModel):
    """What went wrong and what to do."""

    type: str
    message: str
    fields: list[FieldProblemModel]
    retry_after: int | None


class ErrorModel(BaseModel):
    error: ProblemModel
    request_id: str


def build_error_body(problem: http_contract.Problem, context: RequestContext) -> ErrorModel:
    error = ProblemModel(
        type=problem.kind.value,
        message=problem.message,
        fields=[FieldProblemModel(field=field, rule=rule) for field, rule in problem.fields],
        retry_after=problem.retry_after,
    )
    return ErrorModel(error=error, request_id=context.record.request_id)


def build_router(backend: http_contract.AnswerBackend) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["bookbound"], route_class=http_contract.QuestionRoute)
    errors = http_contract.error_responses(ErrorModel, 422)
    stream_response: dict[int | str, Any] = {200: {"content": {EVENT_STREAM_TYPE: {"schema": {"type": "string"}}}}}

    @router.post("/answers", response_model=ReplyModel, responses=errors | stream_response)
    async def answers(body: AnswerRequest, request: Request, context: http_contract.Context) -> Any:
        """Answer a question, show the closest passages, or refuse.

        `Accept: text/event-stream` streams passages, judgement, sentences and what a language model is doing.
        """
        question = body.to_question()
        if EVENT_STREAM_TYPE in request.headers.get("accept", ""):
            events = backend.stream(question, context)
            # An error before the first event still becomes a response with its own status.
            first = await anext(events)
            return StreamingResponse(_stream_events(first, events, context), media_type=EVENT_STREAM_TYPE)
        reply = await backend.ask(question, context)
        return JSONResponse(serialization.serialize_reply(reply) | {"request_id": context.record.request_id})

    @router.post("/search", response_model=SearchResultsModel, responses=errors)
    async def search(body: SearchRequest, context: http_contract.Context) -> Any:
        """Find the passages nearest to some words, without a judgement."""
        found = await backend.search(Question(body.query, k=body.k), context)
        generation = (await backend.manifest(context)).generation
        passages = serialization.serialize_passages(found)
        return {"passages": passages, "generation": generation, "request_id": context.record.request_id}

    @router.get("/book", response_model=BookModel, responses={s: {"model": ErrorModel} for s in (401, 403, 503)})
    async def book(context: http_contract.Context) -> Any:
        """Describe the book that is served."""
        return serialization.serialize_manifest(await backend.manifest(context)) | {"models": backend.models}

    return router


async def _stream_events(
    first: PipelineEvent, rest: AsyncGenerator[PipelineEvent], context: RequestContext
) -> AsyncIterator[str]:
    """Each event of the pipeline as a server-sent event; if something fails on the way, the last one is an error."""
    # A client that leaves closes this generator, which must end the work on its answer too.
    async with aclosing(rest):
        try:
            yield _format_event(first, context)
            async for event in rest:
                yield _format_event(event, context)
        except BookboundError as error:
            problem = http_contract.problem_from_error(error, CONTRACT.invalid_status)
            yield _server_sent_event("error", build_error_body(problem, context).model_dump())


def _format_event(event: PipelineEvent, context: RequestContext) -> str:
    match event:
        case CompletedQuestion():
            return _server_sent_event("question", {"completed_question": event.text})
        case Retrieval():
            return _server_sent_event("retrieval", {"passages": serialization.serialize_passages(event)})
        case Judgement():
            return _server_sent_event("judgement", serialization.serialize_judgement(event))
        case Progress():
            return _server_sent_event("progress", {"step": event.value})
        case AnswerSentence():
            return _server_sent_event("sentence", serialization.serialize_sentence(event))
        case reply:
            return _server_sent_event(
                "reply", serialization.serialize_reply(reply) | {"request_id": context.record.request_id}
            )


def _server_sent_event(name: str, value: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


CONTRACT = http_contract.HttpContract(("/v1/answers", "/v1/search", "/v1/book"), build_router, build_error_body)
