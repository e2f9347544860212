"""Implements contract 003: `POST /api/query` plans, retrieves, and answers, refuses or reports an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import HttpUrl, TypeAdapter, ValidationError

from bookbound.contracts import query_models as entities
from bookbound.contracts.http_contract import INTERNAL_ERROR_MESSAGE, AnswerBackend, HttpContract, Problem, ProblemKind
from bookbound.contracts.query_models import (
    MAX_DETAILS_CHARS,
    MAX_MESSAGE_CHARS,
    ErrorCode,
    ErrorDetail,
    QueryRequest,
    QueryResponse,
    WorkflowMode,
)
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence
from bookbound.domain.query_log_entry import CURRENT_REQUESTER, Requester
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, AnswerSentence, Reply, join_sentences
from bookbound.services import get_service_label

RELEVANCE_THRESHOLD = 0.4
"""The least similarity of the best passage; below it, a standard query is refused for low relevance."""
SELECTED_TEXT_SECTION = "Selected text"
QUERY_PATHS = ("/api/query", "/v1/query")
# The rest of 4XX is named too: otherwise FastAPI documents a 422 that never comes.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": QueryResponse} for status in (400, 401, 403, 413, 415, 429, "4XX", 500, 503, 504)
}
_HTTP_URL = TypeAdapter(HttpUrl)


def plan_workflow(request: QueryRequest) -> entities.PlannedWorkflow:
    """The planner: what was selected is answered from the selection, everything else from the book."""
    mode = WorkflowMode.SELECTED_TEXT_ONLY if request.selected_text else WorkflowMode.STANDARD_RAG
    return entities.PlannedWorkflow(
        mode=mode, query=request.query, top_k=request.top_k, selected_text=request.selected_text
    )


def build_question(workflow: entities.PlannedWorkflow) -> Question:
    """What the engine is asked."""
    if workflow.mode is WorkflowMode.SELECTED_TEXT_ONLY:
        return Question(workflow.query, workflow.selected_text, AnswerScope.SELECTION, workflow.top_k)
    return Question(workflow.query, k=workflow.top_k, threshold=RELEVANCE_THRESHOLD)


def list_retrieved_chunks(reply: Reply) -> list[entities.RetrievedChunk]:
    """What was found, best first; a selection is its own only chunk."""
    return [_build_chunk(passage) for passage in reply.trace.retrieval.passages]


def build_response(
    reply: Reply, workflow: entities.PlannedWorkflow, request_id: str, session_id: UUID | None = None
) -> QueryResponse:
    """The envelope around an answer or a refusal."""
    metadata = entities.ResponseMetadata(
        chunks_retrieved=len(list_retrieved_chunks(reply)),
        processing_time_ms=round(reply.trace.total_ms),
        session_id=session_id,
        request_id=_request_uuid(request_id),
    )
    if isinstance(reply, Answer):
        answer = _build_answer(reply, workflow.mode)
        return QueryResponse(status=entities.ResponseStatus.SUCCESS, answer=answer, metadata=metadata)
    kind = entities.RefusalType(reply.kind.value)
    refusal = entities.RefusalMessage(reason=entities.REFUSAL_MESSAGES[kind], refusal_type=kind)
    return QueryResponse(status=entities.ResponseStatus.REFUSED, refusal=refusal, metadata=metadata)


def build_error_body(problem: Problem, request_id: str) -> QueryResponse:
    """The envelope around what went wrong."""
    metadata = entities.ResponseMetadata(
        chunks_retrieved=0, processing_time_ms=0, session_id=problem.session_id, request_id=_request_uuid(request_id)
    )
    return QueryResponse(status=entities.ResponseStatus.ERROR, error=build_error_detail(problem), metadata=metadata)


def build_router(desk: AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["query"], route_class=SessionRoute, responses=ERROR_RESPONSES)

    async def query(asked: QueryRequest, request: Request) -> QueryResponse:
        """Answer a question from the book, or from the selected text alone, or refuse."""
        workflow = plan_workflow(asked)
        reply = await desk.ask(build_question(workflow))
        return build_response(reply, workflow, request.state.request_id, asked.session_id)

    for path in QUERY_PATHS:
        router.post(path)(query)
    return router


class SessionReference(entities.FrozenModel):
    """The one field of a request that is worth knowing even where the others are wrong."""

    session_id: entities.SessionId | None = None


def parse_session_id(body: bytes) -> UUID | None:
    """The session that a request's body names, where that can be read."""
    try:
        return SessionReference.model_validate_json(body).session_id
    except ValidationError:
        return None


