"""The format of OpenAI's Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

from bookbound.testing.replies import Frame, Said

CREATED = 1_767_225_600


def frames(asked: dict[str, Any], said: Said, spent: tuple[int, int]) -> list[Frame]:
    """The reply to a request, whole or as a stream of events."""
    said = replace(said, turn=len(asked.get("messages") or ()))
    if asked.get("stream"):
        return list(_stream(asked, said, spent))
    waits: list[Frame] = [piece for piece in said.pieces if isinstance(piece, Event)]
    body = _envelope(asked, "chat.completion", [] if said.absent else [_choice(said)]) | {"usage": _usage(spent)}
    return [*waits, json.dumps(body).encode()]


def event(data: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(data)}\n\n".encode()


def _choice(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": said.refusal or None}
    if said.refusal:
        message["content"] = None
    if said.calls:
        message["content"] = said.text or None
        message["tool_calls"] = [_call(said, place) for place in range(len(said.calls))]
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(said)}


def _call(said: Said, place: int) -> dict[str, Any]:
    call = said.calls[place]
    function = {"name": call.name, "arguments": call.text}
    return {"id": f"call_scripted{said.turn}_{place}", "type": "function", "function": function}


def _stream(asked: dict[str, Any], said: Said, spent: tuple[int, int]) -> Iterator[Frame]:
    counted = bool((asked.get("stream_options") or {}).get("include_usage"))
    for delta, finish in [] if said.absent else _deltas(said):
        if isinstance(delta, Event):
            yield delta
            continue
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        yield event(_chunk(asked, [choice]) | ({"usage": None} if counted else {}))
    if counted:
        yield event(_chunk(asked, []) | {"usage": _usage(spent)})
    yield b"data: [DONE]\n\n"


def _deltas(said: Said) -> Iterator[tuple[dict[str, Any] | Event, str | None]]:
    yield {"role": "assistant", "content": None if said.calls or said.refusal else "", "refusal": None}, None
    for piece in said.pieces:
        yield piece if isinstance(piece, Event) else {"content": piece}, None
    if said.refusal:
        yield {"refusal": said.refusal}, None
    for place in range(len(said.calls)):
        call = _call(said, place)
        arguments = call["function"]["arguments"]
        call["function"] = call["function"] | {"arguments": ""}
        yield {"tool_calls": [{"index": place} | call]}, None
        for part in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
            yield {"tool_calls": [{"index": place, "function": {"arguments": part}}]}, None
    yield {}, _finish(said)


def _chunk(asked: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    return _envelope(asked, "chat.completion.chunk", choices)


def _envelope(asked: dict[str, Any], kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    model = asked.get("model", "scripted")
    return {"id": "chatcmpl-scripted", "object": kind, "created": CREATED, "model": model, "choices": choices}


def _finish(said: Said) -> str:
    return "tool_calls" if said.calls else said.ends


def _usage(spent: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": spent[0], "completion_tokens": spent[1], "total_tokens": sum(spent)}
