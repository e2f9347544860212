"""Implements contract 003: `POST /api/query` plans, retrieves, and answers, refuses or reports an error."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from fastapi import APIRouter
from pydantic import HttpUrl, TypeAdapter, ValidationError

from bookbound.contracts.http_contract import (
    INTERNAL_ERROR_MESSAGE,
    AnswerBackend,
    Context,
    HttpContract,
    Problem,
    ProblemKind,
    QuestionRoute,
    error_responses,
)
from bookbound.contracts.query_models import (
    MAX_ANSWER_CHARS,
    MAX_CHUNK_CHARS,
    MAX_DETAILS_CHARS,
    MAX_MESSAGE_CHARS,
    MAX_REFERENCE_CHARS,
    REFUSAL_MESSAGES,
    Citation,
    ErrorCode,
    ErrorDetail,
    GroundedAnswer,
    PlannedWorkflow,
    QueryRequest,
    QueryResponse,
    RefusalMessage,
    RefusalType,
    ResponseMetadata,
    ResponseStatus,
    RetrievedChunk,
    SessionId,
    WorkflowMode,
)
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.serialization import fit_answer, truncate
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, Reply
from bookbound.services import get_service_label

RELEVANCE_THRESHOLD = 0.4
"""If the best passage has a lower similarity, a standard query is refused for low relevance."""
SELECTED_TEXT_SECTION = "Selected text"
_HTTP_URL = TypeAdapter(HttpUrl)
_SESSION_ID: TypeAdapter[UUID | None] = TypeAdapter(SessionId | None)


def plan_workflow(request: QueryRequest) -> PlannedWorkflow:
    """The planner: a query with a selection is answered from the selection, every other from the book."""
    mode = WorkflowMode.SELECTED_TEXT_ONLY if request.selected_text else WorkflowMode.STANDARD_RAG
    return PlannedWorkflow(mode=mode, query=request.query, top_k=request.top_k, selected_text=request.selected_text)


def build_question(workflow: PlannedWorkflow) -> Question:
    if workflow.mode is WorkflowMode.SELECTED_TEXT_ONLY:
        return Question(workflow.query, workflow.selected_text, AnswerScope.SELECTION, workflow.top_k)
    return Question(workflow.query, k=workflow.top_k, threshold=RELEVANCE_THRESHOLD)


def list_retrieved_chunks(reply: Reply) -> list[RetrievedChunk]:
    """The retrieved passages, best first; a selection is its own only chunk."""
    return [_build_chunk(passage) for passage in reply.trace.retrieval.passages]


def build_response(reply: Reply, workflow: PlannedWorkflow, context: RequestContext) -> QueryResponse:
    """The envelope around an answer or a refusal."""
    metadata = _build_metadata(context, len(list_retrieved_chunks(reply)), round(reply.trace.total_ms))
    if isinstance(reply, Answer):
        answer = _build_answer(reply, workflow.mode)
        return QueryResponse(status=ResponseStatus.SUCCESS, answer=answer, metadata=metadata)
    kind = RefusalType(reply.kind.value)
    refusal = RefusalMessage(reason=REFUSAL_MESSAGES[kind], refusal_type=kind)
    return QueryResponse(status=ResponseStatus.REFUSED, refusal=refusal, metadata=metadata)


def _build_metadata(context: RequestContext, chunks: int = 0, milliseconds: int = 0) -> ResponseMetadata:
    return ResponseMetadata(
        chunks_retrieved=chunks,
        processing_time_ms=milliseconds,
        session_id=context.requester.session,
        request_id=_request_uuid(context.id),
    )


def _build_answer(reply: Answer, mode: WorkflowMode) -> GroundedAnswer:
    text, shown = fit_answer(reply, MAX_ANSWER_CHARS)
    selection = reply.trace.retrieval.selection
    citations = dict.fromkeys(_build_citation(evidence, selection) for evidence in shown.citations)
    return GroundedAnswer(text=text, citations=list(citations), mode=mode)


def _build_citation(evidence: Evidence, selection: Place | None) -> Citation:
    """A quote and its place; a quote from a selection has the place where the selection was found in the book."""
    place = selection if evidence.chunk_id == SELECTION_CHUNK_ID else evidence.place
    address = _address_fields(place) if place else {"section": SELECTED_TEXT_SECTION}
    return Citation(**address, referenced_text=truncate(evidence.text, MAX_REFERENCE_CHARS))


def _build_chunk(passage: Passage) -> RetrievedChunk:
    chunk = passage.chunk
    address = {} if chunk.id == SELECTION_CHUNK_ID else _address_fields(chunk.place)
    text = truncate(chunk.text, MAX_CHUNK_CHARS)
    return RetrievedChunk(chunk_id=chunk.id, text=text, similarity_score=passage.score, **address)


def _address_fields(place: Place) -> dict[str, Any]:
    """Chapter, section and URL of a place; if the URL is too long with its anchor, it is that of the page."""
    section = place.section or place.file or SELECTED_TEXT_SECTION
    url = _parse_url(place.link) or _parse_url(place.url)
    return {"chapter": place.chapter or None, "section": section, "source_url": url}


def _parse_url(link: str) -> HttpUrl | None:
    try:
        return _HTTP_URL.validate_python(link)
    except ValidationError:
        return None


def _request_uuid(request_id: str) -> UUID:
    """The id of a request as a UUID; any other text always gives the same UUID."""
    try:
        return UUID(request_id)
    except ValueError:
        return uuid5(NAMESPACE_URL, request_id)


PROBLEM_CODES: dict[ProblemKind, ErrorCode | None] = {
    ProblemKind.LIMIT: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.BUSY: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.INDEX: ErrorCode.QDRANT_TIMEOUT,
    ProblemKind.UNREACHABLE: None,
    ProblemKind.INTERNAL: None,
}
"""The codes of problems that the request itself did not cause; the contract has no code for a defect of ours."""
SERVICE_CODES = {
    "qdrant": ErrorCode.QDRANT_TIMEOUT,
    "cohere": ErrorCode.COHERE_FAILURE,
    "embeddings": ErrorCode.COHERE_FAILURE,
    "language model": ErrorCode.OPENROUTER_TIMEOUT,
}
INTERNAL_ERROR_CODE = ErrorCode.OPENROUTER_TIMEOUT
"""The code for a defect of ours: the closest one says that the answer failed."""
CODE_MESSAGES = {
    ErrorCode.VALIDATION_FAILED: "The request is not valid.",
    ErrorCode.RATE_LIMIT_EXCEEDED: "Too many questions at the moment. Please wait a little and try again.",
    ErrorCode.QDRANT_TIMEOUT: "The search service is temporarily unavailable. Please try again.",
    ErrorCode.COHERE_FAILURE: "The embedding service is temporarily unavailable. Please try again.",
    ErrorCode.OPENROUTER_TIMEOUT: "The answer service is temporarily unavailable. Please try again.",
}
DETAIL_TEMPLATES = {
    ProblemKind.UNREACHABLE: "{} could not be reached, or gave an unusable response.",
    ProblemKind.LIMIT: "{} set a limit.",
    ProblemKind.TIMED_OUT: "{} did not answer in time.",
}
INDEX_UNUSABLE_MESSAGE = "The index cannot be used as it is."


def build_error_body(problem: Problem, context: RequestContext) -> QueryResponse:
    """The envelope around an error."""
    metadata = _build_metadata(context)
    return QueryResponse(status=ResponseStatus.ERROR, error=build_error_detail(problem), metadata=metadata)


def build_error_detail(problem: Problem) -> ErrorDetail:
    """What went wrong; the details name our parts and rules, never what the reader sent."""
    code = _error_code(problem)
    message = CODE_MESSAGES[code] if code else INTERNAL_ERROR_MESSAGE
    if code is ErrorCode.VALIDATION_FAILED:
        message = problem.message or message
    return ErrorDetail(
        code=code or INTERNAL_ERROR_CODE,
        message=truncate(message, MAX_MESSAGE_CHARS),
        details=truncate(_describe_problem(problem), MAX_DETAILS_CHARS) or None,
        retry_after=None if problem.retry_after is None else max(problem.retry_after, 0),
    )


def _error_code(problem: Problem) -> ErrorCode | None:
    if problem.service and problem.kind is not ProblemKind.LIMIT:
        return SERVICE_CODES.get(problem.service)
    return PROBLEM_CODES.get(problem.kind, ErrorCode.VALIDATION_FAILED)


def _describe_problem(problem: Problem) -> str:
    if problem.fields:
        return problem.broken_rules
    if problem.service:
        return DETAIL_TEMPLATES.get(problem.kind, "").format(get_service_label(problem.service))
    return INDEX_UNUSABLE_MESSAGE if problem.kind is ProblemKind.INDEX else ""


class SessionRoute(QuestionRoute):
    """A route whose questions belong to the sessions that they name."""

    has_sessions = True

    def read_session(self, body: Any) -> UUID | None:
        try:
            return _SESSION_ID.validate_python(body.get("session_id") if isinstance(body, dict) else None)
        except ValidationError:
            return None


def build_router(backend: AnswerBackend) -> APIRouter:
    # The rest of 4XX is named too: otherwise FastAPI documents a 422 that never comes.
    errors = error_responses(QueryResponse, 400, "4XX")
    router = APIRouter(tags=["query"], route_class=SessionRoute, responses=errors)

    @router.post("/v1/query")
    @router.post("/api/query")
    async def query(body: QueryRequest, context: Context) -> QueryResponse:
        """Answer a question from the book, or from the selected text alone, or refuse."""
        workflow = plan_workflow(body)
        return build_response(await backend.ask(build_question(workflow), context), workflow, context)

    return router


CONTRACT = HttpContract(("/api/query", "/v1/query"), build_router, build_error_body, invalid_status=400)
