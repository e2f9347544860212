"""Defines what all commands share: options, the bootstrap interface, index locations and exit codes."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from bookbound.answering.operating_point import ActiveOperatingPoint
from bookbound.answering.pipeline import Pipeline
from bookbound.cli.terminal import (
    StandardOutputError,
    StyledLine,
    discard_unwritten,
    escape_line_breaks,
    flush_stdout,
    print_json,
    print_to_stderr,
)
from bookbound.contracts import serialization
from bookbound.contracts.serialization import JsonObject
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookboundError, ConfigError, IndexNotFoundError, InvalidInputError, ServiceError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Embedder, IndexStore
from bookbound.library import Book
from bookbound.settings import Settings, format_index_option

if TYPE_CHECKING:
    from bookbound.domain.document import ParsedBook
    from bookbound.indexing.pipeline import IndexingResult, ProgressCallback


DEMO_FOLDER_NAME = "demo"


def describe_index_location(chosen: Settings) -> str:
    """Where the index lives."""
    return f"collection {chosen.qdrant_collection} on a Qdrant server" if chosen.qdrant_url else str(chosen.index)


def format_book_options(chosen: Settings) -> str:
    """What to add to a command so that it finds this index, with a space before it."""
    place = "" if chosen.qdrant_url else format_index_option(chosen.index)
    named = {"--book": chosen.book, "--edition": chosen.edition}
    return place + "".join(f" {name} {shlex.quote(value)}" for name, value in named.items() if value)


def require_folder(chosen: Settings) -> None:
    """That the place for the index is no file."""
    if not chosen.qdrant_url and chosen.index.exists() and not chosen.index.is_dir():
        raise ConfigError(f"{chosen.index} is no folder, so it can hold no index. Name a folder: --index DIR")


@contextmanager
def explain_missing_index(chosen: Settings) -> Iterator[None]:
    """Within this block a missing index is told with its place and the command that makes it."""
    require_folder(chosen)
    try:
        yield
    except IndexNotFoundError as trouble:
        raise IndexNotFoundError(
            f"There is no index in {describe_index_location(chosen)} yet. Index a book first: bookbound index SOURCE{format_book_options(chosen)}"
            + _suggest_demo_index(chosen)
        ) from trouble


def parse_path(words: str) -> Path:
    """The path that an argument names; an empty one, as an unset variable leaves it, names none."""
    if not words.strip():
        raise typer.BadParameter("It is empty. Name a path; the working directory is .")
    return Path(words)


def _suggest_demo_index(chosen: Settings) -> str:
    demo = chosen.index / DEMO_FOLDER_NAME
    made = not chosen.qdrant_url and (demo / "current").is_file()
    return f" Or ask the book of the demo: --index {shlex.quote(str(demo))}" if made else ""


_DURATION = re.compile(r"(\d{1,5})([hdw])", re.ASCII)
DURATION_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_duration(words: str) -> timedelta:
    """The time that words like 30d stand for."""
    found = _DURATION.fullmatch(words.strip().lower())
    if not found:
        raise typer.BadParameter("It is a number and h, d or w for hours, days or weeks, as in 30d.")
    return timedelta(**{DURATION_UNITS[found[2]]: int(found[1])})


EXIT_ANSWERED, EXIT_REFUSED, EXIT_PAGES_LOST, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 0, 1, 5, 130, 141
# The first row that fits holds. A defect has a code of its own, so that no script takes it for a refusal.
EXIT_CODES_BY_ERROR: tuple[tuple[type[Exception], int], ...] = (
    (BrokenPipeError, EXIT_BROKEN_PIPE),
    (InvalidInputError, 4),
    (ServiceError, 3),
    (BookboundError, 2),
    (OSError, 2),
    (Exception, 70),
)
ErrorSerializer = Callable[[Exception], JsonObject]


@contextmanager
def exit_on_error(as_json: bool = False, wording: ErrorSerializer = serialization.serialize_error) -> Iterator[None]:
    """Whatever goes wrong inside is told on standard error, or as JSON on standard output, and ends the command."""
    try:
        yield
        flush_stdout()
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except Exception as trouble:
        raise typer.Exit(print_error(trouble, as_json, wording)) from None


def print_error(
    trouble: Exception, as_json: bool = False, wording: ErrorSerializer = serialization.serialize_error
) -> int:
    """Say what went wrong, to whoever is still there, and give the exit code for it."""
    if os.environ.get("BOOKBOUND_DEBUG"):
        with suppress(OSError):
            traceback.print_exception(trouble)
    elif as_json and not isinstance(trouble, BrokenPipeError | StandardOutputError):
        with suppress(OSError, StandardOutputError):
            print_json(wording(trouble))
    elif not isinstance(trouble, BrokenPipeError):
        print_to_stderr(
            [
                StyledLine.of(
                    ("Error: ", "bold red"),
                    escape_line_breaks(serialization.serialize_error(trouble)["error"]["message"]),
                )
            ]
        )
    return next(code for kind, code in EXIT_CODES_BY_ERROR if isinstance(trouble, kind))


def flush_before_exit(code: int) -> int:
    """The code to end with, now that all is written: a result that did not arrive is trouble, an error stays one."""
    try:
        flush_stdout()
    except (BrokenPipeError, StandardOutputError) as trouble:
        code = print_error(trouble) if code in (EXIT_ANSWERED, EXIT_REFUSED) else code
        discard_unwritten(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        discard_unwritten(sys.stderr)
    return code


def exit_without_cleanup(code: int, pipeline: Pipeline) -> NoReturn:
    """End the process at once, with the pipeline still open.

    To close an index that was only read, and to unload the model, takes longer than to answer a question.
    """
    os._exit(flush_before_exit(code))


class OutputFormat(StrEnum):
    """How to print a result."""

    TEXT = "text"
    JSON = "json"


IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="DIR", parser=parse_path, help="Folder of the index. Default: .bookbound", show_default=False
    ),
]
BookOption = Annotated[
    str | None, typer.Option("--book", metavar="NAME", help="Which book, where an index holds several.")
]
EditionOption = Annotated[
    str | None, typer.Option("--edition", metavar="NAME", help="Which edition of the book, such as 2.0.")
]
SourceArgument = Annotated[
    Path | None, typer.Argument(metavar="SOURCE", parser=parse_path, help="The folder or file that holds the book.")
]
SiteOption = Annotated[
    str | None, typer.Option("--site", metavar="URL", help="A built site on the web, instead of SOURCE.")
]
SourceFormatOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="KIND",
        help="Read it as this kind, else that is found out: docusaurus, mkdocs, hugo, mdbook, sphinx, jupyter, epub,"
        " pdf, html, gitbook, markdown or text.",
    ),
]
OutputFormatOption = Annotated[OutputFormat, typer.Option("--format", help="For people or for scripts, errors too.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, errors too.")]
TopKOption = Annotated[int, typer.Option("--top-k", "-k", metavar="N", help="How many passages to keep, 1 to 20.")]


class Bootstrap(Protocol):
    """Builds what commands work with, when they ask for it."""

    def store(self, settings: Settings) -> IndexStore:
        """Where the index lives."""

    def placed(self, settings: Settings) -> Settings:
        """The settings for the one book that they name, where there are several."""

    def asked(self, settings: Settings) -> Coroutine[Any, Any, Settings]:
        """The settings with the name of the volume that they mean, which is published."""

    def volumes(self, settings: Settings) -> Coroutine[Any, Any, list[BookRef]]:
        """Every book and edition that is published."""

    def point(self, settings: Settings, book: Manifest) -> ActiveOperatingPoint:
        """The operating point in force for a book, and where it comes from."""

    def embedder(self, settings: Settings) -> Embedder:
        """What embeds questions."""

    def writer_name(self, settings: Settings) -> str:
        """What writes the answers."""

    def pipeline(self, settings: Settings) -> Coroutine[Any, Any, Pipeline]:
        """The published index, open, with the parts that answer from it."""

    def open_book(self, settings: Settings) -> Book:
        """The same as a book to ask from plain code."""

    def ready(self, settings: Settings, workers: int = 1) -> None:
        """See that limits hold and questions can be logged; what does not yet is warned of."""

    def read_book(
        self, source: Path | str, settings: Settings, progress: ProgressCallback, *, kind: str | None = None
    ) -> ParsedBook:
        """The book at a path or a web address, as it would be indexed."""

    def index_book(
        self,
        source: Path | str,
        settings: Settings,
        progress: ProgressCallback,
        *,
        kind: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> IndexingResult:
        """The book at a path or a web address, published as an index."""
