"""The format of OpenAI's Responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from threading import Event
from typing import Any

from bookbound.testing.replies import Frame, Said, ToolCall

CREATED = 1_767_225_600
Told = tuple[str, dict[str, Any]]
"""An event: its name and its data."""


def frames(asked: dict[str, Any], said: Said, spent: tuple[int, int]) -> list[Frame]:
    """The reply to a request, whole or as a stream of events."""
    said = replace(said, turn=len(asked.get("input") or ()))
    whole = _response(asked, said, spent)
    if not asked.get("stream"):
        waits: list[Frame] = [piece for piece in said.pieces if isinstance(piece, Event)]
        return [*waits, json.dumps(whole).encode()]
    number = count()
    return [told if isinstance(told, Event) else event(*told, next(number)) for told in _events(whole, said)]


def event(name: str, data: dict[str, Any], number: int) -> bytes:
    """One event of a stream."""
    return f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number} | data)}\n\n".encode()


def _response(asked: dict[str, Any], said: Said, spent: tuple[int, int]) -> dict[str, Any]:
    why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(said.ends)
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if why else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": asked.get("instructions"),
        "metadata": {},
        "model": asked.get("model", "scripted"),
        "output": _items(said),
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


def _items(said: Said) -> list[dict[str, Any]]:
    if said.absent:
        return []
    status = "completed" if said.ends == "stop" else "incomplete"
    message = {"id": "msg_scripted", "type": "message", "status": status, "role": "assistant"}
    items = [message | {"content": [_part(said)]}] if said.text or not said.calls else []
    return items + [_call(call, f"{said.turn}_{place}") for place, call in enumerate(said.calls)]


def _part(said: Said) -> dict[str, Any]:
    if said.refusal:
        return {"type": "refusal", "refusal": said.refusal}
    return {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}


def _call(call: ToolCall, place: str) -> dict[str, Any]:
    named = {"id": f"fc_scripted{place}", "type": "function_call", "status": "completed"}
    return named | {"call_id": f"call_scripted{place}", "name": call.name, "arguments": call.text}


def _events(whole: dict[str, Any], said: Said) -> Iterator[Told | Event]:
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


def _message_events(place: dict[str, Any], part: dict[str, Any], said: Said) -> Iterator[Told | Event]:
    field = "refusal" if said.refusal else "text"
    name = "response.refusal" if said.refusal else "response.output_text"
    more: dict[str, Any] = {} if said.refusal else {"logprobs": []}
    yield "response.content_part.added", place | {"part": part | {field: ""}}
    for piece in (said.refusal,) if said.refusal else said.pieces:
        yield piece if isinstance(piece, Event) else (f"{name}.delta", place | {"delta": piece} | more)
    yield f"{name}.done", place | {field: part[field]} | more
    yield "response.content_part.done", place | {"part": part}


def _call_events(place: dict[str, Any], arguments: str) -> Iterator[Told]:
    name = "response.function_call_arguments"
    for part in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
        yield f"{name}.delta", place | {"delta": part}
    yield f"{name}.done", place | {"arguments": arguments}
