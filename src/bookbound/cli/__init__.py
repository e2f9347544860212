"""Defines the command line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import bookbound
from bookbound.cli import (
    ask_command,
    key_commands,
    llm_commands,
    log_commands,
    published_index_commands,
    serve_commands,
    terminal,
)
from bookbound.cli.book_access import Bootstrap
from bookbound.cli.calibrate_command import calibrate
from bookbound.cli.chat_command import chat
from bookbound.cli.eval_command import evaluate
from bookbound.cli.exit_codes import EXIT_BROKEN_PIPE, flush_before_exit, print_error
from bookbound.cli.index_command import index
from bookbound.cli.inspect_command import inspect
from bookbound.cli.report_command import report
from bookbound.cli.source_commit import find_commit
from bookbound.settings import warn_unknown_variables

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: bookbound demo",
)
for command, name, example in (
    (serve_commands.demo, "demo", ""),
    (index, "index", "my-book --index my-index"),
    (inspect, "inspect", "my-book"),
    (ask_command.ask, "ask", '"What is a service in ROS 2?"'),
    (chat, "chat", "--index my-index"),
    (ask_command.search, "search", '"gear ratio" -k 3'),
    (serve_commands.serve, "serve", "--index my-index --port 8000"),
    (serve_commands.mcp, "mcp", "--index my-index"),
    (evaluate, "eval", "--questions questions.jsonl --html-file report.html --require recall@5=0.8"),
    (calibrate, "calibrate", "--questions questions.jsonl --min-precision 0.9"),
    (published_index_commands.status, "status", "--index my-index"),
    (published_index_commands.export, "export", "book.bookbound --index my-index"),
    (published_index_commands.import_, "import", "book.bookbound --index another"),
    (published_index_commands.rollback, "rollback", "--index my-index"),
    (report, "report", "--since 2w --format html > report.html"),
):
    app.command(name, epilog=f"Example: bookbound {name} {example}".rstrip())(command)
app.add_typer(log_commands.log_app, name="log")
app.add_typer(key_commands.key_app, name="key")
app.add_typer(llm_commands.llm_app, name="llm")


def run_command_line(bootstrap: Bootstrap) -> NoReturn:
    """Run the command of the command line and exit with its code."""
    terminal.prepare_streams()
    warnings.showwarning = lambda message, *_: terminal.print_warning(str(message))
    try:
        with terminal.translate_output_errors():
            app(prog_name="bookbound", obj=bootstrap)
        code = 0
    except SystemExit as error:
        # Typer exits with 1 if the reader of its help is gone; here 1 means that a question was refused.
        code = EXIT_BROKEN_PIPE if isinstance(error.__context__, BrokenPipeError) else int(error.code or 0)
    except Exception as error:
        code = print_error(error)
    sys.exit(flush_before_exit(code))


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        commit = find_commit(Path(bookbound.__file__).resolve().parent)
        print(f"bookbound {bookbound.__version__}{f' ({commit})' if commit else ''}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and the commit."),
    ] = False,
) -> None:
    """Answers readers' questions from one book and nothing else, with a citation for every sentence."""
    if ctx.invoked_subcommand not in ("serve", "mcp"):  # which first sets the format of its log
        warn_unknown_variables()
