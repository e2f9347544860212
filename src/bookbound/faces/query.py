"""The query contract: `POST /api/query`, also at `/v1/query`: plan, retrieve, answer or refuse."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import HttpUrl, TypeAdapter, ValidationError

from bookbound.book import Passage, Place
from bookbound.dialogue import SELECTION_ID, Answer, Question, Reply, Scope, Sentence, join
from bookbound.entry import ASKING, Asker
from bookbound.faces import query_entities as entities
from bookbound.faces.cut import cut
from bookbound.faces.face import Desk, Face, Problem
from bookbound.faces.query_entities import QueryRequest, QueryResponse, WorkflowMode
from bookbound.faces.query_trouble import detail
from bookbound.finding import Evidence

THRESHOLD = 0.4
"""The least similarity of the best passage; below it, a standard query is refused for low relevance."""
SELECTED_TEXT = "Selected text"
PATHS = ("/api/query", "/v1/query")
# The rest of 4XX is named too: otherwise FastAPI documents a 422 that never comes.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": QueryResponse} for status in (400, 401, 403, 413, 415, 429, "4XX", 500, 503, 504)
}
_WEB_ADDRESS = TypeAdapter(HttpUrl)


def plan(request: QueryRequest) -> entities.PlannedWorkflow:
    """The planner: what was selected is answered from the selection, everything else from the book."""
    mode = WorkflowMode.SELECTED_TEXT_ONLY if request.selected_text else WorkflowMode.STANDARD_RAG
    return entities.PlannedWorkflow(
        mode=mode, query=request.query, top_k=request.top_k, selected_text=request.selected_text
    )


def question(workflow: entities.PlannedWorkflow) -> Question:
    """What the engine is asked."""
    if workflow.mode is WorkflowMode.SELECTED_TEXT_ONLY:
        return Question(workflow.query, workflow.selected_text, Scope.SELECTION, workflow.top_k)
    return Question(workflow.query, k=workflow.top_k, threshold=THRESHOLD)


def retrieved(reply: Reply) -> list[entities.RetrievedChunk]:
    """What was found, best first; a selection is its own only chunk."""
    return [_chunk(passage) for passage in reply.trace.retrieval.passages]


def response(
    reply: Reply, workflow: entities.PlannedWorkflow, request_id: str, session_id: UUID | None = None
) -> QueryResponse:
    """The envelope around an answer or a refusal."""
    metadata = entities.ResponseMetadata(
        chunks_retrieved=len(retrieved(reply)),
        processing_time_ms=round(reply.trace.total_ms),
        session_id=session_id,
        request_id=_uuid(request_id),
    )
    if isinstance(reply, Answer):
        answer = _answer(reply, workflow.mode)
        return QueryResponse(status=entities.ResponseStatus.SUCCESS, answer=answer, metadata=metadata)
    kind = entities.RefusalType(reply.kind.value)
    refusal = entities.RefusalMessage(reason=entities.REFUSAL_MESSAGES[kind], refusal_type=kind)
    return QueryResponse(status=entities.ResponseStatus.REFUSED, refusal=refusal, metadata=metadata)


def body(problem: Problem, request_id: str) -> QueryResponse:
    """The envelope around what went wrong."""
    metadata = entities.ResponseMetadata(
        chunks_retrieved=0, processing_time_ms=0, session_id=problem.session_id, request_id=_uuid(request_id)
    )
    return QueryResponse(status=entities.ResponseStatus.ERROR, error=detail(problem), metadata=metadata)


def routes(desk: Desk) -> APIRouter:
    router = APIRouter(tags=["query"], route_class=SessionRoute, responses=ERRORS)

    async def query(asked: QueryRequest, request: Request) -> QueryResponse:
        """Answer a question from the book, or from the selected text alone, or refuse."""
        workflow = plan(asked)
        reply = await desk.ask(question(workflow))
        return response(reply, workflow, request.state.request_id, asked.session_id)

    for path in PATHS:
        router.post(path)(query)
    return router


class Session(entities.Entity):
    """The one field of a request that is worth knowing even where the others are wrong."""

    session_id: entities.SessionId | None = None


def session(body: bytes) -> UUID | None:
    """The session that a request's body names, where that can be read."""
    try:
        return Session.model_validate_json(body).session_id
    except ValidationError:
        return None


class SessionRoute(APIRoute):
    """Notes the session that a request names before anything else can go wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def noted(request: Request) -> Response:
            request.state.session_id = session(await request.body())
            ASKING.set(replace(ASKING.get() or Asker(), session=request.state.session_id))
            return await handle(request)

        return noted


def _answer(reply: Answer, mode: WorkflowMode) -> entities.GroundedAnswer:
    """As many sentences as the contract has room for beside the reservation, with what these rest on."""
    told = f"\n\n{reply.reservation}" if reply.reservation else ""
    shown = replace(reply, sentences=_fitting(reply.sentences, entities.LONGEST_ANSWER - len(told)))
    found = reply.trace.retrieval.selection
    citations = [_citation(evidence, found) for evidence in shown.citations]
    text = join([*shown.sentences, reply.reservation]) if told else shown.text
    return entities.GroundedAnswer(text=text, citations=list(dict.fromkeys(citations)), mode=mode)


def _fitting(sentences: tuple[Sentence, ...], room: int) -> tuple[Sentence, ...]:
    """The first sentences that fit together; a first one that is too long by itself is cut."""
    kept: tuple[Sentence, ...] = ()
    for sentence in sentences:
        if len(join((*kept, sentence))) > room:
            break
        kept += (sentence,)
    return kept or (replace(sentences[0], text=cut(sentences[0].text, room)),)


def _citation(evidence: Evidence, selection: Place | None) -> entities.Citation:
    """Words and where they stand; those of a selection stand where it was found in the book."""
    place = selection if evidence.chunk_id == SELECTION_ID else evidence.place
    address = _address(place) if place else {"section": SELECTED_TEXT}
    return entities.Citation(**address, referenced_text=cut(evidence.text, entities.LONGEST_REFERENCE))


def _chunk(passage: Passage) -> entities.RetrievedChunk:
    chunk = passage.chunk
    address = {} if chunk.id == SELECTION_ID else _address(chunk.place)
    text = cut(chunk.text, entities.LONGEST_CHUNK)
    return entities.RetrievedChunk(chunk_id=chunk.id, text=text, similarity_score=passage.score, **address)


def _address(place: Place) -> dict[str, Any]:
    """A place as chapter, section and address; a link within the book's site is no address of its own."""
    section = place.section or place.file or SELECTED_TEXT
    try:
        url = _WEB_ADDRESS.validate_python(place.link)
    except ValidationError:
        url = None
    return {"chapter": place.chapter or None, "section": section, "source_url": url}


def _uuid(request_id: str) -> UUID:
    """The id of a request; one that is no UUID always gives the same UUID."""
    try:
        return UUID(request_id)
    except ValueError:
        return uuid5(NAMESPACE_URL, request_id)


FACE = Face(paths=PATHS, routes=routes, body=body, invalid=400, session=session)
