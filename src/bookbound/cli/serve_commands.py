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
from bookbound.cli.book_access import DEMO_FOLDER_NAME, Bootstrap, explain_missing_index, open_book
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
HostOption = Annotated[str, typer.Option("--host", metavar="HOST", help="Address to listen on; 0.0.0.0 for all.")]
PortOption = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port; 0 takes a free one.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", metavar="NUMBER", min=1, max=64, help="How many processes answer questions.")
]
DEFAULT_LISTENER = "127.0.0.1", 8000, 1


def serve(
    ctx: typer.Context,
    source: Annotated[
        Path | None, typer.Option("--source", metavar="SOURCE", parser=parse_path, help="Index this book first.")
    ] = None,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    host: HostOption = DEFAULT_LISTENER[0],
    port: PortOption = DEFAULT_LISTENER[1],
    workers: WorkersOption = DEFAULT_LISTENER[2],
) -> None:
    """Serve the book over HTTP with every contract, until Ctrl-C."""
    # Before it serves there is nothing to finish, and imported code could swallow the exception of a clean exit.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with exit_on_error():
        settings = load_settings(index=index, book=book, edition=edition, source=str(source) if source else None)
        _serve(ctx.obj, settings, (host, port, workers), source)


def mcp(
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Serve over streamable HTTP, at /mcp.")] = False,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    host: HostOption = DEFAULT_LISTENER[0],
    port: PortOption = DEFAULT_LISTENER[1],
    workers: WorkersOption = DEFAULT_LISTENER[2],
) -> None:
    """Serve the book to MCP clients, such as editors and assistants, over standard input and output.

    With --http, it serves everything that serve does, and MCP at /mcp with the same keys and rate limits.
    """
    # A client ends it with a signal if it does not end by itself; reading standard input cannot be interrupted.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: os._exit(0))
    with exit_on_error(index=index):
        settings, listener = load_settings(index=index, book=book, edition=edition), (host, port, workers)
        ctx.obj.require_mcp()
        if http:
            _serve(ctx.obj, settings, listener, serves_mcp=True)
        elif listener != DEFAULT_LISTENER:
            raise ConfigError("The options --host, --port and --workers need --http.")
        else:
            warn_unknown_variables()
            with explain_missing_index(settings):
                asyncio.run(ctx.obj.serve_mcp_stdio(settings))


def _serve(
    bootstrap: Bootstrap,
    settings: Settings,
    listener: tuple[str, int, int],
    source: Path | None = None,
    *,
    serves_mcp: bool = False,
) -> None:
    """Serve on a host and port with some workers."""
    from bookbound.server import startup_checks, uvicorn_server
    from bookbound.server.telemetry.log_format import configure_logging, format_message

    host, port, workers = listener
    logs_json = settings.log_format == "json"
    if logs_json:
        configure_logging("json")
    warn_unknown_variables()
    startup_checks.check_server_settings(settings, host)
    with uvicorn_server.bind_socket(host, port) as socket:
        if source:
            index_with_progress(bootstrap, source, settings)
        title = _check_book(bootstrap, settings)
        books = asyncio.run(bootstrap.list_books(settings))
        bootstrap.check_server_services(settings, workers)
        url = uvicorn_server.socket_url(socket)
        if logs_json:
            sys.stdout.write(format_message("serving", book=title, address=url))
        else:
            headers = find_key_headers(settings)
            mcp_lines = [styled("MCP: ", (f"{url}/mcp", "bold cyan"), no_wrap=True)] if serves_mcp else []
            print_lines([*format_invitation(title, url, headers=headers), *mcp_lines, *format_book_paths(books)])
        flush_stdout()
        factory = uvicorn_server.MCP_APP_FACTORY if serves_mcp else uvicorn_server.APP_FACTORY
        uvicorn_server.serve(socket, workers, settings, factory)


def _check_book(bootstrap: Bootstrap, settings: Settings) -> str:
    """Opens the book, so that an error shows here and not in a worker, and returns its title."""
    from bookbound.models.onnx import return_free_memory

    with open_book(bootstrap, settings) as opened:
        title = opened.manifest.title
    del opened
    return_free_memory()  # the supervisor of several workers needs no networks
    return title


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


def demo(
    ctx: typer.Context,
    index: IndexOption = None,
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the book over HTTP as well.")] = True,
    port: PortOption = 0,
) -> None:
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
