"""Implements contract 003: `POST /api/query` plans, retrieves, and answers, refuses or reports an error."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from fastapi import APIRouter
from pydantic import HttpUrl, TypeAdapter, ValidationError

from bookbound.contracts import http_contract
from bookbound.contracts import query_models as models
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.serialization import fit_answer, truncate
from bookbound.domain.chunk import Place
from bookbound.domain.judgement import Evidence
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, Reply
from bookbound.services import get_service_label

RELEVANCE_THRESHOLD = 0.4
"""If the best passage has a lower similarity, a standard query is refused for low relevance."""
SELECTED_TEXT_SECTION = "Selected text"
_HTTP_URL = TypeAdapter(HttpUrl)
_SESSION_ID: TypeAdapter[UUID | None] = TypeAdapter(models.SessionId | None)


def plan_workflow(request: models.QueryRequest) -> models.PlannedWorkflow:
    """The planner: a query with a selection is answered from the selection, every other from the book."""
    mode = models.WorkflowMode.SELECTED_TEXT_ONLY if request.selected_text else models.WorkflowMode.STANDARD_RAG
    return models.PlannedWorkflow(
        mode=mode, query=request.query, top_k=request.top_k, selected_text=request.selected_text
    )


def build_question(workflow: models.PlannedWorkflow) -> Question:
    if workflow.mode is models.WorkflowMode.SELECTED_TEXT_ONLY:
        return Question(
            workflow.query, workflow.selected_text, AnswerScope.SELECTION, workflow.top_k, hides_unverified=True
        )
    return Question(workflow.query, k=workflow.top_k, threshold=RELEVANCE_THRESHOLD, hides_unverified=True)


def list_retrieved_chunks(reply: Reply) -> list[models.RetrievedChunk]:
    """The retrieved passages, best first; a selection is its own only chunk."""
    chunks = []
    for passage in reply.trace.retrieval.passages:
        chunk, text = passage.chunk, truncate(passage.chunk.text, models.MAX_CHUNK_CHARS)
        address = {} if chunk.id == SELECTION_CHUNK_ID else _address_fields(chunk.place)
        chunks.append(models.RetrievedChunk(chunk_id=chunk.id, text=text, similarity_score=passage.score, **address))
    return chunks


def build_response(reply: Reply, workflow: models.PlannedWorkflow, context: RequestContext) -> models.QueryResponse:
    """The envelope around an answer or a refusal."""
    metadata = _build_metadata(context, len(list_retrieved_chunks(reply)), round(reply.trace.total_ms))
    if isinstance(reply, Answer):
        answer = _build_answer(reply, workflow.mode)
        return models.QueryResponse(status=models.ResponseStatus.SUCCESS, answer=answer, metadata=metadata)
    kind = models.RefusalType(reply.kind.value)
    refusal = models.RefusalMessage(reason=models.REFUSAL_MESSAGES[kind], refusal_type=kind)
    return models.QueryResponse(status=models.ResponseStatus.REFUSED, refusal=refusal, metadata=metadata)


def _build_metadata(context: RequestContext, chunks: int = 0, milliseconds: int = 0) -> models.ResponseMetadata:
    return models.ResponseMetadata(
        chunks_retrieved=chunks,
        processing_time_ms=milliseconds,
        session_id=context.requester.session,
        request_id=_request_uuid(context.record.request_id),
    )


def _build_answer(reply: Answer, mode: models.WorkflowMode) -> models.GroundedAnswer:
    text, shown = fit_answer(reply, models.MAX_ANSWER_CHARS)
    selection = reply.trace.retrieval.selection
    citations = dict.fromkeys(_build_citation(evidence, selection) for evidence in shown.citations)
    return models.GroundedAnswer(text=text, citations=list(citations), mode=mode)


def _build_citation(evidence: Evidence, selection: Place | None) -> models.Citation:
    """A quote and its place; a quote from a selection has the place where the selection was found in the book."""
    place = selection if evidence.chunk_id == SELECTION_CHUNK_ID else evidence.place
    address = _address_fields(place) if place else {"section": SELECTED_TEXT_SECTION}
    return models.Citation(**address, referenced_text=truncate(evidence.text, models.MAX_REFERENCE_CHARS))


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


PROBLEM_CODES: dict[http_contract.ProblemKind, models.ErrorCode | None] = {
    http_contract.ProblemKind.LIMIT: models.ErrorCode.RATE_LIMIT_EXCEEDED,
    http_contract.ProblemKind.BUSY: models.ErrorCode.RATE_LIMIT_EXCEEDED,
    http_contract.ProblemKind.INDEX: models.ErrorCode.QDRANT_TIMEOUT,
    http_contract.ProblemKind.UNREACHABLE: None,
    http_contract.ProblemKind.INTERNAL: None,
}
"""The codes of problems that the request itself did not cause; the contract has no code for a defect of ours."""
SERVICE_CODES = {
    "qdrant": models.ErrorCode.QDRANT_TIMEOUT,
    "cohere": models.ErrorCode.COHERE_FAILURE,
    "embeddings": models.ErrorCode.COHERE_FAILURE,
    "language model": models.ErrorCode.OPENROUTER_TIMEOUT,
}
INTERNAL_ERROR_CODE = models.ErrorCode.OPENROUTER_TIMEOUT
"""The code for a defect of ours: the closest one says that the answer failed."""
CODE_MESSAGES = {
    models.ErrorCode.VALIDATION_FAILED: "The request is not valid.",
    models.ErrorCode.RATE_LIMIT_EXCEEDED: "Too many questions at the moment. Please wait a little and try again.",
    models.ErrorCode.QDRANT_TIMEOUT: "The search service is temporarily unavailable. Please try again.",
    models.ErrorCode.COHERE_FAILURE: "The embedding service is temporarily unavailable. Please try again.",
    models.ErrorCode.OPENROUTER_TIMEOUT: "The answer service is temporarily unavailable. Please try again.",
}
DETAIL_TEMPLATES = {
    http_contract.ProblemKind.UNREACHABLE: "{} could not be reached, or gave an unusable response.",
    http_contract.ProblemKind.LIMIT: "{} set a limit.",
    http_contract.ProblemKind.TIMED_OUT: "{} did not answer in time.",
}
INDEX_UNUSABLE_MESSAGE = "The index cannot be used as it is."


def build_error_body(problem: http_contract.Problem, context: RequestContext) -> models.QueryResponse:
    """The envelope around an error."""
    metadata = _build_metadata(context)
    return models.QueryResponse(
        status=models.ResponseStatus.ERROR, error=build_error_detail(problem), metadata=metadata
    )


def build_error_detail(problem: http_contract.Problem) -> models.ErrorDetail:
    """What went wrong; the details name our parts and rules, never what the reader sent."""
    code = _error_code(problem)
    message = CODE_MESSAGES[code] if code else http_contract.INTERNAL_ERROR_MESSAGE
    if code is models.ErrorCode.VALIDATION_FAILED:
        message = problem.message or message
    return models.ErrorDetail(
        code=code or INTERNAL_ERROR_CODE,
        message=truncate(message, models.MAX_MESSAGE_CHARS),
        details=truncate(_describe_problem(problem), models.MAX_DETAILS_CHARS) or None,
        retry_after=None if problem.retry_after is None else max(problem.retry_after, 0),
    )


def _error_code(problem: http_contract.Problem) -> models.ErrorCode | None:
    if problem.service and problem.kind is not http_contract.ProblemKind.LIMIT:
        return SERVICE_CODES.get(problem.service)
    return PROBLEM_CODES.get(problem.kind, models.ErrorCode.VALIDATION_FAILED)


def _describe_problem(problem: http_contract.Problem) -> str:
    if problem.fields:
        return problem.broken_rules
    if problem.service:
        return DETAIL_TEMPLATES.get(problem.kind, "").format(get_service_label(problem.service))
    return INDEX_UNUSABLE_MESSAGE if problem.kind is http_contract.ProblemKind.INDEX else ""


class SessionRoute(http_contract.QuestionRoute):
    """A route whose questions belong to the sessions that they name."""

    has_sessions = True

    def read_session(self, body: Any) -> UUID | None:
        try:
            return _SESSION_ID.validate_python(body.get("session_id") if isinstance(body, dict) else None)
        except ValidationError:
            return None


def build_router(backend: http_contract.AnswerBackend) -> APIRouter:
    # The rest of 4XX is named too: otherwise FastAPI documents a 422 that never comes.
    errors = http_contract.error_responses(models.QueryResponse, 400, "4XX")
    router = APIRouter(tags=["query"], route_class=SessionRoute, responses=errors)

    @router.post("/v1/query")
    @router.post("/api/query")
    async def query(body: models.QueryRequest, context: http_contract.Context) -> models.QueryResponse:
        """Answer a question from the book, or from the selected text alone, or refuse."""
        workflow = plan_workflow(body)
        return build_response(await backend.ask(build_question(workflow), context), workflow, context)

    return router


CONTRACT = http_contract.HttpContract(("/api/query", "/v1/query"), build_router, build_error_body, invalid_status=400)
