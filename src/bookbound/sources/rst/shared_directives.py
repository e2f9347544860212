"""Holds the directive rules that reStructuredText and MyST share: version notes, tag expressions and line selection."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

_VERSION_PHRASES = {
    "added": "Added in version",
    "changed": "Changed in version",
    "deprecated": "Deprecated since version",
    "removed": "Removed in version",
}
VERSION_DIRECTIVES = frozenset(
    "versionadded versionchanged versionremoved deprecated"
    " version-added version-changed version-removed version-deprecated".split()
)
"""The directives that say so."""


def format_version_note(directive: str, version: str, more: bool) -> str:
    """What stands before the words of such a directive, or alone where there are no more."""
    return f"{_VERSION_PHRASES[directive.removeprefix('version').lstrip('-')]} {version}{':' if more else '.'}"


_HTML_TAGS = frozenset(("html", "builder_html", "format_html"))
_MAX_EXPRESSION_LENGTH = 1_000


def applies_to_html(expression: str) -> bool:
    """Whether an expression of tags is true of a built site; one that cannot be read is."""
    try:
        return _evaluate_tags(ast.parse(expression.strip()[:_MAX_EXPRESSION_LENGTH], mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _evaluate_tags(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(ast.And(), values):
            return all(map(_evaluate_tags, values))
        case ast.BoolOp(ast.Or(), values):
            return any(map(_evaluate_tags, values))
        case ast.UnaryOp(ast.Not(), operand):
            return not _evaluate_tags(operand)
        case ast.Name(name):
            return name in _HTML_TAGS
    raise ValueError


def select_lines(text: str, options: Mapping[str, Any]) -> str:
    """The lines that the options name: by numbers, between two texts, or an object of a program."""
    lines = text.split("\n")
    first, last = _parse_integer(options.get("start-line")), _parse_integer(options.get("end-line"))
    lines = lines[slice(first, last)]
    if options.get("lines"):
        lines = [lines[at - 1] for at in _parse_line_numbers(str(options["lines"]), len(lines))]
    if options.get("pyobject"):
        lines = _select_python_object(lines, str(options["pyobject"]))
    marks = [str(options.get(name) or "") for name in ("start-at", "start-after", "end-at", "end-before")]
    lines = _select_between(lines, *marks)
    dedent = _parse_integer(options.get("dedent")) or 0
    return "\n".join(line[min(dedent, len(line) - len(line.lstrip())) :] for line in lines)


def _select_between(lines: list[str], start_at: str, start_after: str, end_at: str, end_before: str) -> list[str]:
    if start_at or start_after:
        found = (i for i, line in enumerate(lines) if (start_at or start_after) in line)
        lines = lines[next(found, 0) + (not start_at) :]
    if end_at or end_before:
        found = (i for i, line in enumerate(lines) if (end_at or end_before) in line)
        lines = lines[: next(found, len(lines)) + bool(end_at)]
    return lines


def _select_python_object(lines: list[str], name: str) -> list[str]:
    """The lines of a class or a function, found by how deep they stand."""
    for part in name.split("."):
        opening = re.compile(rf"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(part)}\b")
        at, found = next(((i, m) for i, line in enumerate(lines) if (m := opening.match(line))), (0, None))
        if not found:
            return lines
        depth = len(found[1])
        deeper = (i for i in range(at + 1, len(lines)) if lines[i].strip() and _measure_indentation(lines[i]) <= depth)
        lines = lines[at : next(deeper, len(lines))]
    return lines


def _measure_indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parse_line_numbers(text: str, most: int) -> list[int]:
    """The numbers that `1-3, 7, 9-` names, up to the last there is."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        start = _parse_integer(first) or 1
        stop = (_parse_integer(last) or most) if dash else start
        numbers += range(max(1, start), min(stop, most) + 1)
        if len(numbers) > most:
            break
    return numbers


def _parse_integer(text: Any) -> int | None:
    try:
        return int(text) if text else None
    except (ValueError, TypeError):
        return None
