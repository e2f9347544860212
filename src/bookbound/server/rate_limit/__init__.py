"""Applies the rate limits to each question and reports them in the response headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from math import ceil

from starlette.requests import Request

from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind, get_context
from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate import BucketState, RateLimit, RateLimitBucket, RateLimitResult
from bookbound.domain.trace import Requester
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

        return cls(**{each.name: parse(f"{each.name}_rate_limit") for each in fields(cls)})

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
        context = get_context(request)
        buckets = self._policies.buckets(context.requester, context.key_id, has_sessions)
        result = await self._limiter.take(tuple(buckets))
        request.state.response_headers = build_headers(result)
        if not result.is_allowed:
            rate, wait = find_tightest(result.states).bucket.rate, compute_retry_after(result.states)
            message = f"Too many questions: {rate.amount} per {rate.period} are allowed. Try again in {wait} s."
            raise ProblemError(Problem(ProblemKind.LIMIT, 429, message, retry_after=wait))


def find_tightest(states: Iterable[BucketState]) -> BucketState:
    """The bucket with the least remaining; of empty ones the one with the longest wait."""
    return min(states, key=lambda state: (state.remaining, -state.wait_seconds))


def compute_retry_after(states: Iterable[BucketState]) -> int:
    """Whole seconds until no bucket is empty; at least 1, so that no client retries too early."""
    return max(1, ceil(max((each.wait_seconds for each in states if not each.remaining), default=0)))


def build_headers(result: RateLimitResult) -> dict[str, str]:
    """The state of each bucket, and that of the tightest again for clients that know only one."""
    left, policies = [], []
    for each in result.states:
        name, rate = each.bucket.policy, each.bucket.rate
        left.append(f'"{name}";r={each.remaining};t={ceil(each.wait_seconds)}')
        policies.append(f'"{name}";q={rate.amount};w={rate.seconds}')
    tightest = find_tightest(result.states)
    numbers = tightest.bucket.rate.amount, tightest.remaining, ceil(tightest.wait_seconds)
    return dict(zip(RATE_LIMIT_HEADERS, (", ".join(left), ", ".join(policies), *map(str, numbers)), strict=True))
