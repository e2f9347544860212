"""Defines the command line."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, NoReturn

import typer

from bookbound import __version__, settings
from bookbound.cli import (
    admin_commands,
    ask_command,
    index_command,
    published_index_commands,
    reply_view,
    report_command,
    serve_commands,
    terminal,
)
from bookbound.cli.calibrate_command import calibrate
from bookbound.cli.common import EXIT_BROKEN_PIPE, Bootstrap, flush_before_exit, print_error
from bookbound.cli.eval_command import evaluate
from bookbound.cli.inspect_command import inspect
from bookbound.cli.published_index_commands import rollback
from bookbound.cli.terminal import print_to_stderr

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: bookbound demo",
)
app.command(epilog="Example: bookbound demo")(serve_commands.demo)
app.command(epilog="Example: bookbound index my-book --index my-index")(index_command.index)
app.command(epilog="Example: bookbound inspect my-book")(inspect)
app.command(epilog='Example: bookbound ask "What is a service in ROS 2?"')(ask_command.ask)
app.command(epilog='Example: bookbound search "gear ratio" -k 3')(ask_command.search)
app.command(epilog="Example: bookbound serve --index my-index --port 8000")(serve_commands.serve)
app.command("eval", epilog="Example: bookbound eval --questions questions.jsonl --html report.html --bar recall@5=0.8")(
    evaluate
)
app.command(epilog="Example: bookbound calibrate --questions questions.jsonl --precision 0.9")(calibrate)
app.command(epilog="Example: bookbound status --index my-index")(published_index_commands.status)
app.command(epilog="Example: bookbound export book.bookbound --index my-index")(published_index_commands.export)
app.command("import", epilog="Example: bookbound import book.bookbound --index another")(
    published_index_commands.import_
)
app.command(epilog="Example: bookbound rollback --index my-index")(rollback)
app.command(epilog="Example: bookbound report --since 2w --format html > report.html")(report_command.report)
app.add_typer(admin_commands.log_app, name="log")
app.add_typer(admin_commands.key_app, name="key")


def run_command_line(parts: Bootstrap) -> NoReturn:
    """Read the command line, carry it out with these parts, and end with the code for what came of it."""
    terminal.prepare_streams()
    warnings.showwarning = lambda message, *_: print_to_stderr([terminal.format_warning(str(message))])
    try:
        with terminal.translate_output_errors():
            app(prog_name="bookbound", obj=parts)
        code = 0
    except SystemExit as end:
        # Typer ends with 1 where the reader of its help went away; here 1 says that a question was refused.
        code = EXIT_BROKEN_PIPE if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except Exception as trouble:
        code = print_error(trouble)
    sys.exit(flush_before_exit(code))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bookbound {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answers readers' questions from one book and nothing else, with a citation for every sentence."""
    if ctx.invoked_subcommand != "serve":  # which first finds out in what form to say it
        settings.warn_unknown_settings()