class SessionRoute(APIRoute):
    """Notes the session that a request names before anything else can go wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def noted(request: Request) -> Response:
            request.state.session_id = parse_session_id(await request.body())
            CURRENT_REQUESTER.set(replace(CURRENT_REQUESTER.get() or Requester(), session=request.state.session_id))
            return await handle(request)

        return noted


def _build_answer(reply: Answer, mode: WorkflowMode) -> entities.GroundedAnswer:
    """As many sentences as the contract has room for beside the reservation, with what these rest on."""
    told = f"\n\n{reply.reservation}" if reply.reservation else ""
    shown = replace(reply, sentences=_fit_sentences(reply.sentences, entities.MAX_ANSWER_CHARS - len(told)))
    found = reply.trace.retrieval.selection
    citations = [_build_citation(evidence, found) for evidence in shown.citations]
    text = join_sentences([*shown.sentences, reply.reservation]) if told else shown.text
    return entities.GroundedAnswer(text=text, citations=list(dict.fromkeys(citations)), mode=mode)


def _fit_sentences(sentences: tuple[AnswerSentence, ...], room: int) -> tuple[AnswerSentence, ...]:
    """The first sentences that fit together; a first one that is too long by itself is cut."""
    kept: tuple[AnswerSentence, ...] = ()
    for sentence in sentences:
        if len(join_sentences((*kept, sentence))) > room:
            break
        kept += (sentence,)
    return kept or (replace(sentences[0], text=truncate(sentences[0].text, room)),)


def _build_citation(evidence: Evidence, selection: Place | None) -> entities.Citation:
    """Words and where they stand; those of a selection stand where it was found in the book."""
    place = selection if evidence.chunk_id == SELECTION_CHUNK_ID else evidence.place
    address = _address_fields(place) if place else {"section": SELECTED_TEXT_SECTION}
    return entities.Citation(**address, referenced_text=truncate(evidence.text, entities.MAX_REFERENCE_CHARS))


def _build_chunk(passage: Passage) -> entities.RetrievedChunk:
    chunk = passage.chunk
    address = {} if chunk.id == SELECTION_CHUNK_ID else _address_fields(chunk.place)
    text = truncate(chunk.text, entities.MAX_CHUNK_CHARS)
    return entities.RetrievedChunk(chunk_id=chunk.id, text=text, similarity_score=passage.score, **address)


def _address_fields(place: Place) -> dict[str, Any]:
    """A place as chapter, section and address; a link within the book's site is no address of its own."""
    section = place.section or place.file or SELECTED_TEXT_SECTION
    try:
        url = _HTTP_URL.validate_python(place.link)
    except ValidationError:
        url = None
    return {"chapter": place.chapter or None, "section": section, "source_url": url}


def _request_uuid(request_id: str) -> UUID:
    """The id of a request; one that is no UUID always gives the same UUID."""
    try:
        return UUID(request_id)
    except ValueError:
        return uuid5(NAMESPACE_URL, request_id)


