"""What a fault of a service comes to, whichever service it is and whoever asked."""

from __future__ import annotations

from bookbound.domain.errors import (
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceUnreachableError,
)
from bookbound.testing.scripted_services import Fault

EVERYWHERE: dict[Fault, type[ServiceError]] = {
    Fault.RESET: ServiceUnreachableError,
    Fault.BAD_REQUEST: ServiceError,
    Fault.UNAUTHORIZED: ServiceAuthenticationError,
    Fault.FORBIDDEN: ServiceAuthenticationError,
    Fault.NOT_FOUND: ServiceError,
    Fault.RATE_LIMITED: ServiceRateLimitError,
    Fault.SERVER_ERROR: ServiceUnreachableError,
    Fault.BAD_GATEWAY: ServiceUnreachableError,
    Fault.OVERLOADED: ServiceUnreachableError,
    Fault.GATEWAY_TIMEOUT: ServiceUnreachableError,
    Fault.MALFORMED: ServiceResponseError,
    Fault.TRUNCATED: ServiceResponseError,
    Fault.EMPTY: ServiceResponseError,
    Fault.EMPTY_BODY: ServiceResponseError,
    Fault.WRONG_SHAPE: ServiceResponseError,
}
