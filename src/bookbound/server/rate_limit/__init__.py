"""Applies the rate limits to each question and reports them in the response headers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.contracts.http_contract import HttpContract, Problem, ProblemKind
from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.query_log_entry import CURRENT_REQUESTER, Requester
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket, RateLimitResult
from bookbound.server.middleware.client_identity import rate_limit_address
from bookbound.settings import Settings

RATE_LIMIT_HEADERS = ("RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@dataclass(frozen=True, slots=True)
class RateLimitPolicies:
    """The rates that hold: for an address and a key over all faces, and more closely where a face has sessions."""

    question: RateLimit
    key: RateLimit
    address: RateLimit
    session: RateLimit

    @classmethod
    def of(cls, settings: Settings) -> RateLimitPolicies:
        """Those that the settings name."""

        def rate(name: str) -> RateLimit:
            try:
                return RateLimit.of(getattr(settings, name))
            except ValueError as trouble:
                raise ConfigError(f"The setting `{name}` cannot be read: {trouble}") from None

        return cls(rate("question_limit"), rate("key_limit"), rate("address_limit"), rate("session_limit"))

    def buckets(self, asker: Requester, key: str | None, sessions: bool) -> Iterator[RateLimitBucket]:
        """What a question is taken from. A session and a key come beside the address, never in its place."""
        address = rate_limit_address(asker.address)
        if sessions:
            if asker.session:
                yield RateLimitBucket("session", str(asker.session), self.session)
            yield RateLimitBucket("address", address, self.address)
        if key:
            yield RateLimitBucket("key", key, self.key)
        yield RateLimitBucket("question", address, self.question)


class RateLimitMiddleware:
    """Wraps the application: a question that exceeds a limit is refused in the words of its face."""

    def __init__(
        self,
        app: ASGIApp,
        limiter: RateLimiter,
        policies: RateLimitPolicies,
        faces: Sequence[HttpContract],
        answer: Callable[[Problem, Scope], Response],
    ) -> None:
        self._app, self._limiter, self._policies, self._answer = app, limiter, policies, answer
        self._faces = {path: face for face in faces for path in face.paths}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        face = self._faces.get(scope["path"]) if scope["type"] == "http" else None
        if face is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        asker = CURRENT_REQUESTER.get() or Requester()
        if face.session:
            body, receive = await _read_body(receive)
            session: UUID | None = face.session(body)
            scope["state"]["session_id"] = session
            asker = Requester(session, asker.address)
        buckets = self._policies.buckets(asker, scope["state"].get("key"), face.session is not None)
        allowance = await self._limiter.take(tuple(buckets))
        told = _RateLimitHeaderSender(send, allowance)
        if allowance.granted:
            await self._app(scope, receive, told)
        else:
            await self._answer(_limit_problem(allowance), scope)(scope, receive, told)


class _RateLimitHeaderSender:
    """Sends a response on, with what is left."""

    def __init__(self, send: Send, allowance: RateLimitResult) -> None:
        self._send, self._allowance = send, allowance

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(build_headers(self._allowance))
        await self._send(message)


def build_headers(allowance: RateLimitResult) -> dict[str, str]:
    """What is left of each bucket, and once more of the tightest, for clients that know only one."""
    tight = allowance.tightest
    told = (
        ", ".join(f'"{left.bucket.policy}";r={left.remaining};t={math.ceil(left.wait)}' for left in allowance.left),
        ", ".join(
            f'"{left.bucket.policy}";q={left.bucket.rate.amount};w={left.bucket.rate.seconds}'
            for left in allowance.left
        ),
        str(tight.bucket.rate.amount),
        str(tight.remaining),
        str(math.ceil(tight.wait)),
    )
    return dict(zip(RATE_LIMIT_HEADERS, told, strict=True))


def _limit_problem(allowance: RateLimitResult) -> Problem:
    rate, wait = allowance.tightest.bucket.rate, allowance.retry_after
    message = f"Too many questions: {rate.amount} in {rate.span} are allowed. Try again in {wait} s."
    return Problem(ProblemKind.LIMIT, 429, message, retry_after=wait)


async def _read_body(receive: Receive) -> tuple[bytes, Receive]:
    """A request's body, and what receives it once more and then what comes after it."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    body = b"".join(message.get("body", b"") for message in messages)
    again = iter(messages)

    async def replayed() -> Message:
        return next(again, None) or await receive()

    return body, replayed
