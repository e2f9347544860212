"""Formats scripted replies as OpenAI Chat Completions or Responses and applies faults to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from threading import Event
from typing import Any

from bookbound.testing.scripted_replies import (
    UNFINISHED_FAULTS,
    VENDOR_ERRORS,
    Fault,
    ReplyFrame,
    ScriptedMessage,
    ToolCall,
)

SCRIPTED_CREATED_AT = 1_767_225_600
Json = dict[str, Any]
Tokens = tuple[int, int]
"""The tokens that a model read and wrote."""
StreamEvent = tuple[str, Json]
"""The name and the data of an event."""


def format_chat_reply(request: Json, message: ScriptedMessage, tokens: Tokens) -> list[ReplyFrame]:
    """The reply to a request, whole or as a stream of events."""
    message = replace(message, turn=len(request.get("messages") or ()))
    if request.get("stream"):
        return list(_chat_stream(request, message, tokens))
    choices = [] if message.is_absent else [_chat_choice(message)]
    body = _chat_envelope(request, "chat.completion", choices) | {"usage": _chat_usage(tokens)}
    return [*list_waits(message), json.dumps(body).encode()]


def list_waits(message: ScriptedMessage) -> list[ReplyFrame]:
    return [piece for piece in message.pieces if isinstance(piece, Event)]


def format_chat_event(data: Json) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _chat_choice(message: ScriptedMessage) -> Json:
    text = message.text or (None if message.calls or message.refusal else "")
    content: Json = {"role": "assistant", "content": text, "refusal": message.refusal or None}
    if message.calls:
        content["tool_calls"] = [_chat_tool_call(message, position) for position in range(len(message.calls))]
    return {"index": 0, "message": content, "logprobs": None, "finish_reason": _finish_reason(message)}


def _chat_tool_call(message: ScriptedMessage, position: int) -> Json:
    call = message.calls[position]
    function = {"name": call.name, "arguments": call.text}
    return {"id": f"call_scripted{message.turn}_{position}", "type": "function", "function": function}


def _chat_stream(request: Json, message: ScriptedMessage, tokens: Tokens) -> Iterator[ReplyFrame]:
    has_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    for delta, finish in [] if message.is_absent else _chat_deltas(message):
        if isinstance(delta, Event):
            yield delta
            continue
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = _chat_envelope(request, "chat.completion.chunk", [choice])
        yield format_chat_event(chunk | ({"usage": None} if has_usage else {}))
    if has_usage:
        yield format_chat_event(_chat_envelope(request, "chat.completion.chunk", []) | {"usage": _chat_usage(tokens)})
    yield b"data: [DONE]\n\n"


def _chat_deltas(message: ScriptedMessage) -> Iterator[tuple[Json | Event, str | None]]:
    yield {"role": "assistant", "content": None if message.calls or message.refusal else "", "refusal": None}, None
    for piece in message.pieces:
        yield piece if isinstance(piece, Event) else {"content": piece}, None
    if message.refusal:
        yield {"refusal": message.refusal}, None
    for position in range(len(message.calls)):
        call = _chat_tool_call(message, position)
        function = call["function"] | {"arguments": ""}
        yield {"tool_calls": [{"index": position} | call | {"function": function}]}, None
        for part in _halves(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": position, "function": {"arguments": part}}]}, None
    yield {}, _finish_reason(message)


def _chat_envelope(request: Json, kind: str, choices: list[Json]) -> Json:
    envelope = {"id": "chatcmpl-scripted", "object": kind, "created": SCRIPTED_CREATED_AT}
    return envelope | {"model": request.get("model", "scripted"), "choices": choices}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _finish_reason(message: ScriptedMessage) -> str:
    return "tool_calls" if message.calls else message.finish_reason


def _chat_usage(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def format_responses_reply(request: Json, message: ScriptedMessage, tokens: Tokens) -> list[ReplyFrame]:
    """The reply to a request, whole or as a stream of events."""
    message = replace(message, turn=len(request.get("input") or ()))
    whole = _response_object(request, message, tokens)
    if not request.get("stream"):
        return [*list_waits(message), json.dumps(whole).encode()]
    number = count()
    return [
        event if isinstance(event, Event) else format_responses_event(*event, next(number))
        for event in _response_events(whole, message)
    ]


def format_responses_event(name: str, data: Json, number: int) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number} | data)}\n\n".encode()


def _response_object(request: Json, message: ScriptedMessage, tokens: Tokens) -> Json:
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(message.finish_reason)
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": SCRIPTED_CREATED_AT,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": request.get("instructions"),
        "metadata": {},
        "model": request.get("model", "scripted"),
        "output": _output_items(message),
        "parallel_tool_calls": request.get("parallel_tool_calls", True),
        "temperature": request.get("temperature", 1.0),
        "tool_choice": request.get("tool_choice", "auto"),
        "tools": request.get("tools", []),
        "top_p": 1.0,
        "usage": {
            "input_tokens": tokens[0],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(tokens),
        },
    }


def _output_items(message: ScriptedMessage) -> list[Json]:
    if message.is_absent:
        return []
    status = "completed" if message.finish_reason == "stop" else "incomplete"
    item = {"id": "msg_scripted", "type": "message", "status": status, "role": "assistant"}
    part: Json = {"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}
    if message.refusal:
        part = {"type": "refusal", "refusal": message.refusal}
    items = [item | {"content": [part]}] if message.text or not message.calls else []
    calls = enumerate(message.calls)
    return items + [_function_call_item(call, f"{message.turn}_{position}") for position, call in calls]


def _function_call_item(call: ToolCall, position: str) -> Json:
    named = {"id": f"fc_scripted{position}", "type": "function_call", "status": "completed"}
    return named | {"call_id": f"call_scripted{position}", "name": call.name, "arguments": call.text}


def _response_events(whole: Json, message: ScriptedMessage) -> Iterator[StreamEvent | Event]:
    begun = whole | {"status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(whole["output"]):
        bare: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield "response.output_item.added", {"output_index": index, "item": item | bare | {"status": "in_progress"}}
        position = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _message_events(position | {"content_index": 0}, item["content"][0], message)
        else:
            yield from _call_events(position, item["arguments"])
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


def _message_events(position: Json, part: Json, message: ScriptedMessage) -> Iterator[StreamEvent | Event]:
    field = "refusal" if message.refusal else "text"
    name = "response.refusal" if message.refusal else "response.output_text"
    more: Json = {} if message.refusal else {"logprobs": []}
    yield "response.content_part.added", position | {"part": part | {field: ""}}
    for piece in (message.refusal,) if message.refusal else message.pieces:
        yield piece if isinstance(piece, Event) else (f"{name}.delta", position | {"delta": piece} | more)
    yield f"{name}.done", position | {field: part[field]} | more
    yield "response.content_part.done", position | {"part": part}


def _call_events(position: Json, arguments: str) -> Iterator[StreamEvent]:
    name = "response.function_call_arguments"
    for part in _halves(arguments):
        yield f"{name}.delta", position | {"delta": part}
    yield f"{name}.done", position | {"arguments": arguments}


UNEXPECTED_JSON = {"result": "ok", "version": 7}


def apply_fault(frames: Sequence[ReplyFrame], fault: Fault | None, endpoint: str, stream: bool) -> list[ReplyFrame]:
    """The frames that a service with the fault sends."""
    if fault is Fault.EMPTY_BODY:
        return []
    if fault is Fault.WRONG_SHAPE:
        name = "message_start" if endpoint == "messages" else "response.result"
        event = _format_event(endpoint, name, UNEXPECTED_JSON, 0)
        return [event if stream else json.dumps(UNEXPECTED_JSON).encode()]
    if fault is Fault.STREAM_FAILS:
        error = VENDOR_ERRORS[Fault.SERVER_ERROR]
        if not stream:
            return [json.dumps(error.body("chat")).encode()]
        flat = {"code": error.kind, "message": error.message, "param": None}
        data = flat if endpoint == "responses" else dict(error.body(endpoint))
        return [*_first_half(frames), _format_event(endpoint, "error", data, 1000)]
    if fault is Fault.MALFORMED and stream:
        header = b"event: content_block_delta\n" if endpoint == "messages" else b""
        return [*_first_half(frames), header + b'data: {"choices": [{"delta": \n\n']
    if fault in UNFINISHED_FAULTS or fault in (Fault.MALFORMED, Fault.STREAM_ENDS):
        return _first_half(frames)
    if fault is Fault.SLOW:
        return [piece for frame in frames for piece in _split_bytes(frame)]
    return list(frames)


def _first_half(frames: Sequence[ReplyFrame]) -> list[ReplyFrame]:
    """The first half of the events of a stream, or of a body that is sent at once."""
    bodies = [frame for frame in frames if isinstance(frame, bytes)]
    if len(bodies) == 1:
        return [frame[: len(frame) // 2] if isinstance(frame, bytes) else frame for frame in frames]
    return list(frames[: len(frames) // 2])


def _split_bytes(frame: ReplyFrame) -> list[ReplyFrame]:
    return [frame[at : at + 1] for at in range(len(frame))] if isinstance(frame, bytes) else [frame]


def _format_event(endpoint: str, name: str, data: Json, number: int) -> bytes:
    """An event of a stream; those of Chat Completions and of Gemini have neither a name nor a number."""
    if endpoint == "messages":
        return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
    return format_responses_event(name, data, number) if endpoint == "responses" else format_chat_event(data)
