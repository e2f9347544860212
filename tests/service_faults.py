"""The error that each service fault raises."""

from __future__ import annotations

from bookbound.domain.errors import (
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceUnreachableError,
)
from bookbound.testing.scripted_services import Fault

ERROR_BY_FAULT: dict[Fault, type[ServiceError]] = {
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
