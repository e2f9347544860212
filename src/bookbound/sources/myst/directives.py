"""Converts MyST directives, their options and their tables to plain Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bookbound.sources.includes import Substitution
from bookbound.sources.page_builder import CharSpan
from bookbound.sources.rst.shared_directives import VERSION_DIRECTIVES, applies_to_html, format_version_note
from bookbound.sources.safe_config import parse_yaml

_COLON_OPTION = re.compile(r"[ \t>]*:(?P<name>[\w-]+):(?:[ \t]+(?P<value>\S[^\n]*))?")
_YAML_OPTIONS = re.compile(r"[ \t>]*---[ \t]*\n(?P<body>(?:(?![ \t>]*---)[^\n]*+\n)*+)[ \t>]*---[ \t]*(?:\n|\Z)")
_VISIBLE_YAML_OPTION = re.compile(
    r"^[ \t>]*(?:alt|caption):[ \t]+(?P<value>[^\s\"'|>&*!{\[][^\n]*?)[ \t]*$", re.MULTILINE
)
_VISIBLE_OPTIONS = ("alt", "caption")


class DirectiveOptions(NamedTuple):
    """The options of a directive, where those that are shown stand, and where its body begins."""

    values: dict[str, Any]
    shown: list[CharSpan]
    body: int

    def text(self, *names: str) -> str:
        """What the first of some options that is given says."""
        return next((str(self.values[name]) for name in names if self.values.get(name)), "")


def parse_options(source: str, at: int) -> DirectiveOptions:
    """The options from `at` on: fields between two lines of hyphens, or lines that begin with a name in colons."""
    if fields := _YAML_OPTIONS.match(source, at):
        given = parse_yaml(fields["body"])
        shown = [found.span("value") for found in _VISIBLE_YAML_OPTION.finditer(source, *fields.span("body"))]
        return DirectiveOptions(given if isinstance(given, dict) else {}, shown, fields.end())
    values: dict[str, Any] = {}
    shown = []
    while option := _COLON_OPTION.fullmatch(source, at, _find_line_end(source, at)) if at < len(source) else None:
        values[option["name"]] = option["value"] or ""
        shown += [option.span("value")] if option["name"] in _VISIBLE_OPTIONS and option["value"] else []
        at = min(_find_line_end(source, at) + 1, len(source))
    return DirectiveOptions(values, shown, at)


def _find_line_end(source: str, at: int) -> int:
    end = source.find("\n", at)
    return end if end >= 0 else len(source)


_CODE_DIRECTIVES = frozenset(
    "code code-block code-cell sourcecode prompt testcode doctest jupyter-execute ipython".split()
)
_HIDDEN_DIRECTIVES = frozenset(
    "raw index meta tableofcontents contents bibliography mermaid graphviz glue video youtube iframe embed"
    " autosummary automodule autoclass autofunction highlight currentmodule".split()
)
_ADMONITION_DIRECTIVES = frozenset(
    "note tip warning attention caution danger error hint important seealso todo".split()
)
_TITLED_DIRECTIVES = frozenset(
    "admonition dropdown topic sidebar card tab-item tab group-tab margin grid-item-card details exercise solution"
    " definition theorem proof lemma example proposition remark".split()
)
_ARGUMENT_DIRECTIVES = frozenset(
    "rubric centered table list-table csv-table option cmdoption envvar confval describe object".split()
)
_MARKDOWN_CHARACTERS = re.compile(r"([\\`*_{}\[\]<>#|~$])")


class DirectiveMarkdown(NamedTuple):
    """The Markdown that opens and closes what a directive shows.

    `verbatim` says that it shows its body as it is written, `argument` that it shows the words after its name, but for
    the first `skipped` characters of them.
    """

    opening: str = ""
    closing: str = ""
    verbatim: bool = False
    argument: bool = False
    seen: bool = True
    skipped: int = 0


def convert_directive(name: str, marks: int, rest: str) -> DirectiveMarkdown:
    """What a directive of this name comes to; `marks` is how long its fence is, `rest` what follows its name."""
    colons, ticks = ":" * marks, "`" * marks
    if name in _HIDDEN_DIRECTIVES or (name == "only" and not applies_to_html(rest)):
        return DirectiveMarkdown(verbatim=True, seen=False)
    if name in VERSION_DIRECTIVES:
        version = rest.partition(" ")[0]
        return DirectiveMarkdown(
            f"{colons}admonition {format_version_note(name, version, True)}\n\n",
            colons,
            argument=True,
            skipped=len(version),
        )
    if name in _CODE_DIRECTIVES:
        return DirectiveMarkdown(f"{ticks}{rest.partition(' ')[0]}\n", ticks, verbatim=True)
    if name == "math":
        return DirectiveMarkdown("$$\n", "$$", verbatim=True)
    if name in _ADMONITION_DIRECTIVES:
        shown = "admonition See also" if name == "seealso" else name
        return DirectiveMarkdown(f"{colons}{shown}\n", colons, argument=True)
    if name in _TITLED_DIRECTIVES:
        return DirectiveMarkdown(f"{colons}{name} ", colons, argument=True)
    return DirectiveMarkdown(argument=name in _ARGUMENT_DIRECTIVES or ":" in name)


def escape_markdown(text: str) -> str:
    """Words that Markdown shows as they are."""
    return _MARKDOWN_CHARACTERS.sub(r"\\\1", text)


def fence_code(text: str) -> str:
    """A block of Markdown that shows a text as it is written."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}\n"


