"""Counts the questions of each client against the rate limits, and reports them in the response headers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import ceil
from time import monotonic

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind, get_context
from bookbound.domain.errors import ConfigError, ServiceError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate import BucketState, RateLimit, RateLimitBucket, RateLimitResult
from bookbound.domain.trace import Requester
from bookbound.settings import Settings

RATE_LIMIT_HEADERS = ("RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
CLEANUP_INTERVAL = 1000
"""How many takes pass between two removals of unused buckets."""
RETRY_SECONDS = 2.0
"""How long the fallback counts before one request tries the shared limiter again."""
FORWARDED_HEADER = "X-Forwarded-For"
UNTRUSTED_PROXY_WARNING = (
    f"the header {FORWARDED_HEADER} of an address that is not in `trusted_proxies` was ignored; if the address is "
    "your proxy, add it to `trusted_proxies`, or all readers behind it share one rate limit"
)
IPV6_SITE_BITS = 64
"""A provider assigns these leading bits of an IPv6 address to one household."""
IPAddress = IPv4Address | IPv6Address
TrustedNetworks = tuple[IPv4Network | IPv6Network, ...]
log = logging.getLogger("bookbound.server.rate_limit")


def parse_networks(proxies: Iterable[str]) -> TrustedNetworks:
    """The networks that a setting lists, each as an address or as a network."""
    try:
        return tuple(ip_network(proxy) for proxy in proxies)
    except ValueError:
        raise ConfigError(
            "The setting `trusted_proxies` must list addresses or networks, such as 192.0.2.7 or 10.0.0.0/8."
        ) from None


class ClientAddressFinder:
    """Finds the address of a request, and warns once if an unknown proxy names another."""

    def __init__(self, trusted: TrustedNetworks) -> None:
        self._trusted, self._has_warned = trusted, False

    def __call__(self, scope: Scope, headers: Headers) -> str | None:
        peer = scope["client"][0] if scope.get("client") else None
        forwarded = headers.getlist(FORWARDED_HEADER)
        if forwarded and not self._has_warned and not _is_trusted(_parse_address(peer or ""), self._trusted):
            self._has_warned = True
            logging.getLogger("bookbound.server").warning(UNTRUSTED_PROXY_WARNING)
        return find_client_address(peer, forwarded, self._trusted)


def find_client_address(peer: str | None, forwarded: Sequence[str], trusted: TrustedNetworks) -> str | None:
    """The address of the client, given that of the peer and the values of the forwarding header.

    Each proxy appends the address it saw, so they are read from the right as long as a trusted proxy vouches for them.
    """
    address = _parse_address(peer or "")
    if address is None:
        return peer
    for entry in reversed(",".join(forwarded).split(",")):
        previous = _parse_address(entry.strip())
        if previous is None or not _is_trusted(address, trusted):
            break
        address = previous
    return str(address)


def rate_limit_address(address: str | None) -> str:
    """The address that rate limits count; all of one IPv6 site count as one."""
    parsed = _parse_address(address or "")
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed), IPV6_SITE_BITS), strict=False))
    return str(parsed or address or "")


def _is_trusted(address: IPAddress | None, trusted: TrustedNetworks) -> bool:
    return address is not None and any(address in network for network in trusted)


def _parse_address(text: str) -> IPAddress | None:
    """An address without its port; an IPv4 address that is mapped to IPv6 becomes IPv4."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        parsed = ip_address(host)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


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


class MemoryLimiter:
    """Keeps the times of takes for each bucket; a take awaits nothing, so that no other comes in between."""

    def __init__(self) -> None:
        self._times: dict[RateLimitBucket, deque[float]] = {}
        self._takes = 0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        now = monotonic()
        self._takes += 1
        if self._takes % CLEANUP_INTERVAL == 0:
            self._times = {bucket: times for bucket, times in self._times.items() if times[-1] > _start(bucket, now)}
        windows = {bucket: self._window(bucket, now) for bucket in buckets}
        is_allowed = all(len(times) < bucket.rate.amount for bucket, times in windows.items())
        if is_allowed:
            for bucket, times in windows.items():
                times.append(now)
                self._times[bucket] = times
        return RateLimitResult(
            is_allowed,
            tuple(
                BucketState(bucket, bucket.rate.amount - len(times), times[0] - _start(bucket, now) if times else 0.0)
                for bucket, times in windows.items()
            ),
        )

    async def close(self) -> None: ...

    def _window(self, bucket: RateLimitBucket, now: float) -> deque[float]:
        """The times within the period of a bucket, oldest first."""
        times = self._times.get(bucket, deque())
        while times and times[0] <= _start(bucket, now):
            times.popleft()
        return times


def _start(bucket: RateLimitBucket, now: float) -> float:
    return now - bucket.rate.seconds


class FallbackLimiter:
    """Takes from a shared limiter, or from a local one while the shared one is unavailable."""

    def __init__(self, shared: RateLimiter, local: RateLimiter, retry_seconds: float = RETRY_SECONDS) -> None:
        self._shared, self._local, self._retry_seconds = shared, local, retry_seconds
        self._is_unavailable, self._retry_time = False, 0.0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """Logs once that the shared limiter is unavailable, and once that it is back."""
        if self._is_unavailable:
            if monotonic() < self._retry_time:
                return await self._local.take(buckets)
            self._retry_time = monotonic() + self._retry_seconds
        try:
            result = await self._shared.take(buckets)
        except ServiceError as error:
            if not self._is_unavailable:
                log.warning("each process counts rate limits alone for now: %s", error)
            self._is_unavailable, self._retry_time = True, monotonic() + self._retry_seconds
            return await self._local.take(buckets)
        if self._is_unavailable:
            self._is_unavailable = False
            log.warning("rate limits are shared again")
        return result

    async def close(self) -> None:
        await self._shared.close()
        await self._local.close()