CONTRACT = HttpContract(
    paths=QUERY_PATHS, routes=build_router, body=build_error_body, invalid=400, session=parse_session_id
)
# What kept a query from its reply decides the code; where that is a service, the service does.
PROBLEM_CODES = {
    ProblemKind.INVALID: ErrorCode.VALIDATION_FAILED,
    ProblemKind.NO_KEY: ErrorCode.VALIDATION_FAILED,
    ProblemKind.FORBIDDEN: ErrorCode.VALIDATION_FAILED,
    ProblemKind.NOT_FOUND: ErrorCode.VALIDATION_FAILED,
    ProblemKind.WRONG_METHOD: ErrorCode.VALIDATION_FAILED,
    ProblemKind.TOO_LARGE: ErrorCode.VALIDATION_FAILED,
    ProblemKind.WRONG_TYPE: ErrorCode.VALIDATION_FAILED,
    ProblemKind.TIMED_OUT: ErrorCode.VALIDATION_FAILED,  # without a service, it is the request that came too late
    ProblemKind.LIMIT: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.BUSY: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.INDEX: ErrorCode.QDRANT_TIMEOUT,
}
SERVICE_CODES = {
    "qdrant": ErrorCode.QDRANT_TIMEOUT,
    "cohere": ErrorCode.COHERE_FAILURE,
    "embeddings": ErrorCode.COHERE_FAILURE,
    "language model": ErrorCode.OPENROUTER_TIMEOUT,
}
INTERNAL_ERROR_CODE = ErrorCode.OPENROUTER_TIMEOUT
"""The code of a defect of our own. The contract has none for it; this one says that it is the answer that failed."""
CODE_MESSAGES = {
    ErrorCode.VALIDATION_FAILED: "The request is not valid.",
    ErrorCode.RATE_LIMIT_EXCEEDED: "Too many questions at the moment. Please wait a little and try again.",
    ErrorCode.QDRANT_TIMEOUT: "The search service is temporarily unavailable. Please try again.",
    ErrorCode.COHERE_FAILURE: "The embedding service is temporarily unavailable. Please try again.",
    ErrorCode.OPENROUTER_TIMEOUT: "The answer service is temporarily unavailable. Please try again.",
}
DETAIL_TEMPLATES = {
    ProblemKind.UNREACHABLE: "{} could not be reached, or gave nothing that can be used.",
    ProblemKind.LIMIT: "{} set a limit.",
    ProblemKind.TIMED_OUT: "{} did not answer in time.",
}
INDEX_UNUSABLE_MESSAGE = "The index cannot be used as it is."


def build_error_detail(problem: Problem) -> ErrorDetail:
    """What went wrong; details name our parts and rules, never what was sent."""
    code = _error_code(problem)
    told = problem.message if code is ErrorCode.VALIDATION_FAILED else ""
    return ErrorDetail(
        code=code or INTERNAL_ERROR_CODE,
        message=truncate(told or (CODE_MESSAGES[code] if code else INTERNAL_ERROR_MESSAGE), MAX_MESSAGE_CHARS),
        details=truncate(_describe_problem(problem), MAX_DETAILS_CHARS) or None,
        retry_after=None if problem.retry_after is None else max(problem.retry_after, 0),
    )


def _error_code(problem: Problem) -> ErrorCode | None:
    """What the contract calls a problem; it has no name for a defect of our own, such as a service nobody named."""
    if problem.service and problem.kind is not ProblemKind.LIMIT:
        return SERVICE_CODES.get(problem.service)
    return PROBLEM_CODES.get(problem.kind)


def _describe_problem(problem: Problem) -> str:
    if problem.fields:
        return "; ".join(f"{field}: {rule}" for field, rule in problem.fields)
    if problem.service:
        return DETAIL_TEMPLATES.get(problem.kind, "").format(get_service_label(problem.service))
    return INDEX_UNUSABLE_MESSAGE if problem.kind is ProblemKind.INDEX else ""


def truncate(text: str, limit: int) -> str:
    """A text no longer than `limit`, cut between two words where it has to be."""
    if len(text) <= limit:
        return text
    words = re.match(r"(?s).*\S(?=\s)", text[: limit - 2])
    return f"{words.group() if words else text[: limit - 3]}..."
