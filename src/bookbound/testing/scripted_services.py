"""Imitates the OpenAI, Anthropic, Gemini and Cohere APIs on a local port, including their failures."""

from __future__ import annotations

import json
import math
from array import array
from base64 import b64encode
from typing import Any, Self

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bookbound.testing import RelevanceFunction, VectorFunction, embed_words, score_shared_words, split_words
from bookbound.testing.loopback_server import (
    FaultyResponse,
    LoopbackServer,
    RecordedRequest,
    ReplyScript,
    ScheduledFault,
)
from bookbound.testing.native_formats import STREAM_METHOD, format_gemini_reply, format_messages_reply
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
from bookbound.testing.wire_formats import (
    SCRIPTED_CREATED_AT,
    apply_fault,
    format_chat_reply,
    format_responses_reply,
)

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
    "/v1/messages": "messages",
    "/v1/embeddings": "embeddings",
    "/v1/models": "models",
    "/v1/embed": "embed",
    "/v2/embed": "embed",
    "/v1/rerank": "rerank",
    "/v2/rerank": "rerank",
}
GEMINI_PATH = "/v1beta/models/"
"""The model and the method follow."""


class ScriptedServices(ReplyScript):
    """Imitates OpenAI, Anthropic, Gemini and Cohere on a local port; a test scripts the replies and faults.

    Every reply of a model reports `input_tokens` and `output_tokens`. `vector` and `relevance` compute the embeddings
    and the rerank scores, by default from shared words.
    """

    def __init__(
        self,
        *,
        input_tokens: int = 100,
        output_tokens: int = 20,
        vector: VectorFunction = embed_words,
        relevance: RelevanceFunction = score_shared_words,
    ) -> None:
        super().__init__()
        self._tokens, self._vector, self._relevance = (input_tokens, output_tokens), vector, relevance
        routes = [
            Route(path, self._answer, methods=["GET" if name == "models" else "POST"])
            for path, name in ENDPOINT_PATHS.items()
        ]
        routes.append(Route(GEMINI_PATH + "{call}", self._answer, methods=["POST"]))
        self._server = LoopbackServer(Starlette(routes=routes))
        self.url, self.refused_url = self._server.url, self._server.refused_url
        self.openai_url = f"{self.url}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and drop requests that hang."""
        self._server.close()

    async def _answer(self, received: Request) -> Response:
        try:
            body = json.loads(await received.body() or b"{}")
        except ValueError:
            body = None
        path, connection = received.url.path, received.client.port if received.client else 0
        request = RecordedRequest(ENDPOINT_PATHS.get(path, "gemini"), path, dict(received.headers), body, connection)
        scheduled = self.record(request)
        if not isinstance(body, dict):
            return _error_response(request, INVALID_JSON, {})
        if scheduled and scheduled.fault in ERROR_PAGES:
            status, page = ERROR_PAGES[scheduled.fault]
            return HTMLResponse(page, status, scheduled.headers)
        if scheduled and scheduled.fault in VENDOR_ERRORS:
            return _error_response(request, VENDOR_ERRORS[scheduled.fault], scheduled.headers)
        return await self._reply(received, request, scheduled)

    async def _reply(self, received: Request, request: RecordedRequest, scheduled: ScheduledFault | None) -> Response:
        fault = scheduled.fault if scheduled else None
        frames = await self._frames(request, fault)
        if isinstance(frames, VendorErrorReply):
            return _error_response(request, frames, {})
        stream = _is_stream(request)
        sent = apply_fault(frames, fault, request.endpoint, stream)
        complete = frames if fault in UNFINISHED_FAULTS else sent
        has_length = not stream or fault is Fault.TRUNCATED
        return FaultyResponse(
            sent,
            self._server.find_connection(received.client),
            media_type="text/event-stream" if stream else "application/json",
            length=sum(len(frame) for frame in complete if isinstance(frame, bytes)) if has_length else None,
            fault=fault,
            pause=scheduled.pause if scheduled and fault is Fault.SLOW else 0,
        )

    async def _frames(self, request: RecordedRequest, fault: Fault | None) -> list[ReplyFrame] | VendorErrorReply:
        """The valid reply to a request, or the vendor's error."""
        match request.endpoint:
            case "embeddings":
                return [format_openai_embeddings(request.json, fault, self._vector)]
            case "embed" if len(read_cohere_texts(request.json)) > COHERE_MAX_BATCH:
                return TOO_MANY_TEXTS
            case "embed":
                return [format_cohere_embeddings(request.json, fault, self._vector)]
            case "rerank":
                return [format_cohere_rerank(request.json, fault, self._relevance)]
            case "models":
                return [format_openai_models(fault)]
        reply = self.next_reply(keep=fault is not None)
        if reply is None and fault is None:
            return NOTHING_SCRIPTED
        if callable(reply):
            reply = await run_in_threadpool(reply, request.json)
        message = to_message(DEFAULT_REPLY if reply is None else reply).with_fault(fault)
        if request.endpoint == "gemini":
            return format_gemini_reply(message, self._tokens, stream=_is_stream(request))
        return REPLY_FORMATS[request.endpoint](request.json, message, self._tokens)


