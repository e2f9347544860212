"""Converts MyST directives, their options and their tables to plain Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bookbound.sources.includes import Substitution
from bookbound.sources.page_builder import CharSpan
from bookbound.sources.rst.shared_markup import (
    ADMONITION_DIRECTIVES,
    CODE_DIRECTIVES,
    HIDDEN_DIRECTIVES,
    MAX_TABLE_CELLS,
    TITLED_DIRECTIVES,
    VERSION_DIRECTIVES,
    applies_to_html,
    format_version_note,
)
from bookbound.sources.safe_config import parse_yaml

_COLON_OPTION = re.compile(r"[ \t>]*:(?P<name>[\w-]+):(?:[ \t]+(?P<value>\S[^\n]*))?")
_YAML_OPTIONS = re.compile(r"[ \t>]*---[ \t]*\n(?P<body>(?:(?![ \t>]*---)[^\n]*+\n)*+)[ \t>]*---[ \t]*(?:\n|\Z)")
_VISIBLE_YAML_OPTION = re.compile(r"^[ \t>]*caption:[ \t]+(?P<value>[^\s\"'|>&*!{\[][^\n]*?)[ \t]*$", re.MULTILINE)
_LOADED_DIRECTIVES = frozenset(("toctree", "eval-rst", "include", "literalinclude"))
_UNREAD_DIRECTIVES = frozenset("raw autosummary automodule autoclass autofunction currentmodule".split())
_ARGUMENT_DIRECTIVES = frozenset(
    "rubric centered table list-table csv-table option cmdoption envvar confval describe object".split()
)
_MARKDOWN_CHARACTERS = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_LIST_TABLE_ROW = re.compile(r"[ \t]*[*+-](?:[ \t]+|\Z)(?P<cell>[*+-](?:[ \t]+|\Z))")
_LIST_TABLE_CELL = re.compile(r"[ \t]+[*+-](?:[ \t]+|\Z)")


class DirectiveOptions(NamedTuple):
    """The options of a directive, the spans of those that are shown, and the start of its body."""

    values: dict[str, Any]
    shown: list[CharSpan]
    body: int

    def text(self, *names: str) -> str:
        """Return the first of these options that is not empty."""
        return next((str(self.values[name]) for name in names if self.values.get(name)), "")


def parse_options(source: str, at: int) -> DirectiveOptions:
    """Parse the options at `at`: YAML between two lines of hyphens, or lines that begin with `:name:`."""
    if match := _YAML_OPTIONS.match(source, at):
        values = parse_yaml(match["body"])
        shown = [option.span("value") for option in _VISIBLE_YAML_OPTION.finditer(source, *match.span("body"))]
        return DirectiveOptions(values if isinstance(values, dict) else {}, shown, match.end())
    options = DirectiveOptions({}, [], at)
    while at < len(source) and (option := _COLON_OPTION.fullmatch(source, at, find_line_end(source, at))):
        options.values[option["name"]] = option["value"] or ""
        if option["name"] == "caption" and option["value"]:
            options.shown.append(option.span("value"))
        at = min(option.end() + 1, len(source))
    return options._replace(body=at)


def find_line_end(source: str, at: int) -> int:
    end = source.find("\n", at)
    return end if end >= 0 else len(source)


class DirectiveMarkdown(NamedTuple):
    """The Markdown that opens and closes a directive.

    `is_verbatim` means that the body is not parsed, `shows_argument` that the text after the name is shown without its
    first `skipped` characters.
    """

    opening: str = ""
    closing: str = ""
    is_verbatim: bool = False
    shows_argument: bool = False
    is_visible: bool = True
    skipped: int = 0


_HIDDEN = DirectiveMarkdown(is_verbatim=True, is_visible=False)


def convert_directive(name: str, fence_length: int, argument: str) -> DirectiveMarkdown:
    """Convert the opening and the end of a directive; a fence of plain code has no name and stays as it is."""
    colons, ticks = ":" * fence_length, "`" * fence_length
    is_hidden = name in HIDDEN_DIRECTIVES or name in _UNREAD_DIRECTIVES or name in _LOADED_DIRECTIVES
    if is_hidden or (name == "only" and not applies_to_html(argument)):
        return _HIDDEN
    if name in VERSION_DIRECTIVES:
        version = argument.partition(" ")[0]
        opening = f"{colons}admonition {format_version_note(name, version, True)}\n\n"
        return DirectiveMarkdown(opening, colons, shows_argument=True, skipped=len(version))
    if name in CODE_DIRECTIVES:
        return DirectiveMarkdown(f"{ticks}{argument.partition(' ')[0]}\n", ticks, is_verbatim=True)
    if not name:
        return DirectiveMarkdown(is_verbatim=True)
    if name == "math":
        return DirectiveMarkdown("$$\n", "$$", is_verbatim=True)
    if name in ADMONITION_DIRECTIVES or name == "todo":
        title = "admonition See also" if name == "seealso" else name
        return DirectiveMarkdown(f"{colons}{title}\n", colons, shows_argument=True)
    if name in TITLED_DIRECTIVES:
        return DirectiveMarkdown(f"{colons}{name} ", colons, shows_argument=True)
    return DirectiveMarkdown(shows_argument=name in _ARGUMENT_DIRECTIVES or ":" in name)


def escape_markdown(text: str) -> str:
    return _MARKDOWN_CHARACTERS.sub(r"\\\1", text)


def fence_code(text: str, language: str = "") -> str:
    """Make a code block whose fence is longer than any in the text."""
    ticks = "`" * max((len(run) + 1 for run in re.findall(r"`{3,}", text)), default=3)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def convert_list_table(source: str, start: int, end: int) -> list[Substitution]:
    """Replace the markers of nested lists with those of a table; return nothing if this is no such list."""
    substitutions: list[Substitution] = []
    done = at = start
    rows = cells = 0
    for line in source[start:end].splitlines(keepends=True):
        row, cell = _LIST_TABLE_ROW.match(line.rstrip("\n")), _LIST_TABLE_CELL.match(line.rstrip("\n"))
        if row:
            row_end = _make_header_separator(cells) if rows == 1 else " |\n" if rows else ""
            substitutions.append(Substitution(done, at + row.end(), f"{row_end}| "))
            rows, cells = rows + 1, cells if rows else 1
        elif cell and rows:
            substitutions.append(Substitution(done, at + cell.end(), " | "))
            cells += rows == 1
        elif line.strip() and not rows:
            return []
        elif line.strip():
            substitutions.append(Substitution(done, at + len(line) - len(line.lstrip()), " "))
        if line.strip():
            done = at + len(line.rstrip())
        at += len(line)
    if not rows:
        return []
    return [*substitutions, Substitution(done, end, _make_header_separator(cells) if rows == 1 else " |\n")]


def _make_header_separator(cells: int) -> str:
    return f" |\n|{'---|' * cells}\n"


def convert_csv_table(text: str, options: dict[str, Any]) -> str:
    """Convert comma-separated values, with the header that the options give, to a Markdown table."""
    header = str(options.get("header") or "")
    rows = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in _parse_csv_rows(header, text)]
    width = max(map(len, rows), default=0)
    if width * len(rows) > MAX_TABLE_CELLS:
        return f"{fence_code(text)}\n"
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |\n" for row in rows]
    return "".join([*lines[:1], f"|{'---|' * width}\n", *lines[1:]]) if lines else ""


def _parse_csv_rows(*texts: str) -> Iterator[list[str]]:
    for text in texts:
        try:
            yield from (row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row)
        except csv.Error:  # a cell that is too long, or a forbidden character
            yield from ([line] for line in text.splitlines() if line.strip())
