"""Formats scripted replies as Anthropic's Messages API or Google's Gemini API does, whole or as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event

from bookbound.testing.scripted_replies import ReplyFrame, ScriptedMessage
from bookbound.testing.wire_formats import Json, Tokens, format_chat_event, list_waits

STREAM_METHOD = ":streamGenerateContent"
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_FINISH_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def format_messages_reply(request: Json, message: ScriptedMessage, tokens: Tokens) -> list[ReplyFrame]:
    """The reply of Anthropic to a request."""
    if request.get("stream"):
        return list(_messages_stream(request, message, tokens))
    text = message.text or message.refusal
    blocks = [] if message.is_absent else [{"type": "text", "text": text}]
    body = _messages_envelope(request, tokens) | {"content": blocks, "stop_reason": _stop_reason(message)}
    return [*list_waits(message), json.dumps(body).encode()]


def format_messages_event(name: str, data: Json) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n".encode()


def _messages_envelope(request: Json, tokens: Tokens) -> Json:
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    envelope = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": request.get("model", "scripted")}
    return envelope | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _messages_stream(request: Json, message: ScriptedMessage, tokens: Tokens) -> Iterator[ReplyFrame]:
    yield format_messages_event("message_start", {"message": _messages_envelope(request, (tokens[0], 1))})
    yield format_messages_event("ping", {})
    if not message.is_absent:
        block = {"type": "text", "text": ""}
        yield format_messages_event("content_block_start", {"index": 0, "content_block": block})
        for piece in message.pieces or filter(None, (message.refusal,)):
            if isinstance(piece, Event):
                yield piece
                continue
            delta = {"type": "text_delta", "text": piece}
            yield format_messages_event("content_block_delta", {"index": 0, "delta": delta})
        yield format_messages_event("content_block_stop", {"index": 0})
    end = {"delta": {"stop_reason": _stop_reason(message), "stop_sequence": None}}
    yield format_messages_event("message_delta", end | {"usage": {"output_tokens": tokens[1]}})
    yield format_messages_event("message_stop", {})


def _stop_reason(message: ScriptedMessage) -> str:
    return _STOP_REASONS["content_filter" if message.refusal else message.finish_reason]


def format_gemini_reply(message: ScriptedMessage, tokens: Tokens, *, stream: bool) -> list[ReplyFrame]:
    """The reply of Gemini to a request; its path says whether it is a stream."""
    reason = _FINISH_REASONS["content_filter" if message.refusal else message.finish_reason]
    if message.is_absent:
        whole = _gemini_chunk(None, tokens)
        return [format_chat_event(whole) if stream else json.dumps(whole).encode()]
    if not stream:
        body = _gemini_chunk(message.text, tokens, reason)
        return [*list_waits(message), json.dumps(body).encode()]
    frames = [
        piece if isinstance(piece, Event) else format_chat_event(_gemini_chunk(piece, (tokens[0], 1)))
        for piece in message.pieces
    ]
    return [*frames, format_chat_event(_gemini_chunk("", tokens, reason))]


def _gemini_chunk(text: str | None, tokens: Tokens, reason: str = "") -> Json:
    usage = {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1], "totalTokenCount": sum(tokens)}
    envelope: Json = {"usageMetadata": usage, "modelVersion": "scripted", "responseId": "scripted"}
    if text is None:
        return envelope
    candidate: Json = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    return envelope | {"candidates": [candidate | ({"finishReason": reason} if reason else {})]}
