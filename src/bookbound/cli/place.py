"""Where the index lives, for people: its name, and what to do where there is none."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from bookbound.errors import BadSetup, NoIndex
from bookbound.settings import Settings, index_option

DEMO = "demo"


def where(chosen: Settings) -> str:
    """Where the index lives."""
    return f"collection {chosen.qdrant_collection} on a Qdrant server" if chosen.qdrant_url else str(chosen.index)


def option(chosen: Settings) -> str:
    """What to add to a command so that it finds this index, with a space before it."""
    place = "" if chosen.qdrant_url else index_option(chosen.index)
    named = {"--book": chosen.book, "--edition": chosen.edition}
    return place + "".join(f" {name} {shlex.quote(value)}" for name, value in named.items() if value)


def check(chosen: Settings) -> None:
    """That the place for the index is no file."""
    if not chosen.qdrant_url and chosen.index.exists() and not chosen.index.is_dir():
        raise BadSetup(f"{chosen.index} is no folder, so it can hold no index. Name a folder: --index DIR")


@contextmanager
def indexed(chosen: Settings) -> Iterator[None]:
    """Within this block a missing index is told with its place and the command that makes it."""
    check(chosen)
    try:
        yield
    except NoIndex as trouble:
        raise NoIndex(
            f"There is no index in {where(chosen)} yet. Index a book first: bookbound index SOURCE{option(chosen)}"
            + _of_the_demo(chosen)
        ) from trouble


def named(words: str) -> Path:
    """The path that an argument names; an empty one, as an unset variable leaves it, names none."""
    if not words.strip():
        raise typer.BadParameter("It is empty. Name a path; the working directory is .")
    return Path(words)


def _of_the_demo(chosen: Settings) -> str:
    demo = chosen.index / DEMO
    made = not chosen.qdrant_url and (demo / "current").is_file()
    return f" Or ask the book of the demo: --index {shlex.quote(str(demo))}" if made else ""
