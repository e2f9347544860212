"""A scripted server that speaks, on a port of this machine, as OpenAI and Cohere do, and fails as it is told.

    from bookbound.testing.services import Fault, ScriptedServices, Streamed, ToolCall

    with ScriptedServices() as services:
        services.says("The first reply.", {"sentences": []})       # the next replies of the model, in order
        services.says(ToolCall("search_textbook", {"query": "gears", "k": 5}), "The reply after the tool.")
        services.says(lambda request: f"You use {request['model']}.")     # made from the request's JSON
        services.says(Streamed("One. ", event, "Two."))            # these pieces; waits for the threading.Event
        services.says("Whenever nothing else is scripted.", always=True)

        services.fails(Fault.OVERLOADED)                           # the next request
        services.fails(Fault.TIMEOUT, path="embed", times=2)       # the next two of one endpoint
        services.fails(Fault.RATE_LIMITED, retry_after=7, always=True)   # seconds, or a datetime, or any text
        services.forget()                                          # back to the beginning: script, faults, requests

        services.url             # for Cohere: base_url=services.url
        services.openai_url      # for OpenAI: base_url=services.openai_url
        services.refused_url     # a port where nothing listens
        services.requests        # what was asked so far: endpoint, path, headers, json, connection
        services.wait_until_asked(2)     # block until so many requests have come

Endpoints (`path`): "chat" /v1/chat/completions, "responses" /v1/responses, "embeddings" /v1/embeddings,
"models" /v1/models, "embed" /v1/embed and /v2/embed, "rerank" /v1/rerank and /v2/rerank.

A fault that needs a reply (a half, a slow one) takes the next scripted reply and leaves it in the script. A fault
without `path` waits for an endpoint that can fail so. A model that nothing is scripted for answers with status 500.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bookbound.testing import chat, responses, vectors
from bookbound.testing.faults import COMPLAINTS, MODELS, NO_JSON, PAGES, TOO_MANY, UNSCRIPTED, Complaint, Fault
from bookbound.testing.loopback import Delivery, Loopback
from bookbound.testing.replies import STOCK, Frame, Line, Reply, Streamed, ToolCall, said
from bookbound.testing.script import Asked, Failing, Script
from bookbound.testing.spoilt import UNFINISHED, length, spoilt

__all__ = ["Asked", "Fault", "Line", "Reply", "ScriptedServices", "Streamed", "ToolCall"]

PATHS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings",
    "/v1/models": "models",
    "/v1/embed": "embed",
    "/v2/embed": "embed",
    "/v1/rerank": "rerank",
    "/v2/rerank": "rerank",
}


class ScriptedServices(Script):
    """OpenAI and Cohere on a port of this machine, as far as a test tells them what to say.

    Every reply of a model reports so many tokens `read` and `written`. Vectors and relevances come from shared words,
    unless other ways to make them are given.
    """

    def __init__(
        self,
        *,
        read: int = 100,
        written: int = 20,
        vector: vectors.Vector = vectors.of_words,
        relevance: vectors.Relevance = vectors.shared_words,
    ) -> None:
        super().__init__()
        self._spent, self._vector, self._relevance = (read, written), vector, relevance
        routes = [
            Route(path, self._answer, methods=["GET" if name == "models" else "POST"]) for path, name in PATHS.items()
        ]
        self._server = Loopback(Starlette(routes=routes))
        self.url, self.refused_url = self._server.url, self._server.refused_url
        self.openai_url = f"{self.url}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; requests that hang are dropped."""
        self._server.close()

    async def _answer(self, request: Request) -> Response:
        try:
            told = json.loads(await request.body() or b"{}")
        except ValueError:
            told = None
        connection = request.client.port if request.client else 0
        asked = Asked(PATHS[request.url.path], request.url.path, dict(request.headers), told, connection)
        failing = self.heard(asked)
        if not isinstance(told, dict):
            return _refused(asked, NO_JSON, {})
        if failing and failing.fault in PAGES:
            status, page = PAGES[failing.fault]
            return HTMLResponse(page, status, failing.headers)
        if failing and failing.fault in COMPLAINTS:
            return _refused(asked, COMPLAINTS[failing.fault], failing.headers)
        return await self._reply(asked, failing)

    async def _reply(self, asked: Asked, failing: Failing | None) -> Response:
        fault = failing.fault if failing else None
        frames = await self._frames(asked, fault)
        if isinstance(frames, Complaint):
            return _refused(asked, frames, {})
        stream = bool(asked.endpoint in MODELS and asked.json.get("stream"))
        sent = spoilt(frames, fault, asked.endpoint, stream)
        announced = None if stream and fault is not Fault.TRUNCATED else length(frames if fault in UNFINISHED else sent)
        return Delivery(
            self._server,
            sent,
            media_type="text/event-stream" if stream else "application/json",
            length=announced,
            fault=fault,
            pause=failing.pause if failing and fault is Fault.SLOW else 0,
        )

    async def _frames(self, asked: Asked, fault: Fault | None) -> list[Frame] | Complaint:
        """The good reply to a request, or the vendor's complaint about it."""
        match asked.endpoint:
            case "embeddings":
                return [vectors.openai_embeddings(asked.json, fault, self._vector)]
            case "embed" if len(vectors.cohere_texts(asked.json)) > vectors.COHERE_BATCH:
                return TOO_MANY
            case "embed":
                return [vectors.cohere_embed(asked.json, fault, self._vector)]
            case "rerank":
                return [vectors.cohere_rerank(asked.json, fault, self._relevance)]
            case "models":
                return [vectors.openai_models(fault)]
        line = self.line(keep=fault is not None)
        if line is None and fault is None:
            return UNSCRIPTED
        reply = await run_in_threadpool(line, asked.json) if callable(line) else line
        message = said(STOCK if reply is None else reply).failing(fault)
        frames = responses.frames if asked.endpoint == "responses" else chat.frames
        return frames(asked.json, message, self._spent)


def _refused(asked: Asked, complaint: Complaint, headers: dict[str, str]) -> Response:
    key = asked.headers.get("authorization", "").removeprefix("Bearer ")[:8]
    told: dict[str, Any] = asked.json if isinstance(asked.json, dict) else {}
    words = str(told.get("input") or told.get("messages") or told.get("texts") or told.get("query"))[-200:]
    body = complaint.body(asked.endpoint, key=key, model=str(told.get("model")), words=words)
    return JSONResponse(body, complaint.status, headers)
