"""Index the example book and take questions."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import bookbound
from bookbound import settings
from bookbound.cli import show
from bookbound.cli.index import make
from bookbound.cli.outcome import told
from bookbound.cli.parts import IndexFolder, Parts
from bookbound.cli.place import DEMO
from bookbound.cli.screen import Line, note, put
from bookbound.cli.serve import Port, hand_on, invitation
from bookbound.cli.streams import flush
from bookbound.errors import BadSetup, InvalidInput
from bookbound.library import Book

Serve = Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the book over HTTP as well.")]
FOLDER, STAMP = settings.Settings().index / DEMO, "demo-book"
END = ("", "quit")
QUESTIONS = (
    "What are the three parts of a strain wave gear?",
    "What is a service in ROS 2?",
    "Who won the 2022 football world cup?",
)


def demo(ctx: typer.Context, index: IndexFolder = None, serve: Serve = True, port: Port = 0) -> None:
    """Index the example book, ask it three questions, serve it, and take your questions.

    Ctrl-D, an empty line or quit ends it. After the last line of a pipe or file it goes on serving until Ctrl-C.
    """
    with told(), ExitStack() as stack:
        # The demo is on this machine, whatever server a reader's own book is on, and its questions are in no log.
        chosen = replace(settings.load(index=index or FOLDER), qdrant_url=None, log="off")
        book = stack.enter_context(opened(ctx.obj, _source(), chosen))
        put(
            [
                Line.of("Book: ", (book.manifest.title, "bold"), f", {show.counted(book.manifest.chunks, 'chunk')}"),
                Line(),
            ]
        )
        for question in QUESTIONS:
            _answer(book, question, echo=True)
        if serve:
            stack.enter_context(_served(book, chosen, port))
        if _typed():
            put([Line.of(("Your questions (Ctrl-D, an empty line or quit ends):", "dim"))])
        while (words := _line()) is not None and words not in END:
            _answer(book, words, echo=not _typed())
        if serve and words is None and not _typed():
            threading.Event().wait()


@contextmanager
def _served(book: Book, chosen: settings.Settings, port: int) -> Iterator[None]:
    """The book is served beside the questions from the keyboard."""
    from bookbound.serve import server

    taken = server.bound("127.0.0.1", port)
    hand_on(chosen)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server.serving(taken):
        put([*invitation(book.manifest.title, server.address(taken), QUESTIONS[0]), Line()])
        flush()
        yield


def _answer(book: Book, question: str, echo: bool) -> None:
    """Print the reply; a question that breaks a rule is told, and the next one taken."""
    if echo:
        put([Line.of((f"> {question}", "bold"))])
    try:
        put([*show.reply(book.ask(question)), Line()])
    except InvalidInput as trouble:
        note([Line.of(("Error: ", "bold red"), str(trouble))])
    flush()


def _line() -> str | None:
    """The next line from the keyboard or a pipe; nothing at its end."""
    if not _typed():
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


def _typed() -> bool:
    """Whether questions come from a keyboard."""
    return sys.stdin.isatty()


def opened(parts: Parts, source: Path, chosen: settings.Settings) -> Book:
    """The example book, indexed anew where an earlier run left no index of the same words."""
    stamp = chosen.index / STAMP
    if not stamp.is_file():
        if asyncio.run(parts.store(chosen).published()):
            raise BadSetup(
                "This folder holds the index of another book. Give the demo a folder of its own: --index DIR"
            )
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    make(parts, source, chosen)
    return parts.open_book(chosen)


def _source() -> Path:
    """The example book: inside the package where it was installed, else beside it in a checkout."""
    package = Path(bookbound.__file__).resolve().parent
    for root in (package, package.parent.parent):
        if (book := root / "examples" / "book").is_dir():
            return book
    raise BadSetup("The example book is missing; install bookbound again.")
