"""Applies the rate limits to each question and reports them in the response headers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from starlette.requests import Request

from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.query_log_entry import Requester
from bookbound.domain.rate import RateLimit, RateLimitBucket, RateLimitResult
from bookbound.server.middleware.client_identity import rate_limit_address
from bookbound.settings import Settings

RATE_LIMIT_HEADERS = ("RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@dataclass(frozen=True, slots=True)
class RateLimitPolicies:
    """The limits: for an address and a key over all interfaces, and tighter ones for interfaces with sessions."""

    address: RateLimit
    key: RateLimit
    query_address: RateLimit
    query_session: RateLimit

    @classmethod
    def from_settings(cls, settings: Settings) -> RateLimitPolicies:
        def parse(name: str) -> RateLimit:
            try:
                return RateLimit.parse(getattr(settings, name))
            except ValueError as error:
                raise ConfigError(f"The setting `{name}` is not a rate: {error}.") from None

        return cls(
            parse("address_rate_limit"),
            parse("key_rate_limit"),
            parse("query_address_rate_limit"),
            parse("query_session_rate_limit"),
        )

    def buckets(self, requester: Requester, key: str | None, has_sessions: bool) -> Iterator[RateLimitBucket]:
        """The buckets of a question; a session or a key never replaces the address."""
        address = rate_limit_address(requester.address)
        if has_sessions:
            if requester.session:
                yield RateLimitBucket("session", str(requester.session), self.query_session)
            yield RateLimitBucket("address", address, self.query_address)
        if key:
            yield RateLimitBucket("key", key, self.key)
        yield RateLimitBucket("question", address, self.address)


class QuestionCounter:
    """Counts each question against its limits, and rejects it beyond them; without a limiter it counts nothing."""

    def __init__(self, limiter: RateLimiter | None, policies: RateLimitPolicies) -> None:
        self._limiter, self._policies = limiter, policies

    async def __call__(self, request: Request, *, has_sessions: bool) -> None:
        if self._limiter is None:
            return
        context: RequestContext = request.state.context
        result = await self._limiter.take(
            tuple(self._policies.buckets(context.requester, context.key_id, has_sessions))
        )
        request.state.response_headers = build_headers(result)
        if not result.is_allowed:
            raise ProblemError(_limit_problem(result))


def build_headers(result: RateLimitResult) -> dict[str, str]:
    """The state of each bucket, and that of the tightest again for clients that know only one."""
    tightest = result.tightest
    values = (
        ", ".join(f'"{each.bucket.policy}";r={each.remaining};t={ceil(each.wait_seconds)}' for each in result.states),
        ", ".join(
            f'"{each.bucket.policy}";q={each.bucket.rate.amount};w={each.bucket.rate.seconds}' for each in result.states
        ),
        str(tightest.bucket.rate.amount),
        str(tightest.remaining),
        str(ceil(tightest.wait_seconds)),
    )
    return dict(zip(RATE_LIMIT_HEADERS, values, strict=True))


def _limit_problem(result: RateLimitResult) -> Problem:
    rate, wait = result.tightest.bucket.rate, result.retry_after
    message = f"Too many questions: {rate.amount} per {rate.period} are allowed. Try again in {wait} s."
    return Problem(ProblemKind.LIMIT, 429, message, retry_after=wait)
