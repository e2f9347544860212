"""Builds everything that the command line and the library use."""

from __future__ import annotations

from bookbound.bootstrap.book_catalogue import list_books, resolve_book_settings
from bookbound.bootstrap.book_opener import load_operating_point, open_book, open_pipeline, writer_name
from bookbound.bootstrap.components import build_book_settings, build_embedder, build_store, index_book, read_book
from bookbound.bootstrap.mcp_server import require_mcp, serve_mcp_stdio
from bookbound.bootstrap.web_app import (
    build_report_builder,
    check_server_services,
    open_query_log,
    query_log_retention,
)

__all__ = [
    "build_book_settings",
    "build_embedder",
    "build_report_builder",
    "build_store",
    "check_server_services",
    "index_book",
    "list_books",
    "load_operating_point",
    "main",
    "open_book",
    "open_pipeline",
    "open_query_log",
    "query_log_retention",
    "read_book",
    "require_mcp",
    "resolve_book_settings",
    "serve_mcp_stdio",
    "writer_name",
]


def main() -> None:
    """Runs the command line with these functions."""
    from bookbound import bootstrap, cli

    cli.run_command_line(bootstrap)
