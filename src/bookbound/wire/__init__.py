"""The only place that builds things; what a command does not need is not imported."""

from __future__ import annotations

from bookbound.settings import Settings
from bookbound.wire.answering import beside, open_book, pipeline, point, writer_name
from bookbound.wire.catalogue import asked, volumes
from bookbound.wire.indexing import embedder, index_book, placed, read_book, store
from bookbound.wire.recording import keep, log

__all__ = [
    "asked",
    "beside",
    "embedder",
    "index_book",
    "keep",
    "log",
    "main",
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
    from bookbound.wire import serving

    serving.ready(settings, workers)


def main() -> None:
    """The command line, with these parts."""
    from bookbound import cli, wire

    cli.run(wire)
