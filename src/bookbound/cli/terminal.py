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
from typing import TYPE_CHECKING, Any, Literal, TextIO

from bookbound.domain.errors import BookboundError

if TYPE_CHECKING:
    from rich.console import Console

    from bookbound.indexing.pipeline import ProgressCallback

StyledText = tuple[str, str]
COLUMN_GAP = "  "
# A book may contain anything: control characters, also those that reverse the letters after them, never reach the
# terminal.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class StandardOutputError(BookboundError):
    """Standard output could not be written."""


@dataclass(frozen=True, slots=True)
class StyledLine:
    """Pieces of text with a style each; links and code are not wrapped, and wrapped text gets a hanging indent."""

    pieces: tuple[StyledText, ...] = ()
    indent: int = 0
    no_wrap: bool = False
    hanging_indent: int = 0

    @property
    def text(self) -> str:
        margin = " " * self.indent
        text = "".join(text for text, _ in self.pieces)
        return "\n".join(margin + line if line else "" for line in text.split("\n"))


BLANK_LINE = StyledLine()


def styled(*pieces: StyledText | str, indent: int = 0, no_wrap: bool = False, hanging_indent: int = 0) -> StyledLine:
    """A line of pieces; plain text has no style, and empty pieces are left out."""
    pairs = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
    kept = tuple((_CONTROL_CHARACTERS.sub("", text), style) for text, style in pairs if text)
    return StyledLine(kept, indent, no_wrap, hanging_indent)


def escape_line_breaks(text: str) -> str:
    """The text with everything that is not printable written as an escape."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def format_bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_table(rows: Sequence[tuple[str, str]]) -> Iterator[StyledLine]:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in rows) + len(COLUMN_GAP)
    for name, value in rows:
        yield styled((name.ljust(width), "dim"), value, no_wrap=True)


def format_grid(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Iterator[StyledLine]:
    """A header and rows; the first column is aligned to the left, all others to the right."""
    header = (title or columns[0], *columns[1:])
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def pad(row: Sequence[str]) -> list[str]:
        numbers = (COLUMN_GAP + cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return [row[0].ljust(widths[0]), *numbers]

    first, *others = pad(header)
    yield styled((first, "bold"), ("".join(others), "dim"), no_wrap=True)
    for row in rows:
        yield styled("".join(pad(row)).rstrip(), no_wrap=True)


def print_lines(lines: Iterable[StyledLine]) -> None:
    """Print lines on standard output."""
    lines = list(lines)
    with translate_output_errors():
        _write_lines(lines, sys.stdout)


def print_line(*pieces: StyledText | str, no_wrap: bool = False) -> None:
    """Print one line on standard output."""
    print_lines([styled(*pieces, no_wrap=no_wrap)])


def print_to_stderr(*pieces: StyledText | str) -> None:
    """Print one line on standard error; if that fails, the command continues."""
    with suppress(OSError):
        _write_lines([styled(*pieces)], sys.stderr)


def print_warning(message: str) -> None:
    """Print a warning on one line of standard error."""
    print_to_stderr(("Warning: ", "bold yellow"), escape_line_breaks(message))


def print_json(value: Any) -> None:
    """Print JSON on standard output, in UTF-8 whatever the encoding of the terminal is."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    # As escapes they stay valid JSON and cannot reach a terminal.
    text = _CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    with translate_output_errors():
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))


def print_result(value: Any, lines: Iterable[StyledLine], as_json: bool) -> None:
    """Print a result as JSON for scripts, or as lines for people."""
    print_json(value) if as_json else print_lines(lines)


def prepare_streams() -> None:
    """Replace closed streams by the null device, and characters that a stream cannot encode by a mark.

    In this order the null device takes the numbers of the closed streams, and no other file can get them.
    """
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def translate_output_errors() -> Iterator[None]:
    """Report an `OSError` inside as an error of standard output, except a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(f"Standard output cannot be written: {error.strerror}.") from error


def flush_stdout() -> None:
    with translate_output_errors():
        sys.stdout.flush()


def discard_unwritten(stream: TextIO) -> None:
    """Drop what could not be written, so that Python does not try it again at exit."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()


def create_console(stream: TextIO) -> Console:
    """A rich console on a stream; with NO_COLOR it wraps but has no styles."""
    from rich.console import Console

    color_system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, highlight=False, color_system=color_system)


def draw_lines(lines: Iterable[StyledLine], console: Console) -> None:
    """Draw lines on a rich console."""
    from rich.text import Text

    for line in lines:
        text = Text.assemble(*line.pieces)
        lead, rest = text[: line.hanging_indent], text[line.hanging_indent :]
        width = max(1, console.width - line.indent - line.hanging_indent)
        parts = rest.split("\n", allow_blank=True) if line.no_wrap else rest.wrap(console, width)
        for number, part in enumerate(parts):
            if not line.no_wrap:
                part.rstrip()
            start = Text(" " * line.hanging_indent) if number else lead
            console.print(Text(" " * line.indent) + start + part, soft_wrap=True)


def _write_lines(lines: Iterable[StyledLine], stream: TextIO) -> None:
    if stream.isatty():
        draw_lines(lines, create_console(stream))
    else:
        stream.writelines(line.text + "\n" for line in lines)


@contextmanager
def show_progress(stages: Mapping[str, str]) -> Iterator[ProgressCallback]:
    """A function that takes a stage, how much of it is done, and how much there is; the bars are on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f}/s" if task.speed else "", style="cyan")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(""),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=create_console(sys.stderr), transient=True) as bars:
        tasks = {
            stage: bars.add_task(label, total=None, visible=not i) for i, (stage, label) in enumerate(stages.items())
        }

        def progress(stage: str, done: int, total: int) -> None:
            bars.update(tasks[stage], completed=done, total=total or None, visible=True)

        yield progress
