"""The command line."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, NoReturn

import typer

from bookbound import __version__, misspelt
from bookbound.cli import ask, demo, index, key, log, report, serve, show, status, streams, transfer
from bookbound.cli.calibrate import calibrate
from bookbound.cli.eval import evaluate
from bookbound.cli.inspect import inspect
from bookbound.cli.outcome import READER_GONE, settled, tell
from bookbound.cli.parts import Parts
from bookbound.cli.rollback import rollback
from bookbound.cli.screen import note

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: bookbound demo",
)
app.command(epilog="Example: bookbound demo")(demo.demo)
app.command(epilog="Example: bookbound index my-book --index my-index")(index.index)
app.command(epilog="Example: bookbound inspect my-book")(inspect)
app.command(epilog='Example: bookbound ask "What is a service in ROS 2?"')(ask.ask)
app.command(epilog='Example: bookbound search "gear ratio" -k 3')(ask.search)
app.command(epilog="Example: bookbound serve --index my-index --port 8000")(serve.serve)
app.command("eval", epilog="Example: bookbound eval --questions questions.jsonl --html report.html --bar recall@5=0.8")(
    evaluate
)
app.command(epilog="Example: bookbound calibrate --questions questions.jsonl --precision 0.9")(calibrate)
app.command(epilog="Example: bookbound status --index my-index")(status.status)
app.command(epilog="Example: bookbound export book.bookbound --index my-index")(transfer.export)
app.command("import", epilog="Example: bookbound import book.bookbound --index another")(transfer.import_)
app.command(epilog="Example: bookbound rollback --index my-index")(rollback)
app.command(epilog="Example: bookbound report --since 2w --format html > report.html")(report.report)
app.add_typer(log.app, name="log")
app.add_typer(key.app, name="key")


def run(parts: Parts) -> NoReturn:
    """Read the command line, carry it out with these parts, and end with the code for what came of it."""
    streams.ready()
    warnings.showwarning = lambda message, *_: note([show.warning(str(message))])
    try:
        with streams.writing():
            app(prog_name="bookbound", obj=parts)
        code = 0
    except SystemExit as end:
        # Typer ends with 1 where the reader of its help went away; here 1 says that a question was refused.
        code = READER_GONE if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except Exception as trouble:
        code = tell(trouble)
    sys.exit(settled(code))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bookbound {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answers readers' questions from one book and nothing else, with a citation for every sentence."""
    if ctx.invoked_subcommand != "serve":  # which first finds out in what form to say it
        misspelt.warn()
