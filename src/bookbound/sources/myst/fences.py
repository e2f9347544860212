"""Scans a MyST page for directives, labels and comments and replaces them with plain Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bookbound.sources.includes import Substitution
from bookbound.sources.myst.directives import (
    DirectiveMarkdown,
    DirectiveOptions,
    convert_directive,
    convert_list_table,
    parse_options,
)
from bookbound.sources.myst.number_slots import NumberSlot, find_number_slot
from bookbound.sources.page_builder import CharSpan
from bookbound.sources.rst.page_draft import Toctree, parse_toctree

_FENCE = re.compile(
    r"(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,}|:{3,})"
    r"[ \t]*(?:\{(?P<name>[A-Za-z][\w:.+-]*)\}[ \t]*)?(?P<rest>[^\n`]*?)[ \t]*"
)
_LABEL = re.compile(r"[ \t]*\((?P<name>[^()\n]+)\)=[ \t]*")
_HIDDEN_LINE = re.compile(r"%.*|\+\+\+.*|\^{3,}[ \t]*")
_LABELLED_FORMULA = re.compile(r"[^\n]*?\$\$(?P<label>[ \t]*\((?P<name>[^()\s]+)\)[ \t]*)")
_HEADING_ATTRIBUTE = re.compile(r"\{#(?P<name>[\w.:-]+)[^{}\n]*\}[ \t]*\n(?=#{1,6}[ \t](?P<heading>[^\n]*))")
_LOADED_DIRECTIVES = frozenset(("toctree", "eval-rst", "include", "literalinclude"))
# Deeper than any author nests, a directive is set as it is written.
_MAX_FENCE_DEPTH = 50
DirectiveLoader = Callable[[str, str, dict[str, Any], str], str | None]
"""Gives the Markdown for a directive that takes words from elsewhere: by its name, argument, options and body."""


@dataclass(slots=True)
class _OpenFence:
    """A fence that waits for its end."""

    marks: str
    plain: DirectiveMarkdown
    start: int = 0
    name: str = ""
    argument: str = ""
    options: DirectiveOptions = field(default_factory=lambda: DirectiveOptions({}, [], 0))


class FenceScanner:
    """One way through the lines of a page from `start` on.

    `swaps` are what takes the place of directives, `prose` is where other markup may stand, `labels` and `toctrees`
    are what the page gives to others, and `spots` is where numbers may be set.
    """

    def __init__(self, source: str, start: int, takes: DirectiveLoader) -> None:
        self.swaps: list[Substitution] = []
        self.prose: list[CharSpan] = []
        self.labels: dict[str, int] = {}
        self.toctrees: list[Toctree] = []
        self.spots: list[NumberSlot] = []
        self._waiting: list[str] = []
        self._source = source
        self._takes = takes
        self._open: list[_OpenFence] = []
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
        ended = self._ended(fence["marks"]) if fence and not fence["name"] and not fence["rest"] else -1
        if fence and ended >= 0:
            del self._open[ended + 1 :]
            self._close(fence.start("marks"), after)
        elif self._open and self._open[-1].plain.verbatim:
            pass
        elif fence and (len(self._open) < _MAX_FENCE_DEPTH if fence["name"] else fence["marks"][0] != ":"):
            after = self._begin(fence, after)
        elif label := _LABEL.fullmatch(self._source, at, end):
            name = " ".join(label["name"].lower().split())
            self.labels[name] = at
            self._waiting.append(name)
            self.swaps.append(Substitution(at, end, ""))
            return after
        elif _HIDDEN_LINE.fullmatch(self._source, at, end):
            self.swaps.append(Substitution(at, end, ""))
        elif attribute := _HEADING_ATTRIBUTE.match(self._source, at):
            self.swaps.append(Substitution(at, end, ""))
            self.swaps.append(
                Substitution(attribute.end("heading"), attribute.end("heading"), f" {{#{attribute['name']}}}")
            )
        else:
            self._prose(at, end, after)
        if self._source[at:end].strip():
            self._waiting = []
        return after

    def _prose(self, at: int, end: int, after: int) -> None:
        """Take a line of words; one that ends a formula may hold its label."""
        if formula := _LABELLED_FORMULA.fullmatch(self._source, at, end):
            self.swaps.append(Substitution(*formula.span("label"), ""))
            self.spots.append(NumberSlot("displaymath", end, f"equation-{formula['name']}"))
        if self.prose and self.prose[-1][1] == at:
            self.prose[-1] = self.prose[-1][0], after
        else:
            self.prose.append((at, after))

    def _ended(self, marks: str) -> int:
        """Which open fence these marks end: the innermost of their kind that they are long enough for, or -1."""
        verbatim = bool(self._open) and self._open[-1].plain.verbatim
        for i in range(len(self._open) - 1, len(self._open) - 2 if verbatim else -1, -1):
            if marks.startswith(self._open[i].marks):
                return i
        return -1

    def _begin(self, fence: re.Match[str], after: int) -> int:
        """Open a fence; returns where its body begins."""
        name, marks, start = (fence["name"] or "").lower(), fence["marks"], fence.start("marks")
        if not name:
            self._open.append(_OpenFence(marks, DirectiveMarkdown(verbatim=True)))
            return after
        given, becomes = parse_options(self._source, after), convert_directive(name, len(marks), fence["rest"])
        becomes = DirectiveMarkdown(verbatim=True, seen=False) if name in _LOADED_DIRECTIVES else becomes
        self._open.append(_OpenFence(marks, becomes, start, name, fence["rest"], given))
        if spot := find_number_slot(self._source, name, fence.span("rest"), given, self._waiting):
            self.spots.append(spot)
        if not becomes.seen:
            return given.body
        at = fence.start("rest") + becomes.skipped if becomes.argument and fence["rest"] else fence.end()
        opening = "" if becomes.verbatim else becomes.opening
        self.swaps.append(Substitution(start, at, opening))
        if at < fence.end():
            self.prose.append((at, fence.end()))
        for left, right in given.shown:
            self.swaps.append(Substitution(max(at, fence.end()), left, "\n\n"))
            self.prose.append((left, right))
            at = right
        at = max(at, fence.end())
        self.swaps.append(Substitution(at, given.body, "\n\n" + becomes.opening * becomes.verbatim))
        return given.body

    def _close(self, start: int, after: int) -> None:
        opened = self._open.pop()
        body = opened.options.body, max(start, opened.options.body)
        if not opened.plain.seen:
            words = self._source[slice(*body)]
            if opened.name == "toctree":
                self.spots.append(NumberSlot("toctree", opened.start, str(len(self.toctrees))))
                self.toctrees.append(parse_toctree(words.split("\n"), opened.options.values))
            taken = self._takes(opened.name, opened.argument, opened.options.values, words)
            self.swaps.append(Substitution(opened.start, after, f"\n{taken or ''}\n"))
        elif opened.name and start < after:
            if opened.name == "list-table":
                self.swaps += convert_list_table(self._source, *body)
            elif opened.name == "csv-table":
                taken = self._takes(opened.name, "", opened.options.values, self._source[slice(*body)])
                self.swaps.append(Substitution(*body, taken or ""))
            elif opened.name == "math" and (label := opened.options.text("label", "name")):
                self.spots.append(NumberSlot("displaymath", self._end(start), f"equation-{label}"))
            self.swaps.append(Substitution(start, self._end(start), opened.plain.closing))
