"""Defines what a scripted model says and how a scripted service fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from threading import Event
from typing import Any, Literal

MODEL_ENDPOINTS = frozenset({"chat", "responses", "messages", "gemini"})
VECTOR_ENDPOINTS = frozenset({"embeddings", "embed"})
ENDPOINTS = MODEL_ENDPOINTS | VECTOR_ENDPOINTS | {"rerank", "models"}


class Fault(Enum):
    """How a request fails."""

    TIMEOUT = auto()  # the request is received and never answered
    RESET = auto()  # the connection is reset without a reply
    CLOSED = auto()  # the connection is closed without a reply
    BAD_REQUEST = auto()  # 400; the message repeats the request
    UNAUTHORIZED = auto()  # 401; the message repeats the beginning of the key
    FORBIDDEN = auto()  # 403
    NOT_FOUND = auto()  # 404: no such model
    RATE_LIMITED = auto()  # 429, with the header Retry-After if `retry_after` is set
    SERVER_ERROR = auto()  # 500
    BAD_GATEWAY = auto()  # 502 with an HTML page
    OVERLOADED = auto()  # 503
    GATEWAY_TIMEOUT = auto()  # 504 with an HTML page
    MALFORMED = auto()  # 200 and invalid JSON; in a stream, after valid events
    TRUNCATED = auto()  # the body is shorter than its content length
    EMPTY = auto()  # a valid reply without any choice, output, vector or result
    EMPTY_BODY = auto()  # 200 and an empty body
    WRONG_SHAPE = auto()  # valid JSON of another shape
    SLOW = auto()  # the whole reply, byte by byte, with a pause before each
    EMPTY_TEXT = auto()  # the text is empty
    REFUSAL = auto()  # the model refuses
    FILTERED = auto()  # the vendor's filter ends the reply halfway
    CUT_SHORT = auto()  # the token limit ends the reply halfway
    STREAM_STOPS = auto()  # half of the reply, then the connection is closed
    STREAM_ENDS = auto()  # half of the reply, then the end of the body without the last event
    STREAM_HANGS = auto()  # half of the reply, then nothing more
    STREAM_FAILS = auto()  # half of the reply, then an error event
    WRONG_DIMENSION = auto()  # vectors of half the length
    TOO_FEW = auto()  # one vector or result too few
    NOT_NUMBERS = auto()  # NaN instead of numbers

    @property
    def endpoints(self) -> frozenset[str]:
        """The endpoints that can have this fault."""
        return _FAULT_ENDPOINTS.get(self, ENDPOINTS)


UNFINISHED_FAULTS = {Fault.TRUNCATED, Fault.STREAM_STOPS, Fault.STREAM_HANGS}
_TEXT_FAULTS = {Fault.EMPTY_TEXT, Fault.REFUSAL, Fault.FILTERED, Fault.CUT_SHORT}
_STREAM_FAULTS = {Fault.STREAM_STOPS, Fault.STREAM_ENDS, Fault.STREAM_HANGS, Fault.STREAM_FAILS}
_FAULT_ENDPOINTS = dict.fromkeys(_TEXT_FAULTS | _STREAM_FAULTS, MODEL_ENDPOINTS) | {
    Fault.WRONG_DIMENSION: VECTOR_ENDPOINTS,
    Fault.TOO_FEW: VECTOR_ENDPOINTS | {"rerank"},
    Fault.NOT_NUMBERS: VECTOR_ENDPOINTS | {"rerank"},
}


ANTHROPIC_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class VendorErrorReply:
    """An error in a vendor's words; `{key}`, `{model}` and `{words}` come from the request."""

    status: int
    kind: str
    code: str | None
    message: str

    def body(self, endpoint: str, **values: str) -> Mapping[str, object]:
        """The body as the vendor of the endpoint formats it."""
        message = self.message.format(**values)
        if endpoint in ("embed", "rerank"):
            return {"id": "scripted", "message": message}
        if endpoint == "messages":
            error = {"type": ANTHROPIC_ERROR_TYPES[self.status], "message": message}
            return {"type": "error", "error": error, "request_id": "req_scripted"}
        if endpoint == "gemini":
            return {"error": {"code": self.status, "message": message, "status": GOOGLE_STATUSES[self.status]}}
        return {"error": {"message": message, "type": self.kind, "param": None, "code": self.code}}


