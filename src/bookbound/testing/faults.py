"""The ways in which a scripted service can fail, and the words with which the vendors say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

MODELS, VECTORS = frozenset({"chat", "responses"}), frozenset({"embeddings", "embed"})
ENDPOINTS = MODELS | VECTORS | {"rerank", "models"}


class Fault(Enum):
    """How a request fails."""

    TIMEOUT = auto()  # the request is taken and never answered
    RESET = auto()  # the connection is reset without a reply
    CLOSED = auto()  # the connection is closed without a reply
    BAD_REQUEST = auto()  # 400; the message echoes what was asked
    UNAUTHORIZED = auto()  # 401; the message echoes the beginning of the key
    FORBIDDEN = auto()  # 403
    NOT_FOUND = auto()  # 404: no such model
    RATE_LIMITED = auto()  # 429, with the header Retry-After where `retry_after` is given
    SERVER_ERROR = auto()  # 500
    BAD_GATEWAY = auto()  # 502 with a page of HTML
    OVERLOADED = auto()  # 503
    GATEWAY_TIMEOUT = auto()  # 504 with a page of HTML
    MALFORMED = auto()  # 200 and JSON that is none; in a stream, after good events
    TRUNCATED = auto()  # the body is shorter than its announced length
    EMPTY = auto()  # a well-formed reply without any choice, output, vector or result
    EMPTY_BODY = auto()  # 200 and not one byte
    WRONG_SHAPE = auto()  # valid JSON of another shape
    SLOW = auto()  # the whole reply, byte by byte, with a pause before each
    EMPTY_TEXT = auto()  # the model says ""
    REFUSAL = auto()  # the model refuses
    FILTERED = auto()  # the vendor's filter ends the reply half way
    CUT_SHORT = auto()  # the limit of tokens ends the reply half way
    STREAM_STOPS = auto()  # half of the reply, then the connection is closed
    STREAM_ENDS = auto()  # half of the reply, then a proper end of the body without the last event
    STREAM_HANGS = auto()  # half of the reply, then nothing more
    STREAM_FAILS = auto()  # half of the reply, then an error as an event
    WRONG_DIMENSION = auto()  # vectors of half the length
    TOO_FEW = auto()  # one vector, or one result, fewer than was asked for
    NOT_NUMBERS = auto()  # NaN instead of numbers

    @property
    def endpoints(self) -> frozenset[str]:
        """The endpoints that can fail so."""
        return _ONLY.get(self, ENDPOINTS)


_ONLY: dict[Fault, frozenset[str]] = {
    Fault.EMPTY_TEXT: MODELS,
    Fault.REFUSAL: MODELS,
    Fault.FILTERED: MODELS,
    Fault.CUT_SHORT: MODELS,
    Fault.STREAM_STOPS: MODELS,
    Fault.STREAM_ENDS: MODELS,
    Fault.STREAM_HANGS: MODELS,
    Fault.STREAM_FAILS: MODELS,
    Fault.WRONG_DIMENSION: VECTORS,
    Fault.TOO_FEW: VECTORS | {"rerank"},
    Fault.NOT_NUMBERS: VECTORS | {"rerank"},
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error as a vendor words it; `{key}`, `{model}` and `{words}` are those of the request."""

    status: int
    kind: str
    code: str | None
    message: str

    def body(self, endpoint: str, **told: str) -> Mapping[str, object]:
        """The body that the endpoint's vendor gives."""
        message = self.message.format(**told)
        if endpoint in ("embed", "rerank"):
            return {"id": "scripted", "message": message}
        return {"error": {"message": message, "type": self.kind, "param": None, "code": self.code}}


PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n</body>\r\n</html>\r\n"
PAGES = {
    Fault.BAD_GATEWAY: (502, PAGE.format("502 Bad Gateway")),
    Fault.GATEWAY_TIMEOUT: (504, PAGE.format("504 Gateway Time-out")),
}
COMPLAINTS = {
    Fault.BAD_REQUEST: Complaint(400, "invalid_request_error", "invalid_value", "Invalid value: '{words}'."),
    Fault.UNAUTHORIZED: Complaint(
        401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: {key}***. Make a new one."
    ),
    Fault.FORBIDDEN: Complaint(
        403, "permission_error", "forbidden", "The key {key}*** has no permission for the model `{model}`."
    ),
    Fault.NOT_FOUND: Complaint(
        404, "invalid_request_error", "model_not_found", "The model `{model}` does not exist or is not yours to use."
    ),
    Fault.RATE_LIMITED: Complaint(
        429, "requests", "rate_limit_exceeded", "Rate limit reached for `{model}` in organization org-{key}."
    ),
    Fault.SERVER_ERROR: Complaint(
        500, "server_error", None, "The server had an error while processing your request. Sorry about that!"
    ),
    Fault.OVERLOADED: Complaint(
        503, "service_unavailable_error", None, "The engine is currently overloaded, please try again later."
    ),
}
UNSCRIPTED = Complaint(500, "server_error", "nothing_scripted", "Nothing scripted: tell the server what it says.")
TOO_MANY = Complaint(400, "invalid_request_error", None, "Invalid request: at most 96 texts may be embedded at once.")
NO_JSON = Complaint(400, "invalid_request_error", None, "We could not parse the JSON body of your request.")
