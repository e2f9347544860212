"""Finds and opens the book of a command through the bootstrap interface."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bookbound.answering.deciding.operating_point import ActiveOperatingPoint
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError, IndexNotFoundError
from bookbound.domain.judgement import describe_ranges
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Embedder, IndexStore, LanguageModel
from bookbound.library import Book
from bookbound.settings import Settings, format_index_option

if TYPE_CHECKING:
    from bookbound.domain.document import ParsedBook
    from bookbound.indexing.pipeline import IndexingResult, ProgressCallback
    from bookbound.server.query_log.database import QueryLogDatabase
    from bookbound.server.report.report_builder import BookLoader, ReportBuilder

DEMO_FOLDER_NAME = "demo"


class Bootstrap(Protocol):
    """Builds what commands work with; the package `bookbound.bootstrap` is one."""

    def build_store(self, settings: Settings) -> IndexStore: ...
    def build_book_settings(self, settings: Settings) -> Settings: ...
    def resolve_book_settings(self, settings: Settings) -> Coroutine[Any, Any, Settings]: ...
    def list_books(self, settings: Settings) -> Coroutine[Any, Any, list[BookRef]]: ...
    def load_operating_point(self, settings: Settings, book: Manifest) -> ActiveOperatingPoint: ...
    def build_embedder(self, settings: Settings) -> Embedder: ...
    def build_llm_client(self, settings: Settings) -> LanguageModel: ...
    def writer_name(self, settings: Settings) -> str: ...
    def open_pipeline(self, settings: Settings) -> Coroutine[Any, Any, Pipeline]: ...
    def open_book(self, settings: Settings) -> Book: ...
    def require_mcp(self) -> None: ...
    def serve_mcp_stdio(self, settings: Settings) -> Coroutine[Any, Any, None]: ...
    def check_server_services(self, settings: Settings, workers: int = 1) -> None: ...
    def open_query_log(self, settings: Settings) -> QueryLogDatabase: ...
    def build_report_builder(self, settings: Settings, load_books: BookLoader) -> ReportBuilder: ...
    def query_log_retention(self, settings: Settings) -> timedelta: ...
    def read_book(
        self, source: Path | str, settings: Settings, progress: ProgressCallback, *, kind: str | None = None
    ) -> ParsedBook: ...
    def index_book(
        self,
        source: Path | str,
        settings: Settings,
        progress: ProgressCallback,
        *,
        kind: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> IndexingResult: ...


def describe_location(settings: Settings) -> str:
    """Where the index is."""
    return f"collection {settings.qdrant_collection} on a Qdrant server" if settings.qdrant_url else str(settings.index)


def format_operating_point(point: dict[str, Any]) -> list[tuple[str, str]]:
    """A row for each kind of reply with the probabilities that lead to it; the first also has the point's origin."""
    ranges = describe_ranges(point["answered"], point["unsure"])
    rows = [(status.value.capitalize(), words) for status, words in ranges.items()]
    return [(rows[0][0], f"{rows[0][1]} ({point['origin']})"), *rows[1:]]


def format_book_options(settings: Settings) -> str:
    """The options that a suggested command needs to find this book, with a leading space."""
    index_option = "" if settings.qdrant_url else format_index_option(settings.index)
    names = {"--book": settings.book, "--edition": settings.edition}
    return index_option + "".join(f" {name} {shlex.quote(value)}" for name, value in names.items() if value)


def require_folder(settings: Settings) -> None:
    """Raise an error if the index location is a file."""
    if not settings.qdrant_url and settings.index.exists() and not settings.index.is_dir():
        raise ConfigError(f"{settings.index} is not a folder. Name a folder for the index: --index FOLDER")


@contextmanager
def explain_missing_index(settings: Settings) -> Iterator[None]:
    """Add the location and the command that makes an index to the error for a missing one."""
    require_folder(settings)
    try:
        yield
    except IndexNotFoundError as error:
        message = f"There is no index in {describe_location(settings)} yet."
        command = f"bookbound index SOURCE{format_book_options(settings)}"
        demo = settings.index / DEMO_FOLDER_NAME
        has_demo = not settings.qdrant_url and (demo / "current").is_file()
        hint = f" Or ask the demo book: --index {shlex.quote(str(demo))}" if has_demo else ""
        raise IndexNotFoundError(f"{message} Index a book first: {command}{hint}") from error


def resolve_one_book(bootstrap: Bootstrap, settings: Settings) -> Settings:
    """The settings with the exact edition that they mean; `all` is an error."""
    bootstrap.build_book_settings(settings)
    with explain_missing_index(settings):
        return asyncio.run(bootstrap.resolve_book_settings(settings))


def open_book(bootstrap: Bootstrap, settings: Settings) -> Book:
    with explain_missing_index(settings):
        return bootstrap.open_book(settings)
