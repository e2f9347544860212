"""Imitates the OpenAI and Cohere APIs on a local port, including their failures."""

from __future__ import annotations

import json
import math
from array import array
from base64 import b64encode
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bookbound import testing
from bookbound.testing import RelevanceFunction, VectorFunction, split_words, wire_formats
from bookbound.testing.loopback_server import (
    FaultyResponse,
    LoopbackServer,
    RecordedRequest,
    ReplyScript,
    ScheduledFault,
)
from bookbound.testing.scripted_replies import (
    DEFAULT_REPLY,
    ERROR_PAGES,
    INVALID_JSON,
    MODEL_ENDPOINTS,
    NOTHING_SCRIPTED,
    TOO_MANY_TEXTS,
    UNFINISHED_FAULTS,
    VENDOR_ERRORS,
    Fault,
    ReplyFrame,
    ReplyOrFactory,
    ScriptedReply,
    StreamedReply,
    ToolCall,
    VendorErrorReply,
    to_message,
)
from bookbound.testing.wire_formats import apply_fault


def count_bytes(frames: Sequence[ReplyFrame]) -> int:
    """The bytes of a whole reply."""
    return sum(len(frame) for frame in frames if isinstance(frame, bytes))


__all__ = [
    "Fault",
    "RecordedRequest",
    "ReplyOrFactory",
    "ScriptedReply",
    "ScriptedServices",
    "StreamedReply",
    "ToolCall",
]
ENDPOINT_PATHS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings",
    "/v1/models": "models",
    "/v1/embed": "embed",
    "/v2/embed": "embed",
    "/v1/rerank": "rerank",
    "/v2/rerank": "rerank",
}


class ScriptedServices(ReplyScript):
    """OpenAI and Cohere on a port of this machine, as far as a test tells them what to say.

    Every reply of a model reports so many tokens `read` and `written`. Vectors and relevances come from shared words,
    unless other ways to make them are given.
    """

    def __init__(
        self,
        *,
        read: int = 100,
        written: int = 20,
        vector: testing.VectorFunction = testing.embed_words,
        relevance: testing.RelevanceFunction = testing.score_shared_words,
    ) -> None:
        super().__init__()
        self._spent, self._vector, self._relevance = (read, written), vector, relevance
        routes = [
            Route(path, self._answer, methods=["GET" if name == "models" else "POST"])
            for path, name in ENDPOINT_PATHS.items()
        ]
        self._server = LoopbackServer(Starlette(routes=routes))
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
        asked = RecordedRequest(
            ENDPOINT_PATHS[request.url.path], request.url.path, dict(request.headers), told, connection
        )
        failing = self.heard(asked)
        if not isinstance(told, dict):
            return _error_response(asked, INVALID_JSON, {})
        if failing and failing.fault in ERROR_PAGES:
            status, page = ERROR_PAGES[failing.fault]
            return HTMLResponse(page, status, failing.headers)
        if failing and failing.fault in VENDOR_ERRORS:
            return _error_response(asked, VENDOR_ERRORS[failing.fault], failing.headers)
        return await self._reply(asked, failing)

    async def _reply(self, asked: RecordedRequest, failing: ScheduledFault | None) -> Response:
        fault = failing.fault if failing else None
        frames = await self._frames(asked, fault)
        if isinstance(frames, VendorErrorReply):
            return _error_response(asked, frames, {})
        stream = bool(asked.endpoint in MODEL_ENDPOINTS and asked.json.get("stream"))
        sent = apply_fault(frames, fault, asked.endpoint, stream)
        announced = (
            None
            if stream and fault is not Fault.TRUNCATED
            else count_bytes(frames if fault in UNFINISHED_FAULTS else sent)
        )
        return FaultyResponse(
            self._server,
            sent,
            media_type="text/event-stream" if stream else "application/json",
            length=announced,
            fault=fault,
            pause=failing.pause if failing and fault is Fault.SLOW else 0,
        )

    async def _frames(self, asked: RecordedRequest, fault: Fault | None) -> list[ReplyFrame] | VendorErrorReply:
        """The good reply to a request, or the vendor's complaint about it."""
        match asked.endpoint:
            case "embeddings":
                return [format_openai_embeddings(asked.json, fault, self._vector)]
            case "embed" if len(read_cohere_texts(asked.json)) > COHERE_MAX_BATCH:
                return TOO_MANY_TEXTS
            case "embed":
                return [format_cohere_embeddings(asked.json, fault, self._vector)]
            case "rerank":
                return [format_cohere_rerank(asked.json, fault, self._relevance)]
            case "models":
                return [format_openai_models(fault)]
        line = self.line(keep=fault is not None)
        if line is None and fault is None:
            return NOTHING_SCRIPTED
        reply = await run_in_threadpool(line, asked.json) if callable(line) else line
        message = to_message(DEFAULT_REPLY if reply is None else reply).failing(fault)
        frames = (
            wire_formats.format_responses_reply if asked.endpoint == "responses" else wire_formats.format_chat_reply
        )
        return frames(asked.json, message, self._spent)