ERROR_PAGE_TEMPLATE = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n</body>\r\n</html>\r\n"
)
ERROR_PAGES = {
    Fault.BAD_GATEWAY: (502, ERROR_PAGE_TEMPLATE.format("502 Bad Gateway")),
    Fault.GATEWAY_TIMEOUT: (504, ERROR_PAGE_TEMPLATE.format("504 Gateway Time-out")),
}
_INVALID = "invalid_request_error"
_VENDOR_ERRORS: Mapping[Fault, tuple[int, str, str | None, str]] = {
    Fault.BAD_REQUEST: (400, _INVALID, "invalid_value", "Invalid value: '{words}'."),
    Fault.UNAUTHORIZED: (401, _INVALID, "invalid_api_key", "Incorrect API key provided: {key}***. Make a new one."),
    Fault.FORBIDDEN: (403, "permission_error", "forbidden", "The key {key}*** has no permission for model `{model}`."),
    Fault.NOT_FOUND: (404, _INVALID, "model_not_found", "The model `{model}` does not exist or is not yours to use."),
    Fault.RATE_LIMITED: (429, "requests", "rate_limit_exceeded", "Rate limit reached for `{model}` in org-{key}."),
    Fault.SERVER_ERROR: (500, "server_error", None, "The server had an error while processing your request. Sorry!"),
    Fault.OVERLOADED: (503, "service_unavailable_error", None, "The engine is overloaded, please try again later."),
}
VENDOR_ERRORS = {fault: VendorErrorReply(*error) for fault, error in _VENDOR_ERRORS.items()}
NOTHING_SCRIPTED = VendorErrorReply(
    500, "server_error", "nothing_scripted", "Nothing scripted: add a reply with reply_with()."
)
TOO_MANY_TEXTS = VendorErrorReply(400, _INVALID, None, "Invalid request: at most 96 texts may be embedded at once.")
INVALID_JSON = VendorErrorReply(400, _INVALID, None, "We could not parse the JSON body of your request.")
ReplyFrame = bytes | Event
"""The next bytes to send, or an event to wait for."""
DEFAULT_REPLY = "This reply was not scripted; the service adds it."
REFUSAL_TEXT = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model; arguments that are text are sent unchanged, even if they are invalid."""

    name: str
    arguments: Mapping[str, Any] | str

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


class StreamedReply:
    """A text that is sent in these pieces; the server waits for each event among them."""

    def __init__(self, *pieces: str | Event) -> None:
        self.pieces = pieces


ScriptedReply = str | ToolCall | StreamedReply | Mapping[str, Any] | Sequence[str | ToolCall]
"""A text, a tool call, a text in pieces, an object sent as JSON text, or a message of texts and tool calls."""
ReplyOrFactory = ScriptedReply | Callable[[dict[str, Any]], ScriptedReply]
"""A reply, or a function that makes it from the JSON of the request."""


@dataclass(frozen=True, slots=True)
class ScriptedMessage:
    """One message of a model: its text in pieces, its tool calls or its refusal, and its finish reason.

    `turn` is the number of previous messages; it makes the ids of tool calls differ, as those of real models do.
    """

    pieces: tuple[str | Event, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    is_absent: bool = False
    turn: int = 0

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    def with_fault(self, fault: Fault | None) -> ScriptedMessage:
        """This message as a model with the fault sends it."""
        match fault:
            case Fault.EMPTY:
                return ScriptedMessage(is_absent=True)
            case Fault.EMPTY_TEXT:
                return ScriptedMessage()
            case Fault.REFUSAL:
                return ScriptedMessage(refusal=REFUSAL_TEXT)
            case Fault.CUT_SHORT:
                return replace(self._half(), finish_reason="length")
            case Fault.FILTERED:
                return replace(self._half(), finish_reason="content_filter")
        return self

    def _half(self) -> ScriptedMessage:
        text = self.text or DEFAULT_REPLY
        return ScriptedMessage(split_for_streaming(text[: len(text) // 2]))


def to_message(reply: ScriptedReply) -> ScriptedMessage:
    """The message of a scripted reply."""
    if isinstance(reply, StreamedReply):
        return ScriptedMessage(reply.pieces)
    if isinstance(reply, Mapping):
        return ScriptedMessage(split_for_streaming(json.dumps(dict(reply))))
    parts = (reply,) if isinstance(reply, str | ToolCall) else tuple(reply)
    text = "".join(part for part in parts if isinstance(part, str))
    return ScriptedMessage(split_for_streaming(text), tuple(part for part in parts if isinstance(part, ToolCall)))


def split_for_streaming(text: str) -> tuple[str, ...]:
    """The pieces in which a model streams a text."""
    return tuple(re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+\Z", text))