_LIST_TABLE_ROW = re.compile(r"[ \t]*[*+-](?:[ \t]+|\Z)(?P<cell>[*+-](?:[ \t]+|\Z))")
_MAX_CSV_CELLS = 50_000
_LIST_TABLE_CELL = re.compile(r"[ \t]+[*+-](?:[ \t]+|\Z)")


def convert_list_table(source: str, start: int, end: int) -> list[Substitution]:
    """What takes the place of the marks of a list of lists; nothing where this is none."""
    swaps: list[Substitution] = []
    done, at, rows, cells = start, start, 0, 0
    for line in source[start:end].splitlines(keepends=True):
        row, cell = _LIST_TABLE_ROW.match(line.rstrip("\n")), _LIST_TABLE_CELL.match(line.rstrip("\n"))
        if row:
            edge = _make_header_separator(cells) if rows == 1 else " |\n"
            swaps.append(Substitution(done, at + row.end(), f"{edge * bool(rows)}| "))
            rows, cells = rows + 1, 1 if rows == 0 else cells
        elif cell and rows:
            swaps.append(Substitution(done, at + cell.end(), " | "))
            cells += rows == 1
        elif line.strip() and not rows:
            return []
        elif line.strip():
            swaps.append(Substitution(done, at + len(line) - len(line.lstrip()), " "))
        at += len(line)
        done = at - len(line) + len(line.rstrip()) if line.strip() else done
    return [*swaps, Substitution(done, end, _make_header_separator(cells) if rows == 1 else " |\n")] if rows else []


def _make_header_separator(cells: int) -> str:
    """The end of a table's first row, and the line below it."""
    return f" |\n|{'---|' * cells}\n"


def convert_csv_table(text: str, options: dict[str, Any]) -> str:
    """A table of Markdown with the cells of a text, below those of the header that the options give."""
    header = str(options.get("header") or "")
    rows = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in _parse_csv_rows(header, text)]
    width = max(map(len, rows), default=0)
    if width * len(rows) > _MAX_CSV_CELLS:
        return fence_code(text)
    if not rows:
        return ""
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * width}", *lines[1:]]) + "\n"


def _parse_csv_rows(*texts: str) -> Iterator[list[str]]:
    for text in texts:
        try:
            yield from (row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row)
        except csv.Error:  # a cell too long, or a character that no table holds
            yield from ([line] for line in text.splitlines() if line.strip())
