"""Scans a MyST page for directives, labels and comments and replaces them with plain Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bookbound.sources.includes import Substitution
from bookbound.sources.myst.directives import (
    DirectiveMarkdown,
    DirectiveOptions,
    convert_directive,
    convert_list_table,
    find_line_end,
    parse_options,
)
from bookbound.sources.myst.number_slots import NumberSlot, find_number_slot
from bookbound.sources.page_builder import CharSpan
from bookbound.sources.rst.page_draft import Toctree, parse_toctree

_FENCE = re.compile(
    r"(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,}|:{3,})"
    r"[ \t]*(?:\{(?P<name>[A-Za-z][\w:.+-]*)\}[ \t]*)?(?P<argument>[^\n`]*?)[ \t]*"
)
_LABEL = re.compile(r"[ \t]*\((?P<name>[^()\n]+)\)=[ \t]*")
_HIDDEN_LINE = re.compile(r"%.*|\+\+\+.*|\^{3,}[ \t]*")
_LABELLED_FORMULA = re.compile(r"[^\n]*?\$\$(?P<label>[ \t]*\((?P<name>[^()\s]+)\)[ \t]*)")
_HEADING_ATTRIBUTE = re.compile(r"\{#(?P<name>[\w.:-]+)[^{}\n]*\}[ \t]*\n(?=#{1,6}[ \t](?P<heading>[^\n]*))")
# A directive that is nested more deeply is shown as it is written.
_MAX_FENCE_DEPTH = 50
DirectiveLoader = Callable[[str, str, dict[str, Any], str], str | None]
"""Returns the Markdown of a directive with text from elsewhere, by its name, argument, options and body."""


@dataclass(slots=True)
class FenceScan:
    """The substitutions for directives, the spans of prose, and what the page defines."""

    substitutions: list[Substitution] = field(default_factory=list)
    prose: list[CharSpan] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    toctrees: list[Toctree] = field(default_factory=list)
    slots: list[NumberSlot] = field(default_factory=list)


class _OpenFence(NamedTuple):
    """A fence whose end is not found yet; one of plain code has no name."""

    line: re.Match[str]
    name: str
    markdown: DirectiveMarkdown
    options: DirectiveOptions


def scan_fences(source: str, start: int, load: DirectiveLoader) -> FenceScan:
    """Scan the lines of a page from `start` on."""
    scanner = _FenceScanner(source, load)
    while start < len(source):
        start = scanner.scan_line(start)
    while scanner.fences:
        scanner.close_fence(len(source), len(source))
    return scanner.scan


class _FenceScanner:
    def __init__(self, source: str, load: DirectiveLoader) -> None:
        self.scan = FenceScan()
        self.fences: list[_OpenFence] = []
        self._source, self._load = source, load
        self._pending_labels: list[str] = []

    def scan_line(self, at: int) -> int:
        """Scan the line at `at` and return the start of the next."""
        end = find_line_end(self._source, at)
        after = min(end + 1, len(self._source))
        fence = _FENCE.fullmatch(self._source, at, end)
        if fence and not fence["name"] and not fence["argument"] and self._drop_inner_fences(fence["marks"]):
            self.close_fence(fence.start("marks"), after)
        elif self.fences and self.fences[-1].markdown.is_verbatim:
            pass
        elif fence and (len(self.fences) < _MAX_FENCE_DEPTH if fence["name"] else fence["marks"][0] != ":"):
            after = self._open_fence(fence, after)
        elif label := _LABEL.fullmatch(self._source, at, end):
            name = " ".join(label["name"].lower().split())
            self.scan.labels[name] = at
            self._pending_labels.append(name)
            self._replace(at, end)
            return after
        elif _HIDDEN_LINE.fullmatch(self._source, at, end):
            self._replace(at, end)
        elif attribute := _HEADING_ATTRIBUTE.match(self._source, at):
            self._replace(at, end)
            self._replace(attribute.end("heading"), attribute.end("heading"), f" {{#{attribute['name']}}}")
        else:
            self._scan_prose(at, end, after)
        # A label names what comes directly after it; blank lines between them do not count.
        if self._source[at:end].strip():
            self._pending_labels = []
        return after

    def _replace(self, start: int, end: int, text: str = "") -> None:
        self.scan.substitutions.append(Substitution(start, end, text))

    def _scan_prose(self, at: int, end: int, after: int) -> None:
        if formula := _LABELLED_FORMULA.fullmatch(self._source, at, end):
            self._replace(*formula.span("label"))
            self.scan.slots.append(NumberSlot("displaymath", end, f"equation-{formula['name']}"))
        prose = self.scan.prose
        if prose and prose[-1][1] == at:
            at = prose.pop()[0]
        prose.append((at, after))

    def _drop_inner_fences(self, marks: str) -> bool:
        """Drop the fences inside the one that these marks end; return whether they end one."""
        is_verbatim = bool(self.fences) and self.fences[-1].markdown.is_verbatim
        for i in range(len(self.fences) - 1, len(self.fences) - 2 if is_verbatim else -1, -1):
            if marks.startswith(self.fences[i].line["marks"]):
                del self.fences[i + 1 :]
                return True
        return False

    def _open_fence(self, line: re.Match[str], after: int) -> int:
        """Open a fence and return the start of its body."""
        name = (line["name"] or "").lower()
        options = parse_options(self._source, after) if name else DirectiveOptions({}, [], after)
        markdown = convert_directive(name, len(line["marks"]), line["argument"])
        self.fences.append(_OpenFence(line, name, markdown, options))
        if slot := find_number_slot(self._source, name, line.span("argument"), options, self._pending_labels):
            self.scan.slots.append(slot)
        if name and markdown.is_visible:
            self._replace_opening(line, markdown, options)
        return options.body

    def _replace_opening(self, line: re.Match[str], markdown: DirectiveMarkdown, options: DirectiveOptions) -> None:
        shows_argument = markdown.shows_argument and line["argument"]
        at, end = line.start("argument") + markdown.skipped if shows_argument else line.end(), line.end()
        self._replace(line.start("marks"), at, "" if markdown.is_verbatim else markdown.opening)
        if at < end:
            self.scan.prose.append((at, end))
        at = end
        for start, end in options.shown:
            self._replace(at, start, "\n\n")
            self.scan.prose.append((start, end))
            at = end
        self._replace(at, options.body, "\n\n" + markdown.opening * markdown.is_verbatim)

    def close_fence(self, start: int, after: int) -> None:
        """Close the innermost fence, whose end is at `start`."""
        fence = self.fences.pop()
        line, name, options = fence.line, fence.name, fence.options
        scan, values, body = self.scan, options.values, (options.body, max(start, options.body))
        text = self._source[slice(*body)]
        if not fence.markdown.is_visible:
            if name == "toctree":
                scan.slots.append(NumberSlot("toctree", line.start("marks"), str(len(scan.toctrees))))
                scan.toctrees.append(parse_toctree(text.split("\n"), values))
            loaded = self._load(name, line["argument"], values, text) or ""
            self._replace(line.start("marks"), after, f"\n{loaded}\n")
        elif name and start < after:
            end = find_line_end(self._source, start)
            if name == "list-table":
                scan.substitutions += convert_list_table(self._source, *body)
            elif name == "csv-table":
                self._replace(*body, self._load(name, "", values, text) or "")
            elif name == "math" and (label := options.text("label", "name")):
                scan.slots.append(NumberSlot("displaymath", end, f"equation-{label}"))
            self._replace(start, end, fence.markdown.closing)
