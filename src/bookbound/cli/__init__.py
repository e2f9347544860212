"""The command line."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from bookbound import __version__
from bookbound.cli import ask, demo, index, status
from bookbound.cli.parts import Parts

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: bookbound demo",
)
app.command(epilog="Example: bookbound demo")(demo.demo)
app.command(epilog="Example: bookbound index my-book --index my-index")(index.index)
app.command(epilog='Example: bookbound ask "What does a harmonic drive do?"')(ask.ask)
app.command(epilog='Example: bookbound search "gear ratio" -k 3')(ask.search)
app.command(epilog="Example: bookbound status --index my-index")(status.status)


def run(parts: Parts) -> None:
    """Read the command line and carry it out with these parts."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="bookbound", obj=parts)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bookbound {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answers readers' questions from one book and nothing else, with a citation for every sentence."""
