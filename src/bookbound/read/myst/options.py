"""The options of a directive of MyST Markdown."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bookbound.read.frontmatter import load
from bookbound.read.galley import Span

_OPTION = re.compile(r"[ \t>]*:(?P<name>[\w-]+):(?:[ \t]+(?P<value>\S[^\n]*))?")
_FIELDS = re.compile(r"[ \t>]*---[ \t]*\n(?P<body>(?:(?![ \t>]*---)[^\n]*+\n)*+)[ \t>]*---[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"^[ \t>]*(?:alt|caption):[ \t]+(?P<value>[^\s\"'|>&*!{\[][^\n]*?)[ \t]*$", re.MULTILINE)
_SHOWN = ("alt", "caption")


class Options(NamedTuple):
    """The options of a directive, where those that are shown stand, and where its body begins."""

    values: dict[str, Any]
    shown: list[Span]
    body: int

    def text(self, *names: str) -> str:
        """What the first of some options that is given says."""
        return next((str(self.values[name]) for name in names if self.values.get(name)), "")


def options(source: str, at: int) -> Options:
    """The options from `at` on: fields between two lines of hyphens, or lines that begin with a name in colons."""
    if fields := _FIELDS.match(source, at):
        given = load(fields["body"])
        shown = [found.span("value") for found in _FIELD.finditer(source, *fields.span("body"))]
        return Options(given if isinstance(given, dict) else {}, shown, fields.end())
    values: dict[str, Any] = {}
    shown = []
    while option := _OPTION.fullmatch(source, at, _end(source, at)) if at < len(source) else None:
        values[option["name"]] = option["value"] or ""
        shown += [option.span("value")] if option["name"] in _SHOWN and option["value"] else []
        at = min(_end(source, at) + 1, len(source))
    return Options(values, shown, at)


def _end(source: str, at: int) -> int:
    end = source.find("\n", at)
    return end if end >= 0 else len(source)
