"""Builds everything that the command line and the library use."""

from __future__ import annotations

from bookbound.bootstrap.book_catalogue import asked, volumes
from bookbound.bootstrap.book_opener import open_additional_book, open_book, pipeline, point, writer_name
from bookbound.bootstrap.components import embedder, index_book, placed, read_book, store
from bookbound.bootstrap.web_app import keep, log
from bookbound.settings import Settings

__all__ = [
    "asked",
    "embedder",
    "index_book",
    "keep",
    "log",
    "main",
    "open_additional_book",
    "open_book",
    "pipeline",
    "placed",
    "point",
    "read_book",
    "ready",
    "store",
    "volumes",
    "writer_name",
]


def ready(settings: Settings, workers: int = 1) -> None:
    """See that limits hold and questions are logged and watched: what is set wrong is told before anybody asks."""
    from bookbound.bootstrap import web_app

    web_app.check_server_settings(settings, workers)


def main() -> None:
    """The command line, with these parts."""
    from bookbound import bootstrap, cli

    cli.run_command_line(bootstrap)
