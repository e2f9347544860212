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

CHAT_CREATED_AT = 1_767_225_600


def format_chat_reply(asked: dict[str, Any], said: ScriptedMessage, spent: tuple[int, int]) -> list[ReplyFrame]:
    """The reply to a request, whole or as a stream of events."""
    said = replace(said, turn=len(asked.get("messages") or ()))
    if asked.get("stream"):
        return list(_chat_stream(asked, said, spent))
    waits: list[ReplyFrame] = [piece for piece in said.pieces if isinstance(piece, Event)]
    body = _chat_envelope(asked, "chat.completion", [] if said.absent else [_chat_choice(said)]) | {
        "usage": _chat_usage(spent)
    }
    return [*waits, json.dumps(body).encode()]


def format_chat_event(data: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(data)}\n\n".encode()


def _chat_choice(said: ScriptedMessage) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": said.refusal or None}
    if said.refusal:
        message["content"] = None
    if said.calls:
        message["content"] = said.text or None
        message["tool_calls"] = [_chat_tool_call(said, place) for place in range(len(said.calls))]
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(said)}


def _chat_tool_call(said: ScriptedMessage, place: int) -> dict[str, Any]:
    call = said.calls[place]
    function = {"name": call.name, "arguments": call.text}
    return {"id": f"call_scripted{said.turn}_{place}", "type": "function", "function": function}


def _chat_stream(asked: dict[str, Any], said: ScriptedMessage, spent: tuple[int, int]) -> Iterator[ReplyFrame]:
    counted = bool((asked.get("stream_options") or {}).get("include_usage"))
    for delta, finish in [] if said.absent else _chat_deltas(said):
        if isinstance(delta, Event):
            yield delta
            continue
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        yield format_chat_event(_chat_chunk(asked, [choice]) | ({"usage": None} if counted else {}))
    if counted:
        yield format_chat_event(_chat_chunk(asked, []) | {"usage": _chat_usage(spent)})
    yield b"data: [DONE]\n\n"


def _chat_deltas(said: ScriptedMessage) -> Iterator[tuple[dict[str, Any] | Event, str | None]]:
    yield {"role": "assistant", "content": None if said.calls or said.refusal else "", "refusal": None}, None
    for piece in said.pieces:
        yield piece if isinstance(piece, Event) else {"content": piece}, None
    if said.refusal:
        yield {"refusal": said.refusal}, None
    for place in range(len(said.calls)):
        call = _chat_tool_call(said, place)
        arguments = call["function"]["arguments"]
        call["function"] = call["function"] | {"arguments": ""}
        yield {"tool_calls": [{"index": place} | call]}, None
        for part in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
            yield {"tool_calls": [{"index": place, "function": {"arguments": part}}]}, None
    yield {}, _finish_reason(said)


def _chat_chunk(asked: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    return _chat_envelope(asked, "chat.completion.chunk", choices)


def _chat_envelope(asked: dict[str, Any], kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    model = asked.get("model", "scripted")
    return {"id": "chatcmpl-scripted", "object": kind, "created": CHAT_CREATED_AT, "model": model, "choices": choices}


def _finish_reason(said: ScriptedMessage) -> str:
    return "tool_calls" if said.calls else said.ends


def _chat_usage(spent: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": spent[0], "completion_tokens": spent[1], "total_tokens": sum(spent)}


RESPONSE_CREATED_AT = 1_767_225_600
StreamEvent = tuple[str, dict[str, Any]]
"""An event: its name and its data."""


def format_responses_reply(asked: dict[str, Any], said: ScriptedMessage, spent: tuple[int, int]) -> list[ReplyFrame]:
    """The reply to a request, whole or as a stream of events."""
    said = replace(said, turn=len(asked.get("input") or ()))
    whole = _response_object(asked, said, spent)
    if not asked.get("stream"):
        waits: list[ReplyFrame] = [piece for piece in said.pieces if isinstance(piece, Event)]
        return [*waits, json.dumps(whole).encode()]
    number = count()
    return [
        told if isinstance(told, Event) else format_responses_event(*told, next(number))
        for told in _response_events(whole, said)
    ]


def format_responses_event(name: str, data: dict[str, Any], number: int) -> bytes:
    """One event of a stream."""
    return f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number} | data)}\n\n".encode()


def _response_object(asked: dict[str, Any], said: ScriptedMessage, spent: tuple[int, int]) -> dict[str, Any]:
    why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(said.ends)
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": RESPONSE_CREATED_AT,
        "status": "incomplete" if why else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": asked.get("instructions"),
        "metadata": {},
        "model": asked.get("model", "scripted"),
        "output": _output_items(said),
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "temperature": asked.get("temperature", 1.0),
        "tool_choice": asked.get("tool_choice", "auto"),
        "tools": asked.get("tools", []),
        "top_p": 1.0,
        "usage": {
            "input_tokens": spent[0],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": spent[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(spent),
        },
    }


