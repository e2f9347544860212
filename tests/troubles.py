"""What a fault of a service comes to, whichever service it is and whoever asked."""

from __future__ import annotations

from bookbound.errors import BadReply, Denied, LimitReached, ServiceTrouble, Unreachable
from bookbound.testing.services import Fault

EVERYWHERE: dict[Fault, type[ServiceTrouble]] = {
    Fault.RESET: Unreachable,
    Fault.BAD_REQUEST: ServiceTrouble,
    Fault.UNAUTHORIZED: Denied,
    Fault.FORBIDDEN: Denied,
    Fault.NOT_FOUND: ServiceTrouble,
    Fault.RATE_LIMITED: LimitReached,
    Fault.SERVER_ERROR: Unreachable,
    Fault.BAD_GATEWAY: Unreachable,
    Fault.OVERLOADED: Unreachable,
    Fault.GATEWAY_TIMEOUT: Unreachable,
    Fault.MALFORMED: BadReply,
    Fault.TRUNCATED: BadReply,
    Fault.EMPTY: BadReply,
    Fault.EMPTY_BODY: BadReply,
    Fault.WRONG_SHAPE: BadReply,
}
