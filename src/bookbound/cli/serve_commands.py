"""Implements the commands `serve` and `demo`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import bookbound
from bookbound.cli.book_access import DEMO_FOLDER_NAME, Bootstrap, open_book
from bookbound.cli.chat_command import ChatSession, read_line
from bookbound.cli.exit_codes import exit_on_error
from bookbound.cli.index_command import index_with_progress
from bookbound.cli.options import BookOption, EditionOption, IndexOption, parse_path
from bookbound.cli.terminal import BLANK_LINE, StyledLine, flush_stdout, format_count, print_line, print_lines, styled
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import ConfigError
from bookbound.library import Book
from bookbound.settings import Settings, load_settings, warn_unknown_variables

MAX_LISTED_BOOKS = 10
DEMO_FOLDER, DEMO_MARKER_FILE = Settings().index / DEMO_FOLDER_NAME, "demo-book"
DEMO_QUESTIONS = (
    "What are the three parts of a strain wave gear?",
    "What is a service in ROS 2?",
    "Who won the 2022 football world cup?",
)
SourceOption = Annotated[
    Path | None, typer.Option("--source", metavar="SOURCE", parser=parse_path, help="Index this book first.")
]
HostOption = Annotated[str, typer.Option("--host", metavar="HOST", help="Address to listen on; 0.0.0.0 for all.")]
PortOption = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port; 0 takes a free one.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", metavar="NUMBER", min=1, max=64, help="How many processes answer questions.")
]
ServeOption = Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the book over HTTP as well.")]


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
    """Serve the book over HTTP with every contract, until Ctrl-C."""
    # Before it serves there is nothing to finish, and imported code could swallow the exception of a clean exit.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from bookbound.server import startup_checks, uvicorn_server
    from bookbound.server.telemetry.log_format import configure_logging, format_message

    with exit_on_error(), ExitStack() as stack:
        settings = load_settings(index=index, book=book, edition=edition, source=str(source) if source else None)
        logs_json = settings.log_format == "json"
        if logs_json:
            configure_logging("json")
        warn_unknown_variables()
        startup_checks.check_server_settings(settings, host)
        socket = stack.enter_context(uvicorn_server.bind_socket(host, port))
        if source:
            index_with_progress(ctx.obj, source, settings)
        title = _check_book(ctx.obj, settings)
        books = asyncio.run(ctx.obj.list_books(settings))
        ctx.obj.check_server_services(settings, workers)
        url = uvicorn_server.socket_url(socket)
        if logs_json:
            sys.stdout.write(format_message("serving", book=title, address=url))
        else:
            headers = find_key_headers(settings)
            print_lines([*format_invitation(title, url, headers=headers), *format_book_paths(books)])
        flush_stdout()
        uvicorn_server.serve(socket, workers, settings)


def _check_book(bootstrap: Bootstrap, settings: Settings) -> str:
    """Opens the book, so that an error shows here and not in a worker, and returns its title."""
    with open_book(bootstrap, settings) as opened:
        return opened.manifest.title


def find_key_headers(settings: Settings) -> list[str]:
    """The headers that a question needs: if keys are required, a key and an origin that it works from."""
    from bookbound.server import api_keys

    if settings.access_mode == "public":
        return []
    valid = api_keys.load_keys(api_keys.key_file_path(settings)).valid
    origins = next((key.origins for key in valid if key.kind is api_keys.KeyKind.PUBLISHABLE), ())
    bound = [f"Origin: {origin}" for origin in origins[:1] if origin != api_keys.ANY_ORIGIN]
    return ["X-API-Key: KEY", *bound]


def format_invitation(
    title: str, url: str, question: str = "What is this book about?", headers: Sequence[str] = ()
) -> list[StyledLine]:
    """The address, and a command to try with these headers; the reader puts a key in the place of KEY.

    A browser sends no key, so the page at the address is mentioned only if none is needed.
    """
    sent = " ".join(f"-H {shlex.quote(header)}" for header in (*headers, "Content-Type: application/json"))
    body = shlex.quote(json.dumps({"question": question}))
    note = " (Ctrl-C ends)" if headers else " (open it in a browser; Ctrl-C ends)"
    command = f"curl -s {shlex.quote(f'{url}/v1/answers')} {sent} -d {body}"
    return [
        styled("Serving ", (title, "bold"), " at ", (url, "bold cyan"), note),
        styled("Try: ", (command, "dim"), no_wrap=True),
    ]


def format_book_paths(books: list[BookRef]) -> list[StyledLine]:
    """The paths of the books that have a name."""
    paths = [f"/books/{book}" for book in books if book != UNNAMED_BOOK]
    more = [f"and {len(paths) - MAX_LISTED_BOOKS} more"] if len(paths) > MAX_LISTED_BOOKS else []
    shown = ", ".join(paths[:MAX_LISTED_BOOKS] + more)
    return [styled("Books: ", (shown, "dim"), no_wrap=True)] if paths else []


def demo(ctx: typer.Context, index: IndexOption = None, serve: ServeOption = True, port: PortOption = 0) -> None:
    """Index the example book, ask it three questions, serve it, and answer your questions.

    Ctrl-D, an empty line or quit ends it. After the last line of a pipe or file it keeps serving until Ctrl-C.
    """
    with exit_on_error(), ExitStack() as stack:
        # The demo uses a local folder even if the settings name a Qdrant server, and it logs no questions.
        settings = replace(load_settings(index=index or DEMO_FOLDER), qdrant_url=None, query_log="off")
        book = stack.enter_context(open_demo_book(ctx.obj, _find_example_book(), settings))
        print_line("Book: ", (book.manifest.title, "bold"), f", {format_count(book.manifest.chunks, 'chunk')}")
        print_lines([BLANK_LINE])
        is_interactive, session = sys.stdin.isatty(), ChatSession(book)
        for question in DEMO_QUESTIONS:
            print_line((f"> {question}", "bold"))
            session.ask(question)
        if serve:
            stack.enter_context(_serve_in_background(book, settings, port))
        if is_interactive:
            print_line(("Your questions (Ctrl-D, an empty line or quit ends):", "dim"))
        while (text := read_line(is_interactive)) not in (None, "", "quit"):
            if not is_interactive:
                print_line((f"> {text}", "bold"))
            session.ask(text or "")
        if serve and text is None and not is_interactive:
            threading.Event().wait()


@contextmanager
def _serve_in_background(book: Book, settings: Settings, port: int) -> Iterator[None]:
    from bookbound.server import uvicorn_server

    socket = uvicorn_server.bind_socket("127.0.0.1", port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with uvicorn_server.serve_in_thread(socket, settings):
        url = uvicorn_server.socket_url(socket)
        print_lines([*format_invitation(book.manifest.title, url, DEMO_QUESTIONS[0]), BLANK_LINE])
        flush_stdout()
        yield


def open_demo_book(bootstrap: Bootstrap, source: Path, settings: Settings) -> Book:
    """Index the example book if it changed since the last demo, and open it."""
    marker = settings.index / DEMO_MARKER_FILE
    if not marker.is_file():
        if asyncio.run(bootstrap.build_store(settings).published_generation()):
            raise ConfigError(
                "This folder has the index of another book. Name another folder for the demo: --index FOLDER"
            )
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    index_with_progress(bootstrap, source, settings)
    return bootstrap.open_book(settings)


def _find_example_book() -> Path:
    """The example book in an installed package, or in a checkout."""
    package = Path(bookbound.__file__).resolve().parent
    for root in (package, package.parent.parent):
        if (book := root / "examples" / "book").is_dir():
            return book
    raise ConfigError("The example book is missing. Install bookbound again.")
