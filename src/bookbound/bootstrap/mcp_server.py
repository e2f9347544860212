"""Runs the MCP server: over standard input and output, or as part of the web application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookbound.bootstrap.book_catalogue import BookCatalogue, list_books
from bookbound.bootstrap.book_opener import build_book_pool
from bookbound.bootstrap.components import require_extra
from bookbound.bootstrap.web_app import create_web_app
from bookbound.domain.errors import IndexNotFoundError
from bookbound.indexing.store.index_format import NO_INDEX_MESSAGE
from bookbound.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI


def require_mcp() -> None:
    """Reports missing packages with the command that installs them."""
    with require_extra("mcp", "bookbound mcp", kind="command"):
        import bookbound.contracts.mcp  # noqa: F401


async def serve_mcp_stdio(settings: Settings) -> None:
    """Serves MCP over standard input and output until the client closes them; questions are not logged.

    A missing index is reported at once. The networks are loaded while the client connects.
    """
    if not await list_books(settings):
        raise IndexNotFoundError(NO_INDEX_MESSAGE)
    from mcp.server.stdio import stdio_server

    from bookbound import __version__
    from bookbound.contracts.mcp import BookAccess, build_mcp_server
    from bookbound.contracts.request_context import RequestContext
    from bookbound.server.admission import AdmissionController

    admission = AdmissionController(settings.max_concurrency, settings.max_queue, settings.answer_timeout_seconds)
    access = BookAccess(admission, admission.open_index, BookCatalogue(settings).manifests, settings.book_ref)
    server = build_mcp_server(access, __version__, lambda _: RequestContext())
    async with admission.serve_books(build_book_pool(settings)), stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def create_mcp_app(settings: Settings) -> FastAPI:
    """Builds the web application of one process with MCP at `/mcp`."""
    from bookbound.server.mcp_routes import mcp_routes

    return create_web_app(settings, mcp_routes)
