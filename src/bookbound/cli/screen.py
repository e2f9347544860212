"""Lines for people: styled and wrapped on a terminal, plain and unbroken everywhere else."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console

Piece = tuple[str, str]
# A book may hold anything; what would steer a terminal is not passed on to it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces of text, each with a style; `whole` lines (links, code) are never broken."""

    pieces: tuple[Piece, ...] = ()
    indent: int = 0
    whole: bool = False

    @classmethod
    def of(cls, *pieces: Piece | str, indent: int = 0, whole: bool = False) -> Self:
        """A line of pieces, where plain text has no style; empty ones are left out."""
        both = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
        return cls(tuple((_CONTROL.sub("", text), style) for text, style in both if text), indent, whole)

    @property
    def text(self) -> str:
        margin = " " * self.indent
        words = "".join(text for text, _ in self.pieces)
        return "\n".join(margin + line if line else "" for line in words.split("\n"))


def put(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Print lines to a stream, standard output unless another is given."""
    stream = stream or sys.stdout
    if not stream.isatty():
        stream.writelines(line.text + "\n" for line in lines)
        return
    draw(lines, console(stream))


def put_json(plain: Any) -> None:
    """Print plain values as JSON, which is UTF-8 whatever the terminal speaks."""
    text = json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))


def console(stream: TextIO) -> Console:
    """A rich console on a stream; where NO_COLOR is set it wraps, but styles nothing."""
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, highlight=False, color_system=colours)


def draw(lines: Iterable[Line], console: Console) -> None:
    """Draw lines on a rich console."""
    from rich.padding import Padding
    from rich.text import Text

    for line in lines:
        text = Text.assemble(*line.pieces)
        if line.whole:
            margin = Text("\n").join(Text(" " * line.indent) + part for part in text.split("\n", allow_blank=True))
            console.print(margin, soft_wrap=True)
        else:
            console.print(Padding(text, (0, 0, 0, line.indent)))
