"""Defines the arguments and options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from bookbound.domain.errors import ConfigError

_ADDRESS = re.compile(r"(?P<scheme>https?):/+|www\.", re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,5})([hdw])", re.ASCII)
_DURATION_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_path(text: str) -> Path:
    """The path of an argument; an empty one comes from an unset variable and is an error."""
    if not text.strip():
        raise typer.BadParameter("The path is empty. Name a path; the working directory is .")
    return Path(text)


def parse_text(text: str) -> str:
    """The text of an argument as it is."""
    return text


# The help shows the names of these functions as the types of arguments.
parse_path.__name__, parse_text.__name__ = "path", "text"


def parse_duration(text: str) -> timedelta:
    """The duration of an argument such as 30d."""
    match = _DURATION.fullmatch(text.strip().lower())
    if not match:
        raise typer.BadParameter("Use a number and h, d or w for hours, days or weeks, as in 30d.")
    return timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})


def choose_source(
    source: Path | None, site: str | None, collection: str | None, fields: Sequence[str] | None, command: str | None
) -> Path | str:
    """The one source that the command line names; for an address as a path, an error with the right command."""
    if source and (match := _ADDRESS.match(str(source))):
        rest = str(source)[match.end() :] if match["scheme"] else str(source)
        address = f"{match['scheme'] or 'https'}://{rest}"
        shown = "URL" if "@" in address else shlex.quote(address)  # it may contain a password
        raise ConfigError(f"SOURCE is an address. To read a website, use --site: bookbound {command} --site {shown}")
    if fields and not collection:
        raise ConfigError("--field names the fields of a collection. Use it with --from-qdrant.")
    sources: list[Path | str] = [each for each in (source, site) if each]
    if collection:
        sources.append(_build_collection_source(collection, fields or ()))
    if len(sources) != 1:
        raise ConfigError(
            "Name one source: a folder, a file, a site with --site URL, or a collection with --from-qdrant URL."
        )
    return sources[0]


def _build_collection_source(address: str, fields: Sequence[str]) -> str:
    """The source that means a collection: its address behind the scheme, with the names of its fields as a query."""
    from bookbound.indexing.store.qdrant_reader import SOURCE_SCHEME

    pairs = {role.strip(): name.strip() for role, _, name in (field.partition("=") for field in fields)}
    if not all(role and name for role, name in pairs.items()):
        raise ConfigError("Write a field as ROLE=NAME, such as --field text=body.")
    separator = "&" if "?" in address else "?"
    return SOURCE_SCHEME + address.strip() + (separator + urlencode(pairs) if pairs else "")


def file_option(flag: str, help_text: str) -> Any:
    """An option that names a file."""
    return typer.Option(flag, metavar="FILE", parser=parse_path, help=help_text)


class OutputFormat(StrEnum):
    """How to print a result."""

    TEXT = "text"
    JSON = "json"


IndexOption = Annotated[
    Path | None,
    typer.Option("--index", metavar="FOLDER", parser=parse_path, help="Folder of the index. Default: .bookbound"),
]
BookOption = Annotated[str | None, typer.Option("--book", metavar="NAME", help="The book, if the index holds several.")]
EditionOption = Annotated[str | None, typer.Option("--edition", metavar="NAME", help="The edition, such as 2.0.")]
SourceArgument = Annotated[
    Path | None, typer.Argument(metavar="SOURCE", parser=parse_path, help="The folder or file of the book.")
]
SiteOption = Annotated[str | None, typer.Option("--site", metavar="URL", help="A site on the web, instead of SOURCE.")]
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--from-qdrant",
        metavar="URL/COLLECTION",
        help="A collection of chunks that another program made in Qdrant, instead of SOURCE.",
    ),
]
FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="ROLE=NAME",
        help="The name of a field of the collection, if it is unusual: text, url, title, chapter, section, position,"
        " page, id or book. Repeatable.",
    ),
]
SourceFormatOption = Annotated[
    str | None,
    typer.Option(
        "--source-format",
        metavar="FORMAT",
        help="The format, if Bookbound should not detect it: docusaurus, mkdocs, hugo, mdbook, sphinx, jupyter, epub,"
        " pdf, docx, html, gitbook, mixed,"
        " markdown or text.",
    ),
]
OutputFormatOption = Annotated[OutputFormat, typer.Option("--format", help="Text for people or JSON for scripts.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, errors too.")]
TopKOption = Annotated[int, typer.Option("--top-k", "-k", metavar="NUMBER", help="How many passages to keep, 1 to 20.")]
