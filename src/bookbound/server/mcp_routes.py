"""Serves MCP over streamable HTTP at `/mcp`, with the keys, rate limits and metrics of the other routes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from bookbound import __version__
from bookbound.contracts import http_contract
from bookbound.contracts.book_list import BookLister
from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind, get_context
from bookbound.contracts.mcp import BookAccess, build_mcp_server, find_message_error
from bookbound.server import telemetry
from bookbound.server.api_keys import parse_origins
from bookbound.server.startup_checks import is_loopback
from bookbound.settings import Settings

MCP_PATH = "/mcp"
ORIGIN_REFUSED = (
    "A web page of this origin may not use MCP here. To allow it, add its origin to `allowed_origins`, or use a key "
    "that was made for it."
)
HOST_REFUSED = (
    "This server is for programs on this machine, and the request names another host. If a proxy passes requests on, "
    "add the address of your site to `allowed_origins`."
)


def mcp_routes(
    backend: http_contract.AnswerBackend,
    open_index: http_contract.IndexOpener,
    list_books: BookLister,
    settings: Settings,
) -> APIRouter:
    """The endpoint; each request is complete in itself, so any worker can answer it."""
    router, access = APIRouter(tags=["mcp"]), BookAccess(backend, open_index, list_books, settings.book_ref)
    origins = frozenset(parse_origins(settings.allowed_origins))
    server = build_mcp_server(access, __version__, get_context, _count_question)

    @router.post(MCP_PATH, include_in_schema=False)
    async def mcp(request: Request) -> Response:
        check_caller(request, origins)
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        # The SDK would repeat what was sent.
        error = find_message_error(body)
        return JSONResponse(error, 400) if error else McpResponse(server, body)

    return router


def check_caller(request: Request, origins: frozenset[str]) -> None:
    """Reject web pages that are not allowed, and pages that reach this machine under a name of their own.

    Every browser sends an origin with a POST request. A page whose name was rebound to this machine is its own origin,
    so pages of this server are not an exception.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin and origin not in origins and get_context(request).key_id is None:
        raise ProblemError(Problem(ProblemKind.FORBIDDEN, 403, ORIGIN_REFUSED))
    server = (request.scope.get("server") or ("",))[0]
    is_allowed = host in {urlsplit(each).netloc for each in origins}
    if is_loopback(server) and not is_loopback(urlsplit(f"//{host}").hostname or "") and not is_allowed:
        raise ProblemError(Problem(ProblemKind.FORBIDDEN, 403, HOST_REFUSED))


async def _count_question(request: Request) -> None:
    try:
        await request.app.state.count_question(request, has_sessions=False)
    except ProblemError:
        get_context(request).record.outcome = telemetry.LIMITED
        raise


class McpResponse(Response):
    """Lets the SDK answer the message of a request, whose body is read already."""

    def __init__(self, server: Server[Any], message: bytes) -> None:
        super().__init__()
        self._server, self._message = server, message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages = [{"type": "http.request", "body": self._message, "more_body": False}]

        async def receive_again() -> Message:
            return messages.pop() if messages else await receive()

        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive_again, send)
