"""Reports errors and ends the command with the right exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import typer

from bookbound.cli import terminal
from bookbound.contracts.serialization import JsonObject, serialize_error
from bookbound.domain.errors import BookboundError, InvalidInputError, ServiceError, SourceError
from bookbound.settings import format_index_option

EXIT_ANSWERED = 0
EXIT_REFUSED = 1
# After 2, 3 and 4 of the errors below, so that a script can tell lost pages from an error.
EXIT_PAGES_LOST = 5
# 128 and the number of the signal, as shells report it: SIGINT is 2 and SIGPIPE 13.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
# The first row that fits applies. A bug has its own code, so that no script takes it for a refusal.
EXIT_CODES_BY_ERROR: tuple[tuple[type[Exception], int], ...] = (
    (BrokenPipeError, EXIT_BROKEN_PIPE),
    (InvalidInputError, 4),
    (ServiceError, 3),
    (BookboundError, 2),
    (OSError, 2),
    (Exception, 70),
)
_SUGGESTED_COMMAND = re.compile(r": bookbound (?!export)(?!.* --index ).*$")
"""A command at the end of a message; `export` may have to run elsewhere."""
ErrorSerializer = Callable[[Exception], JsonObject]


@contextmanager
def prefix_source_errors(source: Path | str) -> Iterator[None]:
    """Put the path in front of errors about the source; not an address, which may contain a password."""
    try:
        yield
    except SourceError as error:
        if isinstance(source, str):
            raise
        raise type(error)(f"{source}: {error}") from error


@contextmanager
def exit_on_error(
    as_json: bool = False, serialize: ErrorSerializer = serialize_error, *, index: Path | None = None
) -> Iterator[None]:
    """Report an error inside on standard error, or as JSON on standard output, and end the command.

    A command that the message suggests keeps the `index` that the user named.
    """
    try:
        yield
        terminal.flush_stdout()
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except Exception as error:
        raise typer.Exit(print_error(error, as_json, serialize, index)) from None


def print_error(
    error: Exception, as_json: bool = False, serialize: ErrorSerializer = serialize_error, index: Path | None = None
) -> int:
    """Report an error and return its exit code."""
    if os.environ.get("BOOKBOUND_DEBUG"):
        with suppress(OSError):
            traceback.print_exception(error)
    elif as_json and not isinstance(error, BrokenPipeError | terminal.StandardOutputError):
        with suppress(OSError, terminal.StandardOutputError):
            terminal.print_json(serialize(error))
    elif not isinstance(error, BrokenPipeError):
        message = keep_index_option(serialize_error(error)["error"]["message"], index)
        terminal.print_to_stderr(("Error: ", "bold red"), terminal.escape_line_breaks(message))
    return next(code for kind, code in EXIT_CODES_BY_ERROR if isinstance(error, kind))


def keep_index_option(message: str, index: Path | None) -> str:
    """Adds the user's `--index` to the command that a message ends with."""
    return message + format_index_option(index) if index and _SUGGESTED_COMMAND.search(message) else message


def flush_before_exit(code: int) -> int:
    """The exit code once all output is written: a result that did not arrive is an error."""
    try:
        terminal.flush_stdout()
    except (BrokenPipeError, terminal.StandardOutputError) as error:
        code = print_error(error) if code in (EXIT_ANSWERED, EXIT_REFUSED) else code
        terminal.discard_unwritten(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        terminal.discard_unwritten(sys.stderr)
    return code


def exit_without_cleanup(code: int) -> NoReturn:
    """End the process at once: closing an index and unloading the networks takes longer than an answer."""
    os._exit(flush_before_exit(code))
