"""How a command ends: one exit code for each kind of trouble, told in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from bookbound.ask import Pipeline
from bookbound.cli.screen import Line, put, put_json
from bookbound.errors import BookboundError, InvalidInput, ServiceTrouble
from bookbound.faces import canonical

ANSWERED, REFUSED = 0, 1
# The first row that fits holds. A defect has a code of its own, so that no script takes it for a refusal.
CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 4),
    (ServiceTrouble, 3),
    (BookboundError, 2),
    (OSError, 2),
    (Exception, 70),
)
INTERRUPTED, READER_GONE = 130, 141


@contextmanager
def told(as_json: bool = False) -> Iterator[None]:
    """Whatever goes wrong inside is told on standard error, or as JSON on standard output, and ends the command."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Nothing more can be written, not even what Python flushes as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(READER_GONE) from None
    except Exception as trouble:
        if os.environ.get("BOOKBOUND_DEBUG"):
            raise
        plain = canonical.error(trouble)
        if as_json:
            put_json(plain)
        else:
            put([Line.of(("Error: ", "bold red"), plain["error"]["message"])], sys.stderr)
        raise typer.Exit(next(code for kind, code in CODES if isinstance(trouble, kind))) from None


def leave(code: int, pipeline: Pipeline) -> NoReturn:
    """End the process at once, with the pipeline still open.

    To close an index that was only read, and to unload the model, takes longer than to answer a question.
    """
    sys.stderr.flush()
    os._exit(code)
