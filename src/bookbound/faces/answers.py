"""Bookbound's own contract: `POST /v1/answers`, `POST /v1/search`, `GET /v1/book`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints

from bookbound.ask import Step
from bookbound.dialogue import LONGEST_QUESTION, LONGEST_SELECTION, MOST_PASSAGES, Question, Retrieval, Scope, Sentence
from bookbound.errors import BookboundError
from bookbound.faces import canonical, problems
from bookbound.faces.face import Desk, Face, Problem
from bookbound.faces.shapes import BookModel, ErrorModel, FoundModel, ReplyModel
from bookbound.finding import Judgement

EVENTS = "text/event-stream"
Words = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=LONGEST_QUESTION)]
Selected = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, max_length=LONGEST_SELECTION)]
K = Annotated[StrictInt, Field(ge=1, le=MOST_PASSAGES)]


class Asked(BaseModel):
    """A request of ours: a field that it does not know is told, so that none is misspelt in silence."""

    model_config = ConfigDict(extra="forbid")


class AnswerRequest(Asked):
    """A question; with a selection it is answered from that alone, unless `scope` says otherwise."""

    question: Words
    selection: Selected | None = None
    scope: Literal["selection", "selection_then_book"] = "selection"
    k: K = 5
    threshold: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.0

    def asked(self) -> Question:
        return Question(self.question, self.selection, Scope(self.scope), self.k, self.threshold, fall_back=True)


class SearchRequest(Asked):
    """Words to look for."""

    query: Words
    k: K = 5


def body(problem: Problem, request_id: str) -> ErrorModel:
    told = {
        "type": problem.kind.value,
        "message": problem.message,
        "fields": [field._asdict() for field in problem.fields],
        "retry_after": problem.retry_after,
    }
    return ErrorModel.model_validate({"error": told, "request_id": request_id})


TROUBLES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorModel} for status in (401, 403, 413, 415, 422, 429, 500, 503, 504)
}


def routes(desk: Desk) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["bookbound"])

    @router.post(
        "/answers",
        response_model=ReplyModel,
        responses=TROUBLES | {200: {"content": {EVENTS: {"schema": {"type": "string"}}}}},
    )
    async def answers(asked: AnswerRequest, request: Request) -> Any:
        """Answer a question; `Accept: text/event-stream` gives passages, judgement and sentences as they are found."""
        request_id: str = request.state.request_id
        if EVENTS in request.headers.get("accept", ""):
            steps = desk.steps(asked.asked())
            first = await anext(steps)
            return StreamingResponse(_events(first, steps, request_id), media_type=EVENTS)
        return JSONResponse(canonical.reply(await desk.ask(asked.asked())) | {"request_id": request_id})

    @router.post("/search", response_model=FoundModel, responses=TROUBLES)
    async def search(sought: SearchRequest, request: Request) -> Any:
        """The passages nearest to some words, without a judgement."""
        found = await desk.search(Question(sought.query, k=sought.k))
        return {
            "passages": canonical.passages(found),
            "generation": desk.manifest.generation,
            "request_id": request.state.request_id,
        }

    @router.get(
        "/book", response_model=BookModel, responses={status: {"model": ErrorModel} for status in (401, 403, 503)}
    )
    async def book() -> Any:
        """What is being served."""
        return canonical.manifest(desk.manifest) | {"models": desk.models}

    return router


async def _events(first: Step, rest: AsyncGenerator[Step], request_id: str) -> AsyncIterator[str]:
    """Each step as an event; what goes wrong on the way is the last."""
    async with aclosing(rest):
        try:
            yield _event(first, request_id)
            async for step in rest:
                yield _event(step, request_id)
        except BookboundError as trouble:
            yield _told("error", body(problems.of_error(trouble, FACE.invalid), request_id).model_dump())


def _event(step: Step, request_id: str) -> str:
    match step:
        case Retrieval():
            return _told("retrieval", {"passages": canonical.passages(step)})
        case Judgement():
            return _told("judgement", canonical.judgement(step))
        case Sentence():
            return _told("sentence", canonical.sentence(step))
        case reply:
            return _told("reply", canonical.reply(reply) | {"request_id": request_id})


def _told(name: str, value: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


FACE = Face(paths=("/v1/answers", "/v1/search", "/v1/book"), routes=routes, body=body)