def _error_response(asked: RecordedRequest, complaint: VendorErrorReply, headers: dict[str, str]) -> Response:
    key = asked.headers.get("authorization", "").removeprefix("Bearer ")[:8]
    told: dict[str, Any] = asked.json if isinstance(asked.json, dict) else {}
    words = str(told.get("input") or told.get("messages") or told.get("texts") or told.get("query"))[-200:]
    body = complaint.body(asked.endpoint, key=key, model=str(told.get("model")), words=words)
    return JSONResponse(body, complaint.status, headers)


COHERE_MAX_BATCH = 96


def format_openai_embeddings(asked: dict[str, Any], fault: Fault | None, vector: VectorFunction) -> bytes:
    """The reply of OpenAI's endpoint for embeddings."""
    given = asked.get("input", "")
    texts = given if isinstance(given, list) else [given]
    dimension = asked.get("dimensions") or (3072 if "-large" in asked.get("model", "") else 1536)
    rows: list[Any] = _embedding_rows(texts, dimension, fault, vector)
    if asked.get("encoding_format") == "base64":
        rows = [_encode_base64(row) for row in rows]
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    read = sum(len(split_words(str(text))) for text in texts)
    usage = {"prompt_tokens": read, "total_tokens": read}
    return json.dumps({"object": "list", "data": data, "model": asked.get("model"), "usage": usage}).encode()


def read_cohere_texts(asked: dict[str, Any]) -> list[str]:
    """The texts that a request to Cohere's endpoint for embeddings holds."""
    inputs = [part.get("text", "") for each in asked.get("inputs") or [] for part in each.get("content", [])]
    return [*(asked.get("texts") or []), *inputs]


def format_cohere_embeddings(asked: dict[str, Any], fault: Fault | None, vector: VectorFunction) -> bytes:
    """The reply of Cohere's endpoint for embeddings: by type, or plain as its first version gives them."""
    texts = read_cohere_texts(asked)
    rows = _embedding_rows(texts, asked.get("output_dimension") or 1024, fault, vector)
    kinds = asked.get("embedding_types")
    by_type = {"float": rows, "base64": [_encode_base64(row) for row in rows] if "base64" in (kinds or ()) else []}
    body = {
        "id": "scripted",
        "response_type": "embeddings_by_type" if kinds else "embeddings_floats",
        "embeddings": {kind: by_type.get(kind, []) for kind in kinds} if kinds else rows,
        "texts": texts,
        "meta": {
            "api_version": {"version": "2"},
            "billed_units": {"input_tokens": sum(map(len, map(split_words, texts)))},
        },
    }
    return json.dumps(body).encode()


def format_cohere_rerank(asked: dict[str, Any], fault: Fault | None, relevance: RelevanceFunction) -> bytes:
    """The reply of Cohere's endpoint for reranking, best first."""
    texts = [each if isinstance(each, str) else each.get("text", "") for each in asked.get("documents", [])]
    results = [{"index": place, "relevance_score": relevance(asked["query"], text)} for place, text in enumerate(texts)]
    results.sort(key=lambda result: -result["relevance_score"])
    results = _drop_rows(results[: asked.get("top_n") or len(texts)], fault)
    if fault is Fault.NOT_NUMBERS:
        results = [result | {"relevance_score": math.nan} for result in results]
    meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    return json.dumps({"id": "scripted", "results": results, "meta": meta}).encode()


def format_openai_models(fault: Fault | None) -> bytes:
    """The reply of OpenAI's endpoint that lists its models."""
    models = [{"id": "scripted", "object": "model", "created": 1_767_225_600, "owned_by": "scripted"}]
    return json.dumps({"object": "list", "data": _drop_rows(models, fault)}).encode()


def _embedding_rows(texts: list[str], dimension: int, fault: Fault | None, vector: VectorFunction) -> list[list[float]]:
    dimension //= 2 if fault is Fault.WRONG_DIMENSION else 1
    rows = [[math.nan] * dimension if fault is Fault.NOT_NUMBERS else vector(str(text), dimension) for text in texts]
    return _drop_rows(rows, fault)


def _drop_rows(rows: list[Any], fault: Fault | None) -> list[Any]:
    return [] if fault is Fault.EMPTY else rows[:-1] if fault is Fault.TOO_FEW else rows


def _encode_base64(row: list[float]) -> str:
    return b64encode(array("f", row).tobytes()).decode()
