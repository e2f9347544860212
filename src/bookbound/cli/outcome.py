"""How a command ends: one exit code for each kind of trouble, told in one line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import typer

from bookbound.ask import Pipeline
from bookbound.cli.screen import Line, note, one_line, put_json
from bookbound.cli.streams import Unwritten, discard, flush
from bookbound.errors import BookboundError, InvalidInput, ServiceTrouble
from bookbound.faces import canonical
from bookbound.faces.canonical import Plain

ANSWERED, REFUSED, LOST, INTERRUPTED, READER_GONE = 0, 1, 5, 130, 141
# The first row that fits holds. A defect has a code of its own, so that no script takes it for a refusal.
CODES: tuple[tuple[type[Exception], int], ...] = (
    (BrokenPipeError, READER_GONE),
    (InvalidInput, 4),
    (ServiceTrouble, 3),
    (BookboundError, 2),
    (OSError, 2),
    (Exception, 70),
)
Wording = Callable[[Exception], Plain]


@contextmanager
def told(as_json: bool = False, wording: Wording = canonical.error) -> Iterator[None]:
    """Whatever goes wrong inside is told on standard error, or as JSON on standard output, and ends the command."""
    try:
        yield
        flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as trouble:
        raise typer.Exit(tell(trouble, as_json, wording)) from None


def tell(trouble: Exception, as_json: bool = False, wording: Wording = canonical.error) -> int:
    """Say what went wrong, to whoever is still there, and give the exit code for it."""
    if os.environ.get("BOOKBOUND_DEBUG"):
        with suppress(OSError):
            traceback.print_exception(trouble)
    elif as_json and not isinstance(trouble, BrokenPipeError | Unwritten):
        with suppress(OSError, Unwritten):
            put_json(wording(trouble))
    elif not isinstance(trouble, BrokenPipeError):
        note([Line.of(("Error: ", "bold red"), one_line(canonical.error(trouble)["error"]["message"]))])
    return next(code for kind, code in CODES if isinstance(trouble, kind))


def settled(code: int) -> int:
    """The code to end with, now that all is written: a result that did not arrive is trouble, an error stays one."""
    try:
        flush()
    except (BrokenPipeError, Unwritten) as trouble:
        code = tell(trouble) if code in (ANSWERED, REFUSED) else code
        discard(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)
    return code


def leave(code: int, pipeline: Pipeline) -> NoReturn:
    """End the process at once, with the pipeline still open.

    To close an index that was only read, and to unload the model, takes longer than to answer a question.
    """
    os._exit(settled(code))