REPLY_FORMATS = {"chat": format_chat_reply, "responses": format_responses_reply, "messages": format_messages_reply}


def _is_stream(request: RecordedRequest) -> bool:
    if request.endpoint == "gemini":
        return request.path.endswith(STREAM_METHOD)
    return bool(request.endpoint in MODEL_ENDPOINTS and request.json.get("stream"))


def _error_response(request: RecordedRequest, error: VendorErrorReply, headers: dict[str, str]) -> Response:
    names = ("authorization", "x-api-key", "x-goog-api-key")
    key = next((request.headers[name] for name in names if name in request.headers), "").removeprefix("Bearer ")[:8]
    sent: dict[str, Any] = request.json if isinstance(request.json, dict) else {}
    asked = ("input", "messages", "contents", "texts", "query")
    words = str(next((sent[name] for name in asked if sent.get(name)), None))[-200:]
    body = error.body(request.endpoint, key=key, model=str(sent.get("model")), words=words)
    return JSONResponse(body, error.status, headers)


COHERE_MAX_BATCH = 96


def format_openai_embeddings(request: dict[str, Any], fault: Fault | None, vector: VectorFunction) -> bytes:
    sent = request.get("input", "")
    texts = sent if isinstance(sent, list) else [sent]
    dimension = request.get("dimensions") or (3072 if "-large" in request.get("model", "") else 1536)
    rows: list[Any] = _embedding_rows(texts, dimension, fault, vector)
    if request.get("encoding_format") == "base64":
        rows = [_encode_base64(row) for row in rows]
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    tokens = sum(len(split_words(str(text))) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json.dumps({"object": "list", "data": data, "model": request.get("model"), "usage": usage}).encode()


def read_cohere_texts(request: dict[str, Any]) -> list[str]:
    inputs = [part.get("text", "") for each in request.get("inputs") or [] for part in each.get("content", [])]
    return [*(request.get("texts") or []), *inputs]


def format_cohere_embeddings(request: dict[str, Any], fault: Fault | None, vector: VectorFunction) -> bytes:
    """Cohere's embeddings by type, or plain as its first version returns them."""
    texts = read_cohere_texts(request)
    rows = _embedding_rows(texts, request.get("output_dimension") or 1024, fault, vector)
    kinds = request.get("embedding_types")
    by_type = {"float": rows, "base64": [_encode_base64(row) for row in rows] if "base64" in (kinds or ()) else []}
    return _format_cohere(
        {"input_tokens": sum(map(len, map(split_words, texts)))},
        response_type="embeddings_by_type" if kinds else "embeddings_floats",
        embeddings={kind: by_type.get(kind, []) for kind in kinds} if kinds else rows,
        texts=texts,
    )


def _format_cohere(billed_units: dict[str, int], **fields: Any) -> bytes:
    meta = {"api_version": {"version": "2"}, "billed_units": billed_units}
    return json.dumps({"id": "scripted", **fields, "meta": meta}).encode()


def format_cohere_rerank(request: dict[str, Any], fault: Fault | None, relevance: RelevanceFunction) -> bytes:
    """Cohere's rerank results, best first."""
    texts = [each if isinstance(each, str) else each.get("text", "") for each in request.get("documents", [])]
    scores = [relevance(request["query"], text) for text in texts]
    results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    results.sort(key=lambda result: -result["relevance_score"])
    results = _drop_rows(results[: request.get("top_n") or len(texts)], fault)
    if fault is Fault.NOT_NUMBERS:
        results = [result | {"relevance_score": math.nan} for result in results]
    return _format_cohere({"search_units": 1}, results=results)


def format_openai_models(fault: Fault | None) -> bytes:
    models = [{"id": "scripted", "object": "model", "created": SCRIPTED_CREATED_AT, "owned_by": "scripted"}]
    return json.dumps({"object": "list", "data": _drop_rows(models, fault)}).encode()


def _embedding_rows(texts: list[str], dimension: int, fault: Fault | None, vector: VectorFunction) -> list[list[float]]:
    dimension //= 2 if fault is Fault.WRONG_DIMENSION else 1
    rows = [[math.nan] * dimension if fault is Fault.NOT_NUMBERS else vector(str(text), dimension) for text in texts]
    return _drop_rows(rows, fault)


def _drop_rows(rows: list[Any], fault: Fault | None) -> list[Any]:
    return [] if fault is Fault.EMPTY else rows[:-1] if fault is Fault.TOO_FEW else rows


def _encode_base64(row: list[float]) -> str:
    return b64encode(array("f", row).tobytes()).decode()
