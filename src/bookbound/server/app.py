"""Builds the FastAPI application: the contracts, the middleware, CORS and the error responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Scope

from bookbound import __version__
from bookbound.contracts import ask, chat, http_contract, query, v1
from bookbound.contracts.http_contract import AnswerBackend, HttpContract, Problem
from bookbound.domain.errors import BookboundError
from bookbound.domain.ports import RateLimiter
from bookbound.server import api_keys, operator_routes, telemetry
from bookbound.server.api_keys import ReloadingKeyRing, parse_origins
from bookbound.server.book_pool import BookPool
from bookbound.server.middleware.book_selection import (
    BOOK_HEADER,
    EDITION_HEADER,
    BookOpeningMiddleware,
    BookSelectionMiddleware,
)
from bookbound.server.middleware.client_identity import (
    API_KEY_HEADER,
    SECURITY_REQUIREMENTS,
    SECURITY_SCHEMES,
    ApiKeyMiddleware,
    KeyNotAllowedError,
    parse_networks,
)
from bookbound.server.middleware.request_guard import CancelOnDisconnectMiddleware, RequestGuardMiddleware
from bookbound.server.middleware.request_log import REQUEST_ID_HEADER, RequestLogMiddleware, Telemetry
from bookbound.server.rate_limit import RATE_LIMIT_HEADERS, RateLimitMiddleware, RateLimitPolicies
from bookbound.server.telemetry import CURRENT_REQUEST
from bookbound.server.telemetry.instrumentation import OutcomeRecorder
from bookbound.settings import Settings

CONTRACTS: tuple[HttpContract, ...] = (ask.CONTRACT, chat.CONTRACT, query.CONTRACT, v1.CONTRACT)
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(
    desk: AnswerBackend,
    settings: Settings,
    lifespan: Lifespan | None = None,
    faces: Sequence[HttpContract] = CONTRACTS,
    store: operator_routes.StoreLookup | None = None,
    limiter: RateLimiter | None = None,
    watch: Telemetry | None = None,
    shelf: BookPool | None = None,
) -> FastAPI:
    """The faces, health and what guards them, over one desk; and the index itself, where its store is given.

    Without a limiter, everybody may ask as much as they like. `watch` sees every request, and books that somebody names
    are opened on the `shelf`.
    """
    words, watch, seen = ErrorResponses(faces, ours=v1.CONTRACT), watch or Telemetry(), OutcomeRecorder(desk)
    routers = [*(face.routes(seen) for face in faces), operator_routes.health_routes(desk)]
    routers += [operator_routes.index_routes(store)] if store else []
    routers += [operator_routes.metrics_routes(watch.metrics)] if watch.metrics else []
    app = FastAPI(
        title="Bookbound",
        version=__version__,
        description="Answers readers' questions from one book and nothing else.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(BookSelectionMiddleware),
            Middleware(RequestLogMiddleware, watch=watch, faces=_name_routes(routers)),
            *_build_guards(settings, words, faces, limiter),
            *([Middleware(BookOpeningMiddleware, shelf=shelf, answer=words.of_trouble)] if shelf else []),
        ],
    )
    for router in routers:
        app.include_router(router)
    app.openapi = partial(_build_openapi, app, faces)  # type: ignore[method-assign]
    app.add_exception_handler(RequestValidationError, words.of_fields)
    app.add_exception_handler(BookboundError, words.of_error)
    app.add_exception_handler(HTTPException, words.of_status)
    return app


def _name_routes(routers: Sequence[APIRouter]) -> dict[str, str]:
    """Each path that something answers at, with the name of what does."""
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    return {route.path: str(next(iter(route.tags), "other")) for route in routes}


def _build_openapi(app: FastAPI, faces: Sequence[HttpContract]) -> dict[str, Any]:
    """The OpenAPI document, with the ways to send a key, and no status for invalid input that a face does not give."""
    document = FastAPI.openapi(app)
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    for face in faces:
        for path in face.paths:
            for operation in document["paths"].get(path, {}).values():
                operation["security"] = [{}, *SECURITY_REQUIREMENTS]  # whether one is needed is a setting
                if face.invalid != 422:
                    operation["responses"].pop("422", None)
    return document


def _build_guards(
    settings: Settings, words: ErrorResponses, faces: Sequence[HttpContract], limiter: RateLimiter | None
) -> list[Middleware]:
    """What a request passes on its way in, the outermost first."""
    keys = ReloadingKeyRing(api_keys.key_file_path(settings))
    trusted = parse_networks(settings.proxies)
    limits = []
    if limiter:
        policies = RateLimitPolicies.of(settings)
        limits = [
            Middleware(RateLimitMiddleware, limiter=limiter, policies=policies, faces=faces, answer=words.response)
        ]
    return [
        Middleware(ApiKeyCORSMiddleware, names=settings.origins, keys=keys),
        Middleware(
            RequestGuardMiddleware, largest_body=settings.largest_body, answer=words.at_the_gate, trusted=trusted
        ),
        Middleware(ApiKeyMiddleware, keys=keys, needed=settings.access == "keys"),
        *limits,
        Middleware(CancelOnDisconnectMiddleware),
    ]


class ErrorResponses:
    """What goes wrong, in the words of the face whose path was asked for, or else in ours."""

    def __init__(self, faces: Sequence[HttpContract], ours: HttpContract) -> None:
        self._faces = {path: face for face in faces for path in face.paths}
        self._ours = ours

    def at_the_gate(self, status: int, scope: Scope, why: str) -> JSONResponse:
        problem = http_contract.problem_from_status(status, self._face(scope).invalid)
        return self.response(replace(problem, message=why or problem.message), scope)

    def response(self, problem: Problem, scope: Scope) -> JSONResponse:
        state = scope["state"]
        problem = replace(problem, session_id=state.get("session_id"))
        body = self._face(scope).body(problem, state["request_id"]).model_dump(mode="json")
        wait = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        return JSONResponse(body, problem.status, wait)

    async def of_fields(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return self.response(
            http_contract.problem_from_validation_errors(error.errors(), self._face(request.scope).invalid),
            request.scope,
        )

    def of_trouble(self, trouble: Exception, scope: Scope) -> JSONResponse:
        if visit := CURRENT_REQUEST.get():
            visit.outcome = visit.outcome or telemetry.error_outcome(trouble)
        return self.response(http_contract.problem_from_error(trouble, self._face(scope).invalid), scope)

    async def of_error(self, request: Request, error: Exception) -> JSONResponse:
        return self.of_trouble(error, request.scope)

    async def of_status(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        why = error.detail if isinstance(error, KeyNotAllowedError) else ""
        response = self.at_the_gate(error.status_code, request.scope, why)
        response.headers.update(error.headers or {})
        return response

    def _face(self, scope: Scope) -> HttpContract:
        return self._faces.get(scope["path"], self._ours)


class ApiKeyCORSMiddleware(CORSMiddleware):
    """Answers a browser that asks whether a page may call, from the keys as they are at that moment."""

    def __init__(self, app: ASGIApp, names: Sequence[str], keys: ReloadingKeyRing) -> None:
        names = parse_origins(names)
        super().__init__(
            app,
            allow_origins=names,
            allow_methods=["GET", "POST"],
            allow_headers=[
                "Content-Type",
                REQUEST_ID_HEADER,
                "Authorization",
                API_KEY_HEADER,
                BOOK_HEADER,
                EDITION_HEADER,
            ],
            expose_headers=[REQUEST_ID_HEADER, "Retry-After", "WWW-Authenticate", *RATE_LIMIT_HEADERS],
        )
        self._keys = keys

    def is_allowed_origin(self, origin: str) -> bool:
        return super().is_allowed_origin(origin) or self._keys.ring.welcomes(origin)
