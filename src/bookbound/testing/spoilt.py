"""The frames of a good reply, spoilt as a fault asks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bookbound.testing import chat, responses
from bookbound.testing.faults import COMPLAINTS, Fault
from bookbound.testing.replies import Frame

OTHER_SHAPE = {"result": "ok", "version": 7}
UNFINISHED = {Fault.TRUNCATED, Fault.STREAM_STOPS, Fault.STREAM_HANGS}


def spoilt(frames: Sequence[Frame], fault: Fault | None, endpoint: str, stream: bool) -> list[Frame]:
    """What is sent in place of `frames`."""
    if fault is Fault.EMPTY_BODY:
        return []
    if fault is Fault.WRONG_SHAPE:
        return [_event(endpoint, OTHER_SHAPE) if stream else json.dumps(OTHER_SHAPE).encode()]
    if fault is Fault.STREAM_FAILS:
        error = COMPLAINTS[Fault.SERVER_ERROR].body("chat")
        return [*_half(frames), _error(endpoint)] if stream else [json.dumps(error).encode()]
    if fault is Fault.MALFORMED and stream:
        return [*_half(frames), b'data: {"choices": [{"delta": \n\n']
    if fault in UNFINISHED or fault in (Fault.MALFORMED, Fault.STREAM_ENDS):
        return _half(frames)
    if fault is Fault.SLOW:
        return [piece for frame in frames for piece in _bytes(frame)]
    return list(frames)


def length(frames: Sequence[Frame]) -> int:
    """The bytes of a whole reply."""
    return sum(len(frame) for frame in frames if isinstance(frame, bytes))


def _half(frames: Sequence[Frame]) -> list[Frame]:
    """The first half of the events of a stream, or of a body that comes in one piece."""
    bodies = [frame for frame in frames if isinstance(frame, bytes)]
    if len(bodies) == 1:
        return [frame[: len(frame) // 2] if isinstance(frame, bytes) else frame for frame in frames]
    return list(frames[: len(frames) // 2])


def _bytes(frame: Frame) -> list[Frame]:
    return [frame[at : at + 1] for at in range(len(frame))] if isinstance(frame, bytes) else [frame]


def _event(endpoint: str, data: dict[str, object]) -> bytes:
    return responses.event("response.result", data, 0) if endpoint == "responses" else chat.event(data)


def _error(endpoint: str) -> bytes:
    complaint = COMPLAINTS[Fault.SERVER_ERROR]
    if endpoint == "responses":
        told = {"code": complaint.kind, "message": complaint.message, "param": None}
        return responses.event("error", told, 1000)
    return chat.event(dict(complaint.body(endpoint)))
