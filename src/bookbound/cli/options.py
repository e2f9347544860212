"""Defines the arguments and options that several commands share."""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

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


def parse_duration(text: str) -> timedelta:
    """The duration of an argument such as 30d."""
    match = _DURATION.fullmatch(text.strip().lower())
    if not match:
        raise typer.BadParameter("Use a number and h, d or w for hours, days or weeks, as in 30d.")
    return timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})


def choose_source(source: Path | None, site: str | None, command: str | None) -> Path | str:
    """The one source that the command line names; for an address as a path, an error with the right command."""
    if source and (match := _ADDRESS.match(str(source))):
        rest = str(source)[match.end() :] if match["scheme"] else str(source)
        address = f"{match['scheme'] or 'https'}://{rest}"
        shown = "URL" if "@" in address else shlex.quote(address)  # it may contain a password
        raise ConfigError(f"SOURCE is an address. To read a website, use --site: bookbound {command} --site {shown}")
    if source and not site:
        return source
    if site and not source:
        return site
    raise ConfigError("Name one source: a folder, a file, or a site with --site URL.")


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
