"""What the command line needs from whoever starts it."""

from __future__ import annotations

from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from bookbound.ask import Pipeline
from bookbound.calibration import InForce
from bookbound.cli.place import named
from bookbound.library import Book
from bookbound.manifest import Manifest
from bookbound.ports import Embedder, Store
from bookbound.settings import Settings
from bookbound.volume import Volume

if TYPE_CHECKING:
    from bookbound.book import Manuscript
    from bookbound.ingest import Indexed, Progress


class Format(StrEnum):
    """How to print a result."""

    TEXT = "text"
    JSON = "json"


IndexFolder = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="DIR", parser=named, help="Folder of the index. Default: .bookbound", show_default=False
    ),
]
BookName = Annotated[
    str | None, typer.Option("--book", metavar="NAME", help="Which book, where an index holds several.")
]
EditionName = Annotated[
    str | None, typer.Option("--edition", metavar="NAME", help="Which edition of the book, such as 2.0.")
]
Source = Annotated[
    Path | None, typer.Argument(metavar="SOURCE", parser=named, help="The folder or file that holds the book.")
]
Site = Annotated[str | None, typer.Option("--site", metavar="URL", help="A built site on the web, instead of SOURCE.")]
Kind = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="KIND",
        help="Read it as this kind, else that is found out: docusaurus, mkdocs, hugo, mdbook, sphinx, jupyter, epub,"
        " pdf, html, gitbook, markdown or text.",
    ),
]
AsFormat = Annotated[Format, typer.Option("--format", help="For people or for scripts, errors too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, errors too.")]
TopK = Annotated[int, typer.Option("--top-k", "-k", metavar="N", help="How many passages to keep, 1 to 20.")]


class Parts(Protocol):
    """Builds what commands work with, when they ask for it."""

    def store(self, settings: Settings) -> Store:
        """Where the index lives."""

    def placed(self, settings: Settings) -> Settings:
        """The settings for the one book that they name, where there are several."""

    def asked(self, settings: Settings) -> Coroutine[Any, Any, Settings]:
        """The settings with the name of the volume that they mean, which is published."""

    def volumes(self, settings: Settings) -> Coroutine[Any, Any, list[Volume]]:
        """Every book and edition that is published."""

    def point(self, settings: Settings, book: Manifest) -> InForce:
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
        self, source: Path | str, settings: Settings, progress: Progress, *, kind: str | None = None
    ) -> Manuscript:
        """The book at a path or a web address, as it would be indexed."""

    def index_book(
        self,
        source: Path | str,
        settings: Settings,
        progress: Progress,
        *,
        kind: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> Indexed:
        """The book at a path or a web address, published as an index."""
