"""Index the example book and take questions."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import typer

import bookbound
from bookbound import settings
from bookbound.cli import show
from bookbound.cli.index import make
from bookbound.cli.outcome import told
from bookbound.cli.parts import IndexFolder, Parts
from bookbound.cli.screen import Line, put
from bookbound.errors import BadSetup, IndexTrouble, InvalidInput
from bookbound.library import Book

FOLDER, STAMP = Path(".bookbound/demo"), "demo-book"
QUESTIONS = (
    "What are the three parts of a strain wave gear?",
    "What is quality of service in ROS 2?",
    "Who won the 2022 football world cup?",
)


def demo(ctx: typer.Context, index: IndexFolder = None) -> None:
    """Index the example book, ask it three questions, then take yours. Ctrl-D, an empty line or quit ends it."""
    with told():
        # The demo is on this machine, whatever server a reader's own book is on.
        chosen = replace(settings.load(index=index or FOLDER), qdrant_url=None)
        with opened(ctx.obj, _source(), chosen) as book:
            put([Line.of("Book: ", (book.manifest.title, "bold"), f", {book.manifest.chunks} chunks"), Line()])
            for question in QUESTIONS:
                _answer(book, question, echo=True)
            for question in _questions():
                _answer(book, question, echo=not _typed())


def _answer(book: Book, question: str, echo: bool) -> None:
    """Print the reply; a question that breaks a rule is told, and the next one taken."""
    if echo:
        put([Line.of((f"> {question}", "bold"))])
    try:
        put([*show.reply(book.ask(question)), Line()])
    except InvalidInput as trouble:
        put([Line.of(("Error: ", "bold red"), str(trouble))], sys.stderr)
    sys.stdout.flush()


def _questions() -> Iterator[str]:
    """Questions from the keyboard until an empty line, or from a pipe until its end."""
    if not _typed():
        yield from (line.strip() for line in sys.stdin or () if line.strip())
        return
    import readline  # noqa: F401  (gives the prompt a history and line editing)

    put([Line.of(("Your questions (Ctrl-D, an empty line or quit ends):", "dim"))])
    try:
        while (words := input("> ").strip()) not in ("", "quit"):
            yield words
    except EOFError:
        print()
    except KeyboardInterrupt:
        print()
        raise


def _typed() -> bool:
    """Whether questions come from a keyboard."""
    return bool(sys.stdin) and sys.stdin.isatty()


def opened(parts: Parts, source: Path, chosen: settings.Settings) -> Book:
    """The example book, indexed unless an earlier run left an index of the same words."""
    stamp, version = chosen.index / STAMP, _version(source)
    if not stamp.is_file():
        if asyncio.run(parts.store(chosen).generations()):
            raise BadSetup(
                "This folder holds the index of another book. Give the demo a folder of its own: --index DIR"
            )
        stamp.parent.mkdir(parents=True, exist_ok=True)
    elif stamp.read_text() == version:
        try:
            return parts.open_book(chosen)
        except IndexTrouble:
            pass  # damaged, or made with another embedder: made again below
    stamp.write_text("unfinished")
    make(parts, source, chosen)
    stamp.write_text(version)
    return parts.open_book(chosen)


def _source() -> Path:
    """The example book: inside the package where it was installed, else beside it in a checkout."""
    package = Path(bookbound.__file__).resolve().parent
    for root in (package, package.parent.parent):
        if (book := root / "examples" / "book").is_dir():
            return book
    raise BadSetup("The example book is missing; install bookbound again.")


def _version(source: Path) -> str:
    """What changes when the book's files do, or Bookbound."""
    digest = hashlib.sha256(bookbound.__version__.encode())
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        digest.update(f"\0{file.relative_to(source)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
