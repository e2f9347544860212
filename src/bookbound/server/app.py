"""Builds the FastAPI application: the contracts, the middleware, CORS and the error responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import Scope

from bookbound import __version__
from bookbound.contracts import ask, book_list, chat, chat_completions, http_contract, query, v1
from bookbound.contracts.book_list import BookLister
from bookbound.contracts.http_contract import AnswerBackend, HttpContract, IndexOpener, Problem, ProblemError
from bookbound.domain.errors import BookboundError
from bookbound.domain.ports import RateLimiter
from bookbound.server import api_keys, operator_routes
from bookbound.server.api_keys import ReloadingKeyRing
from bookbound.server.api_page import api_page_routes
from bookbound.server.middleware import access
from bookbound.server.middleware.request_guard import RequestGuardMiddleware, RouteTable, matched_route
from bookbound.server.page import asset_routes
from bookbound.server.page.book_page import PAGE_ROUTES, book_page_routes, render_problem
from bookbound.server.rate_limit import ClientAddressFinder, QuestionCounter, RateLimitPolicies, parse_networks
from bookbound.server.reindexing import Reindexing
from bookbound.server.telemetry import OutcomeRecorder, RequestLogMiddleware, Telemetry, error_outcome
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.server.query_log.votes import VoteStore

CONTRACTS: tuple[HttpContract, ...] = (ask.CONTRACT, chat.CONTRACT, query.CONTRACT, v1.CONTRACT)
APP_OPTIONS: dict[str, Any] = {
    "title": "Bookbound",
    "version": __version__,
    "description": "Answers readers' questions from one book and nothing else.",
    "docs_url": None,
    "redoc_url": None,
    "redirect_slashes": False,
}
McpRoutes = Callable[[AnswerBackend, IndexOpener, BookLister, Settings], APIRouter]
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(
    backend: AnswerBackend,
    settings: Settings,
    lifespan: Lifespan | None = None,
    *,
    contracts: Sequence[HttpContract] = CONTRACTS,
    find_store: operator_routes.StoreLookup | None = None,
    reindexing: Reindexing | None = None,
    list_books: BookLister | None = None,
    open_index: IndexOpener | None = None,
    limiter: RateLimiter | None = None,
    votes: VoteStore | None = None,
    build_report: operator_routes.BuildReport | None = None,
    telemetry: Telemetry | None = None,
    mcp_routes: McpRoutes | None = None,
) -> FastAPI:
    """The contracts and the endpoints for operators over one backend.

    What is not given has no endpoints: the index, the list of books, pages, votes, report. No limiter means no limits.
    `mcp_routes` needs both `list_books` and `open_index`.
    """
    listing = (book_list.build_contract, chat_completions.build_contract) if list_books else ()
    contracts = [*contracts, *(build(list_books, settings.book_ref) for build in listing if list_books)]
    telemetry, errors = telemetry or Telemetry(), ErrorResponses(contracts)
    keys = ReloadingKeyRing(api_keys.key_file_path(settings))
    routers = [contract.build_router(OutcomeRecorder(backend)) for contract in contracts]
    routers += [operator_routes.health_routes(backend), api_page_routes(lambda: app.openapi()), asset_routes()]
    routers += [operator_routes.report_routes(build_report, keys, settings.book_ref)]
    routers += [book_page_routes(open_index, list_books, settings.book_ref)] if open_index else []
    routers += [operator_routes.index_routes(find_store, reindexing)] if find_store else []
    routers += [_build_vote_router(votes)] if votes else []
    if mcp_routes and open_index and list_books:
        routers.append(mcp_routes(OutcomeRecorder(backend), open_index, list_books, settings))
    routers += [operator_routes.metrics_routes(telemetry.metrics)] if telemetry.metrics else []
    # A route of the application itself, such as /openapi.json, exists only when the application does.
    table = RouteTable(lambda: [*(route for router in routers for route in router.routes), *app.routes])
    middleware = _build_middleware(settings, keys, telemetry, errors, table)
    app = FastAPI(lifespan=lifespan, middleware=middleware, **APP_OPTIONS)
    for router in routers:
        app.include_router(router)
    app.state.count_question = QuestionCounter(limiter, RateLimitPolicies.from_settings(settings))
    app.openapi = partial(_build_openapi, app, contracts)  # type: ignore[method-assign]
    errors.install(app)
    return app


def _build_vote_router(votes: VoteStore) -> APIRouter:
    from bookbound.server.query_log.votes import vote_routes  # imports the database library, which only the log needs

    return vote_routes(votes)


def _build_openapi(app: FastAPI, contracts: Sequence[HttpContract]) -> dict[str, Any]:
    """The OpenAPI document with the ways to send a key, and without a 422 that a contract never returns."""
    document = FastAPI.openapi(app)
    document["components"]["securitySchemes"] = access.SECURITY_SCHEMES
    for contract in contracts:
        for path in contract.paths:
            for operation in document["paths"].get(path, {}).values():
                # Also without a key: a setting decides whether one is required.
                operation["security"] = [{}, *access.SECURITY_REQUIREMENTS]
                if contract.invalid_status != 422:
                    operation["responses"].pop("422", None)
    return document


def _build_middleware(
    settings: Settings, keys: ReloadingKeyRing, telemetry: Telemetry, errors: ErrorResponses, routes: RouteTable
) -> list[Middleware]:
    """The layers around the routes, outermost first: CORS is outside the guard so that pages can read its errors."""
    find_address = ClientAddressFinder(parse_networks(settings.trusted_proxies))
    return [
        Middleware(RequestLogMiddleware, telemetry=telemetry, routes=routes, find_address=find_address),
        Middleware(access.ApiKeyCORSMiddleware, origins=settings.allowed_origins, keys=keys),
        Middleware(
            RequestGuardMiddleware,
            max_body_bytes=settings.max_body_bytes,
            allowed_hosts=settings.allowed_hosts,
            check_key=partial(access.check_key, keys=keys, required=settings.access_mode == "keys"),
            respond=errors.from_http_error,
        ),
    ]


class ErrorResponses:
    """Builds each error response in the format of the requested contract or as a page, or else as our own API does."""

    def __init__(self, contracts: Sequence[HttpContract]) -> None:
        self._contracts = {path: contract for contract in contracts for path in contract.paths}

    def install(self, app: FastAPI) -> None:
        for kind in (RequestValidationError, ProblemError, BookboundError, HTTPException):
            app.add_exception_handler(kind, self.handle)

    async def handle(self, request: Request, error: Exception) -> Response:
        status = self._contract(request.scope).invalid_status
        match error:
            case RequestValidationError():
                problem = http_contract.problem_from_validation_errors(error.errors(), status)
            case ProblemError():
                problem = error.problem
            case BookboundError():
                record = http_contract.get_context(request).record
                record.outcome = record.outcome or error_outcome(error)
                problem = http_contract.problem_from_error(error, status)
            case _:
                return self.from_http_error(error, request.scope)
        return self.from_problem(problem, request.scope)

    def from_http_error(self, error: Exception, scope: Scope) -> Response:
        """The response to an HTTP exception, or 500 for any other error."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        problem = http_contract.problem_from_status(status, self._contract(scope).invalid_status)
        if isinstance(error, access.KeyNotAllowedError):  # only these have words of ours as their detail
            problem = replace(problem, message=error.detail)
        response = self.from_problem(problem, scope)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    def from_problem(self, problem: Problem, scope: Scope) -> Response:
        headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        if matched_route(scope).path in PAGE_ROUTES:
            return render_problem(problem, scope, headers)
        body = self._contract(scope).build_error_body(problem, scope["state"]["context"])
        return JSONResponse(body.model_dump(mode="json"), problem.status, headers)

    def _contract(self, scope: Scope) -> HttpContract:
        return self._contracts.get(matched_route(scope).path, v1.CONTRACT)
