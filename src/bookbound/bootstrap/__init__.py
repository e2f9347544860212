"""Builds everything that the command line and the library use."""

from __future__ import annotations

from bookbound.bootstrap.book_catalogue import list_books as list_books
from bookbound.bootstrap.book_catalogue import resolve_book_settings as resolve_book_settings
from bookbound.bootstrap.book_opener import load_operating_point as load_operating_point
from bookbound.bootstrap.book_opener import open_book as open_book
from bookbound.bootstrap.book_opener import open_pipeline as open_pipeline
from bookbound.bootstrap.book_opener import writer_name as writer_name
from bookbound.bootstrap.components import build_book_settings as build_book_settings
from bookbound.bootstrap.components import build_embedder as build_embedder
from bookbound.bootstrap.components import build_llm_client as build_llm_client
from bookbound.bootstrap.components import build_store as build_store
from bookbound.bootstrap.components import index_book as index_book
from bookbound.bootstrap.components import read_book as read_book
from bookbound.bootstrap.mcp_server import require_mcp as require_mcp
from bookbound.bootstrap.mcp_server import serve_mcp_stdio as serve_mcp_stdio
from bookbound.bootstrap.web_app import build_report_builder as build_report_builder
from bookbound.bootstrap.web_app import check_server_services as check_server_services
from bookbound.bootstrap.web_app import open_query_log as open_query_log
from bookbound.bootstrap.web_app import query_log_retention as query_log_retention


def main() -> None:
    """Runs the command line with these functions."""
    from bookbound import bootstrap, cli

    cli.run_command_line(bootstrap)
