"""Prints styled lines, tables, JSON and progress bars on the standard streams."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

from bookbound.domain.errors import BookboundError

if TYPE_CHECKING:
    from rich.console import Console

    from bookbound.indexing.pipeline import ProgressCallback


def format_table(rows: Sequence[tuple[str, str]]) -> Iterator[StyledLine]:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        yield StyledLine.of((name.ljust(width), "dim"), value, whole=True)


def format_bytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def format_count(number: int, noun: str) -> str:
    """How many there are of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_warning(words: str) -> StyledLine:
    """Something that whoever runs a command should know, on one line."""
    return StyledLine.of(("Warning: ", "bold yellow"), escape_line_breaks(words))


STREAM_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


class StandardOutputError(BookboundError):
    """Standard output did not take what there was to write."""


def prepare_streams() -> None:
    """A stream that was closed reads and writes nothing, and a character that a stream does not know is replaced.

    In this order the null device takes the numbers of the closed streams, and no other file can get them.
    """
    for name, mode in STREAM_MODES.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def translate_output_errors() -> Iterator[None]:
    """Within this block trouble with files is trouble with standard output; a reader that is gone stays told apart."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as trouble:
        raise StandardOutputError(f"Standard output cannot be written: {trouble.strerror}.") from trouble


def flush_stdout() -> None:
    """Bring to standard output what was put there so far."""
    with translate_output_errors():
        sys.stdout.flush()


def discard_unwritten(stream: TextIO) -> None:
    """Let go of what could not be written, so that Python does not try it once more as it exits."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()


StyledText = tuple[str, str]
# A book may hold anything; what would steer a terminal is not passed on to it.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class StyledLine:
    """Pieces of text, each with a style; `whole` lines (links, code) are never broken.

    One that is broken goes on `hang` characters further in: under its words, beside the number before them.
    """

    pieces: tuple[StyledText, ...] = ()
    indent: int = 0
    whole: bool = False
    hang: int = 0

    @classmethod
    def of(cls, *pieces: StyledText | str, indent: int = 0, whole: bool = False, hang: int = 0) -> Self:
        """A line of pieces, where plain text has no style; empty ones are left out."""
        both = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
        return cls(
            tuple((_CONTROL_CHARACTERS.sub("", text), style) for text, style in both if text), indent, whole, hang
        )

    @property
    def text(self) -> str:
        margin = " " * self.indent
        words = "".join(text for text, _ in self.pieces)
        return "\n".join(margin + line if line else "" for line in words.split("\n"))


def escape_line_breaks(text: str) -> str:
    """The text with whatever would break its line written as an escape."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def print_lines(lines: Iterable[StyledLine]) -> None:
    """Print lines on standard output."""
    lines = list(lines)
    with translate_output_errors():
        _write_lines(lines, sys.stdout)


def print_to_stderr(lines: Iterable[StyledLine]) -> None:
    """Print lines on standard error; where nobody reads that, the command goes on without."""
    with suppress(OSError):
        _write_lines(lines, sys.stderr)


def print_json(plain: Any) -> None:
    """Print plain values as JSON, which is UTF-8 whatever the terminal speaks."""
    text = json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
    with translate_output_errors():
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))


def create_console(stream: TextIO) -> Console:
    """A rich console on a stream; where NO_COLOR is set it wraps, but styles nothing."""
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, highlight=False, color_system=colours)


def draw_lines(lines: Iterable[StyledLine], console: Console) -> None:
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


def _write_lines(lines: Iterable[StyledLine], stream: TextIO) -> None:
    if stream.isatty():
        draw_lines(lines, create_console(stream))
    else:
        stream.writelines(line.text + "\n" for line in lines)


COLUMN_GAP = 2


def format_grid(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Iterator[StyledLine]:
    """A heading with the names of the columns, and the rows below it, each cell under its name."""
    head = (title, *columns[1:]) if title else tuple(columns)
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    first, *others = (_pad_cell(cell, width, i) for i, (cell, width) in enumerate(zip(head, widths, strict=True)))
    yield StyledLine.of((first, "bold"), ("".join(others), "dim"), whole=True)
    for row in rows:
        yield StyledLine.of("".join(_pad_cell(cell, widths[i], i) for i, cell in enumerate(row)).rstrip(), whole=True)


def _pad_cell(text: str, width: int, column: int) -> str:
    return " " * COLUMN_GAP * bool(column) + (text.rjust(width) if column else text.ljust(width))


INDEXING_STAGES = {"read": "Read", "split": "Split", "embed": "Embed"}


@contextmanager
def show_progress(stages: Mapping[str, str] = INDEXING_STAGES) -> Iterator[ProgressCallback]:
    """A function that takes a stage, how much of it is done, and how much there is."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        """How many are done in a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f}/s" if task.speed else "", style="cyan")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=create_console(sys.stderr), transient=True) as shown:
        tasks = {
            stage: shown.add_task(words, total=None, visible=not i) for i, (stage, words) in enumerate(stages.items())
        }

        def progress(stage: str, done: int, total: int) -> None:
            shown.update(tasks[stage], completed=done, total=total or None, visible=True)

        yield progress