def _output_items(said: ScriptedMessage) -> list[dict[str, Any]]:
    if said.absent:
        return []
    status = "completed" if said.ends == "stop" else "incomplete"
    message = {"id": "msg_scripted", "type": "message", "status": status, "role": "assistant"}
    items = [message | {"content": [_content_part(said)]}] if said.text or not said.calls else []
    return items + [_function_call_item(call, f"{said.turn}_{place}") for place, call in enumerate(said.calls)]


def _content_part(said: ScriptedMessage) -> dict[str, Any]:
    if said.refusal:
        return {"type": "refusal", "refusal": said.refusal}
    return {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}


def _function_call_item(call: ToolCall, place: str) -> dict[str, Any]:
    named = {"id": f"fc_scripted{place}", "type": "function_call", "status": "completed"}
    return named | {"call_id": f"call_scripted{place}", "name": call.name, "arguments": call.text}


def _response_events(whole: dict[str, Any], said: ScriptedMessage) -> Iterator[StreamEvent | Event]:
    begun = whole | {"status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(whole["output"]):
        bare: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield "response.output_item.added", {"output_index": index, "item": item | bare | {"status": "in_progress"}}
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _message_events(place | {"content_index": 0}, item["content"][0], said)
        else:
            yield from _call_events(place, item["arguments"])
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


def _message_events(
    place: dict[str, Any], part: dict[str, Any], said: ScriptedMessage
) -> Iterator[StreamEvent | Event]:
    field = "refusal" if said.refusal else "text"
    name = "response.refusal" if said.refusal else "response.output_text"
    more: dict[str, Any] = {} if said.refusal else {"logprobs": []}
    yield "response.content_part.added", place | {"part": part | {field: ""}}
    for piece in (said.refusal,) if said.refusal else said.pieces:
        yield piece if isinstance(piece, Event) else (f"{name}.delta", place | {"delta": piece} | more)
    yield f"{name}.done", place | {field: part[field]} | more
    yield "response.content_part.done", place | {"part": part}


def _call_events(place: dict[str, Any], arguments: str) -> Iterator[StreamEvent]:
    name = "response.function_call_arguments"
    for part in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
        yield f"{name}.delta", place | {"delta": part}
    yield f"{name}.done", place | {"arguments": arguments}


UNEXPECTED_JSON = {"result": "ok", "version": 7}


def apply_fault(frames: Sequence[ReplyFrame], fault: Fault | None, endpoint: str, stream: bool) -> list[ReplyFrame]:
    """What is sent in place of `frames`."""
    if fault is Fault.EMPTY_BODY:
        return []
    if fault is Fault.WRONG_SHAPE:
        return [_format_stream_event(endpoint, UNEXPECTED_JSON) if stream else json.dumps(UNEXPECTED_JSON).encode()]
    if fault is Fault.STREAM_FAILS:
        error = VENDOR_ERRORS[Fault.SERVER_ERROR].body("chat")
        return [*_first_half(frames), _format_error_event(endpoint)] if stream else [json.dumps(error).encode()]
    if fault is Fault.MALFORMED and stream:
        return [*_first_half(frames), b'data: {"choices": [{"delta": \n\n']
    if fault in UNFINISHED_FAULTS or fault in (Fault.MALFORMED, Fault.STREAM_ENDS):
        return _first_half(frames)
    if fault is Fault.SLOW:
        return [piece for frame in frames for piece in _split_bytes(frame)]
    return list(frames)


def _first_half(frames: Sequence[ReplyFrame]) -> list[ReplyFrame]:
    """The first half of the events of a stream, or of a body that comes in one piece."""
    bodies = [frame for frame in frames if isinstance(frame, bytes)]
    if len(bodies) == 1:
        return [frame[: len(frame) // 2] if isinstance(frame, bytes) else frame for frame in frames]
    return list(frames[: len(frames) // 2])


def _split_bytes(frame: ReplyFrame) -> list[ReplyFrame]:
    return [frame[at : at + 1] for at in range(len(frame))] if isinstance(frame, bytes) else [frame]


def _format_stream_event(endpoint: str, data: dict[str, object]) -> bytes:
    return format_responses_event("response.result", data, 0) if endpoint == "responses" else format_chat_event(data)


def _format_error_event(endpoint: str) -> bytes:
    complaint = VENDOR_ERRORS[Fault.SERVER_ERROR]
    if endpoint == "responses":
        told = {"code": complaint.kind, "message": complaint.message, "param": None}
        return format_responses_event("error", told, 1000)
    return format_chat_event(dict(complaint.body(endpoint)))
