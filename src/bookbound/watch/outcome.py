"""What becomes of a request, in one word of a fixed set."""

from __future__ import annotations

from bookbound.dialogue import Answer, Refusal, Retrieval
from bookbound.errors import BadReply, Denied, LimitReached, ServiceTrouble, TimedOut, Unreachable
from bookbound.faces import problems
from bookbound.faces.face import ProblemKind
from bookbound.finding import RefusalKind

ANSWERED, UNSURE, FOUND, SERVED, LEFT, LIMITED = "answered", "answered_unsure", "found", "served", "left", "limited"
REFUSED = {kind: f"refused_{kind.value}" for kind in RefusalKind}
OUTCOMES = {ANSWERED, UNSURE, FOUND, SERVED, LEFT, LIMITED, *REFUSED.values(), *ProblemKind}
"""Every outcome there is."""

AT_THE_DOOR = {422: ProblemKind.INVALID.value, 429: LIMITED}
"""What a status means that a request got before its question came to the book."""

SERVICES = frozenset({"cohere", "embeddings", "language model", "log", "qdrant"})
FAILURES: tuple[tuple[type[ServiceTrouble], str], ...] = (
    (Unreachable, "unreachable"),
    (TimedOut, "timed_out"),
    (Denied, "denied"),
    (BadReply, "bad_reply"),
    (LimitReached, "limit_reached"),
    (ServiceTrouble, "not_taken"),
)


def of_reply(reply: Answer | Refusal | Retrieval) -> str:
    """An answer, one with a reservation, a refusal of its kind, or passages."""
    match reply:
        case Answer():
            return ANSWERED if reply.sure else UNSURE
        case Refusal():
            return REFUSED[reply.kind]
        case Retrieval():
            return FOUND


def of_trouble(trouble: BaseException) -> str:
    """The problem that a client is told of; where nobody is told any more, whoever asked has left."""
    return problems.of_error(trouble, 400).kind.value if isinstance(trouble, Exception) else LEFT


def of_status(status: int | None) -> str:
    """What a status says of a request that put nothing to the book."""
    if status is None:
        return LEFT
    if status < 400:
        return SERVED
    return AT_THE_DOOR.get(status) or problems.of_status(status, 400).kind.value


def failure(trouble: ServiceTrouble) -> tuple[str, str]:
    """A service by its name, and how it failed."""
    service = trouble.service if trouble.service in SERVICES else "other"
    return service, next(kind for type_, kind in FAILURES if isinstance(trouble, type_))
