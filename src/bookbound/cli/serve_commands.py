"""Implements the commands `serve` and `demo`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

import bookbound
from bookbound import settings
from bookbound.cli import reply_view, terminal
from bookbound.cli.common import (
    DEMO_FOLDER_NAME,
    BookOption,
    Bootstrap,
    EditionOption,
    IndexOption,
    exit_on_error,
    explain_missing_index,
    parse_path,
)
from bookbound.cli.index_command import index_with_progress
from bookbound.cli.terminal import StyledLine, flush_stdout, print_lines, print_to_stderr
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import ConfigError, InvalidInputError
from bookbound.library import Book

MAX_LISTED_BOOK_PATHS = 10
"""How many of the books that are served are named."""
SourceOption = Annotated[
    Path | None,
    typer.Option("--source", metavar="SOURCE", parser=parse_path, help="Index this book first.", show_default=False),
]
HostOption = Annotated[
    str, typer.Option("--host", metavar="HOST", help="Address to listen on; 0.0.0.0 for every network.")
]
PortOption = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
]
WorkersOption = Annotated[int, typer.Option("--workers", metavar="N", min=1, max=64, help="How many processes answer.")]


def serve(
    ctx: typer.Context,
    source: SourceOption = None,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    workers: WorkersOption = 1,
) -> None:
    """Serve the book: every contract over HTTP, until Ctrl-C."""
    # Before it serves there is nothing to finish, and an exception may be lost wherever the signal finds us.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from bookbound.server import startup_checks, uvicorn_server
    from bookbound.server.telemetry.log_format import configure_logging, format_message

    with exit_on_error(), ExitStack() as held:
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        if chosen.logging == "json":
            configure_logging("json")
        settings.warn_unknown_settings()
        startup_checks.check_server_settings(chosen, host)
        taken = held.enter_context(uvicorn_server.bind_socket(host, port))
        if source:
            index_with_progress(ctx.obj, source, chosen)
        with explain_missing_index(chosen):
            title = asyncio.run(_load_title(ctx.obj, chosen))
            books = asyncio.run(ctx.obj.volumes(chosen))
        ctx.obj.ready(chosen, workers)
        export_settings(chosen)
        if chosen.logging == "json":
            sys.stdout.write(format_message("serving", book=title, address=uvicorn_server.socket_url(taken)))
        else:
            print_lines(
                [
                    *format_invitation(title, uvicorn_server.socket_url(taken), key=chosen.access == "keys"),
                    *format_book_paths(books),
                ]
            )
        flush_stdout()
        uvicorn_server.serve(taken, workers, chosen)


def format_invitation(
    title: str, address: str, question: str = "What is this book about?", key: bool = False
) -> list[StyledLine]:
    """Where it is served, and a question to try, with a `key` where one is needed."""
    body = f'{{"question": "{question}"}}'
    sent = " -H 'X-API-Key: KEY'" if key else ""
    command = f"curl -s {address}/ask{sent} -H 'Content-Type: application/json' -d '{body}'"
    return [
        StyledLine.of("Serving ", (title, "bold"), " at ", (address, "bold cyan"), " (Ctrl-C ends)"),
        StyledLine.of("Try: ", (command, "dim"), whole=True),
    ]


def format_book_paths(books: list[BookRef]) -> list[StyledLine]:
    """Where each book is asked that has a name."""
    named = [f"/books/{book}" for book in books if book != UNNAMED_BOOK]
    more = [f"and {len(named) - MAX_LISTED_BOOK_PATHS} more"] if len(named) > MAX_LISTED_BOOK_PATHS else []
    return (
        [StyledLine.of("Books: ", (", ".join([*named[:MAX_LISTED_BOOK_PATHS], *more]), "dim"), whole=True)]
        if named
        else []
    )


def export_settings(chosen: settings.Settings) -> None:
    """Leave the settings in the environment, where the processes that answer find them."""
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if value not in (None, ()):
            listed = ",".join(value) if isinstance(value, tuple) else str(value)
            os.environ[settings.ENVIRONMENT_PREFIX + field.name.upper()] = listed


async def _load_title(parts: Bootstrap, chosen: settings.Settings) -> str:
    """The title of the book that will be served: what cannot be opened is told now, not by a worker."""
    pipeline = await parts.pipeline(chosen)
    await pipeline.close()
    return pipeline.index.manifest.title


ServeOption = Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the book over HTTP as well.")]
DEMO_FOLDER, DEMO_MARKER_FILE = settings.Settings().index / DEMO_FOLDER_NAME, "demo-book"
QUIT_INPUTS = ("", "quit")
DEMO_QUESTIONS = (
    "What are the three parts of a strain wave gear?",
    "What is a service in ROS 2?",
    "Who won the 2022 football world cup?",
)


def demo(ctx: typer.Context, index: IndexOption = None, serve: ServeOption = True, port: PortOption = 0) -> None:
    """Index the example book, ask it three questions, serve it, and take your questions.

    Ctrl-D, an empty line or quit ends it. After the last line of a pipe or file it goes on serving until Ctrl-C.
    """
    with exit_on_error(), ExitStack() as stack:
        # The demo is on this machine, whatever server a reader's own book is on, and its questions are in no log.
        chosen = replace(settings.load_settings(index=index or DEMO_FOLDER), qdrant_url=None, log="off")
        book = stack.enter_context(open_demo_book(ctx.obj, _find_example_book(), chosen))
        print_lines(
            [
                StyledLine.of(
                    "Book: ", (book.manifest.title, "bold"), f", {terminal.format_count(book.manifest.chunks, 'chunk')}"
                ),
                StyledLine(),
            ]
        )
        for question in DEMO_QUESTIONS:
            _print_answer(book, question, echo=True)
        if serve:
            stack.enter_context(_serve_in_background(book, chosen, port))
        if _is_interactive():
            print_lines([StyledLine.of(("Your questions (Ctrl-D, an empty line or quit ends):", "dim"))])
        while (words := _read_question()) is not None and words not in QUIT_INPUTS:
            _print_answer(book, words, echo=not _is_interactive())
        if serve and words is None and not _is_interactive():
            threading.Event().wait()


@contextmanager
def _serve_in_background(book: Book, chosen: settings.Settings, port: int) -> Iterator[None]:
    """The book is served beside the questions from the keyboard."""
    from bookbound.server import uvicorn_server

    taken = uvicorn_server.bind_socket("127.0.0.1", port)
    export_settings(chosen)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with uvicorn_server.serve_in_thread(taken):
        print_lines(
            [*format_invitation(book.manifest.title, uvicorn_server.socket_url(taken), DEMO_QUESTIONS[0]), StyledLine()]
        )
        flush_stdout()
        yield


def _print_answer(book: Book, question: str, echo: bool) -> None:
    """Print the reply; a question that breaks a rule is told, and the next one taken."""
    if echo:
        print_lines([StyledLine.of((f"> {question}", "bold"))])
    try:
        print_lines([*reply_view.format_reply(book.ask(question)), StyledLine()])
    except InvalidInputError as trouble:
        print_to_stderr([StyledLine.of(("Error: ", "bold red"), str(trouble))])
    flush_stdout()


def _read_question() -> str | None:
    """The next line from the keyboard or a pipe; nothing at its end."""
    if not _is_interactive():
        line = sys.stdin.readline()
        return line.strip() if line else None
    import readline  # noqa: F401  (gives the prompt a history and line editing)

    try:
        return input("> ").strip()
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:
        print()
        raise


def _is_interactive() -> bool:
    """Whether questions come from a keyboard."""
    return sys.stdin.isatty()


def open_demo_book(parts: Bootstrap, source: Path, chosen: settings.Settings) -> Book:
    """The example book, indexed anew where an earlier run left no index of the same words."""
    stamp = chosen.index / DEMO_MARKER_FILE
    if not stamp.is_file():
        if asyncio.run(parts.store(chosen).published()):
            raise ConfigError(
                "This folder holds the index of another book. Give the demo a folder of its own: --index DIR"
            )
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    index_with_progress(parts, source, chosen)
    return parts.open_book(chosen)


def _find_example_book() -> Path:
    """The example book: inside the package where it was installed, else beside it in a checkout."""
    package = Path(bookbound.__file__).resolve().parent
    for root in (package, package.parent.parent):
        if (book := root / "examples" / "book").is_dir():
            return book
    raise ConfigError("The example book is missing; install bookbound again.")
