"""The directives, labels and comments of MyST Markdown, and the plain Markdown that takes their place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bookbound.read.frontmatter import load
from bookbound.read.galley import Span
from bookbound.read.myst.directives import Plain, plain
from bookbound.read.sphinx.toctree import Toctree, toctree
from bookbound.read.woven import Swap

_FENCE = re.compile(
    r"(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,}|:{3,})"
    r"[ \t]*(?:\{(?P<name>[A-Za-z][\w:.+-]*)\}[ \t]*)?(?P<rest>[^\n`]*?)[ \t]*"
)
_OPTION = re.compile(r"[ \t>]*:(?P<name>[\w-]+):(?:[ \t]+(?P<value>\S[^\n]*))?")
_FIELDS = re.compile(r"[ \t>]*---[ \t]*\n(?P<body>(?:(?![ \t>]*---)[^\n]*+\n)*+)[ \t>]*---[ \t]*(?:\n|\Z)")
_LABEL = re.compile(r"[ \t]*\((?P<name>[^()\n]+)\)=[ \t]*")
_UNSEEN_LINE = re.compile(r"%.*|\+\+\+.*")
_SHOWN = ("alt", "caption")

Takes = Callable[[str, str, dict[str, Any], str], str | None]
"""Gives the Markdown for a directive that takes words from elsewhere: by its name, argument, options and body."""


class _Options(NamedTuple):
    """The options of a directive, where those that are shown stand, and where its body begins."""

    values: dict[str, Any]
    shown: list[Span]
    body: int


@dataclass(slots=True)
class _Open:
    """A fence that waits for its end."""

    marks: str
    plain: Plain
    start: int = 0
    name: str = ""
    argument: str = ""
    options: _Options = field(default_factory=lambda: _Options({}, [], 0))


class Fences:
    """One way through the lines of a page from `start` on.

    `swaps` are what takes the place of directives, `prose` is where other markup may stand, `labels` and `toctrees`
    are what the page gives to others.
    """

    def __init__(self, source: str, start: int, takes: Takes) -> None:
        self.swaps: list[Swap] = []
        self.prose: list[Span] = []
        self.labels: dict[str, int] = {}
        self.toctrees: list[Toctree] = []
        self._source = source
        self._takes = takes
        self._open: list[_Open] = []
        at = start
        while at < len(source):
            at = self._line(at)
        while self._open:
            self._close(len(source), len(source))

    def _end(self, at: int) -> int:
        """Where the line ends that holds `at`."""
        end = self._source.find("\n", at)
        return end if end >= 0 else len(self._source)

    def _line(self, at: int) -> int:
        """Take the line at `at`; returns where the next begins."""
        end = self._end(at)
        after = min(end + 1, len(self._source))
        fence = _FENCE.fullmatch(self._source, at, end)
        if fence and not fence["name"] and not fence["rest"] and self._ends(fence["marks"]):
            self._close(fence.start("marks"), after)
        elif self._open and self._open[-1].plain.verbatim:
            pass
        elif fence and (fence["name"] or fence["marks"][0] != ":"):
            return self._begin(fence, after)
        elif label := _LABEL.fullmatch(self._source, at, end):
            self.labels[" ".join(label["name"].lower().split())] = at
            self.swaps.append(Swap(at, end, ""))
        elif _UNSEEN_LINE.fullmatch(self._source, at, end):
            self.swaps.append(Swap(at, end, ""))
        elif self.prose and self.prose[-1][1] == at:
            self.prose[-1] = self.prose[-1][0], after
        else:
            self.prose.append((at, after))
        return after

    def _ends(self, marks: str) -> bool:
        """Whether these marks end the innermost fence of their kind that they are long enough for."""
        if self._open and self._open[-1].plain.verbatim:
            inner = self._open[-1].marks
            return marks[0] == inner[0] and len(marks) >= len(inner)
        fitting = [i for i, one in enumerate(self._open) if marks[0] == one.marks[0] and len(marks) >= len(one.marks)]
        if fitting:
            del self._open[fitting[-1] + 1 :]
        return bool(fitting)

    def _begin(self, fence: re.Match[str], after: int) -> int:
        """Open a fence; returns where its body begins."""
        name, marks, start = (fence["name"] or "").lower(), fence["marks"], fence.start("marks")
        if not name:
            self._open.append(_Open(marks, Plain(verbatim=True)))
            return after
        options, becomes = self._options(after), plain(name, len(marks), fence["rest"])
        taken = name in ("toctree", "eval-rst", "include", "literalinclude")
        becomes = Plain(verbatim=True, seen=False) if taken else becomes
        self._open.append(_Open(marks, becomes, start, name, fence["rest"], options))
        if not becomes.seen:
            return options.body
        at = fence.start("rest") if becomes.argument and fence["rest"] else fence.end()
        opening = "" if becomes.verbatim else becomes.opening
        self.swaps.append(Swap(start, at, opening))
        if at < fence.end():
            self.prose.append((at, fence.end()))
        for left, right in options.shown:
            self.swaps.append(Swap(max(at, fence.end()), left, "\n\n"))
            self.prose.append((left, right))
            at = right
        at = max(at, fence.end())
        self.swaps.append(Swap(at, options.body, "\n\n" + becomes.opening * becomes.verbatim))
        return options.body

    def _close(self, start: int, after: int) -> None:
        opened = self._open.pop()
        if not opened.plain.seen:
            body = self._source[opened.options.body : max(start, opened.options.body)]
            if opened.name == "toctree":
                self.toctrees.append(toctree(body.split("\n"), opened.options.values))
            taken = self._takes(opened.name, opened.argument, opened.options.values, body)
            self.swaps.append(Swap(opened.start, after, f"\n{taken or ''}\n"))
        elif opened.name and start < after:
            self.swaps.append(Swap(start, self._end(start), opened.plain.closing))

    def _options(self, at: int) -> _Options:
        """The options from `at` on: fields between two lines of hyphens, or lines that begin with a name in colons."""
        if fields := _FIELDS.match(self._source, at):
            given = load(fields["body"])
            return _Options(given if isinstance(given, dict) else {}, [], fields.end())
        values: dict[str, Any] = {}
        shown: list[Span] = []
        while option := _OPTION.fullmatch(self._source, at, self._end(at)) if at < len(self._source) else None:
            values[option["name"]] = option["value"] or ""
            shown += [option.span("value")] if option["name"] in _SHOWN and option["value"] else []
            at = min(self._end(at) + 1, len(self._source))
        return _Options(values, shown, at)
