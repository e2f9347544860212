"""Lines for people: styled and wrapped on a terminal, plain and unbroken everywhere else."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

from bookbound.cli.streams import writing

if TYPE_CHECKING:
    from rich.console import Console

Piece = tuple[str, str]
# A book may hold anything; what would steer a terminal is not passed on to it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces of text, each with a style; `whole` lines (links, code) are never broken.

    One that is broken goes on `hang` characters further in: under its words, beside the number before them.
    """

    pieces: tuple[Piece, ...] = ()
    indent: int = 0
    whole: bool = False
    hang: int = 0

    @classmethod
    def of(cls, *pieces: Piece | str, indent: int = 0, whole: bool = False, hang: int = 0) -> Self:
        """A line of pieces, where plain text has no style; empty ones are left out."""
        both = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
        return cls(tuple((_CONTROL.sub("", text), style) for text, style in both if text), indent, whole, hang)

    @property
    def text(self) -> str:
        margin = " " * self.indent
        words = "".join(text for text, _ in self.pieces)
        return "\n".join(margin + line if line else "" for line in words.split("\n"))


def one_line(text: str) -> str:
    """The text with whatever would break its line written as an escape."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def put(lines: Iterable[Line]) -> None:
    """Print lines on standard output."""
    lines = list(lines)
    with writing():
        _put(lines, sys.stdout)


def note(lines: Iterable[Line]) -> None:
    """Print lines on standard error; where nobody reads that, the command goes on without."""
    with suppress(OSError):
        _put(lines, sys.stderr)


def put_json(plain: Any) -> None:
    """Print plain values as JSON, which is UTF-8 whatever the terminal speaks."""
    text = json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
    with writing():
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))


def console(stream: TextIO) -> Console:
    """A rich console on a stream; where NO_COLOR is set it wraps, but styles nothing."""
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, highlight=False, color_system=colours)


def draw(lines: Iterable[Line], console: Console) -> None:
    """Draw lines on a rich console."""
    from rich.text import Text

    for line in lines:
        text = Text.assemble(*line.pieces)
        lead, words = text[: line.hang], text[line.hang :]
        room = max(1, console.width - line.indent - line.hang)
        parts = words.split("\n", allow_blank=True) if line.whole else words.wrap(console, room)
        for number, part in enumerate(parts):
            if not line.whole:
                part.rstrip()
            beside = Text(" " * line.hang) if number else lead
            console.print(Text(" " * line.indent) + beside + part, soft_wrap=True)


def _put(lines: Iterable[Line], stream: TextIO) -> None:
    if stream.isatty():
        draw(lines, console(stream))
    else:
        stream.writelines(line.text + "\n" for line in lines)
