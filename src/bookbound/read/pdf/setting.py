"""Blocks of a PDF set as a page's text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from bookbound.book import Leaf, Run
from bookbound.read.galley import Galley, Setting, Span
from bookbound.read.pdf.blocks import Draft
from bookbound.read.pdf.hyphens import Hyphens
from bookbound.read.pdf.lines import Line

_DEEPEST_INDENT, _BLANK = 120, 1.7


class _Sheet(NamedTuple):
    """The text as it was extracted, and where each line of each block and its cells stand in it."""

    source: str
    spans: list[list[list[Span]]]


def typeset(
    drafts: Sequence[Draft], hyphens: Hyphens, labels: Mapping[int, str]
) -> tuple[str, Setting, tuple[Leaf, ...]]:
    """The extracted text, the words as they are set, and the printed pages they stand on."""
    sheet = _extract(drafts)
    galley = Galley(sheet.source)
    held = zip(drafts, sheet.spans, strict=True)
    for group, members in groupby(held, key=lambda each: {"row": "table", "item": "list"}.get(each[0].kind, "")):
        if group == "table":
            galley.open("table")
        elif group == "list":
            galley.open("list")
        for draft, spans in members:
            _set(galley, draft, spans, hyphens)
        if group:
            galley.close()
    setting = galley.finish()
    return sheet.source, setting, tuple(_leaves(drafts, sheet, setting.runs, labels))


def _extract(drafts: Sequence[Draft]) -> _Sheet:
    parts: list[str] = []
    length = 0
    spans: list[list[list[Span]]] = []
    for draft in drafts:
        spans.append([])
        for line, cells in zip(draft.lines, _texts(draft), strict=True):
            spans[-1].append([])
            for i, text in enumerate(cells):
                spans[-1][-1].append((length, length + len(text)))
                parts.append(text + ("\t" if i + 1 < len(line.cells) else "\n"))
                length += len(parts[-1])
        parts.append("\n")
        length += 1
    return _Sheet("".join(parts), spans)


def _texts(draft: Draft) -> Iterator[list[str]]:
    """The cells of each line; code keeps its indentation and its blank lines."""
    if draft.kind != "code":
        yield from ([cell.text for cell in line.cells] for line in draft.lines)
        return
    edge = min(line.left for line in draft.lines)
    before: Line | None = None
    for line in draft.lines:
        indent = round((line.left - edge) / line.pitch) if line.pitch > 0 else 0
        blank = before and before.page == line.page and line.base - before.base > _BLANK * line.size * 1.15
        yield ["\n" * bool(blank) + " " * min(max(indent, 0), _DEEPEST_INDENT) + line.cells[0].text]
        before = line


def _set(galley: Galley, draft: Draft, spans: list[list[Span]], hyphens: Hyphens) -> None:
    galley.open("paragraph" if draft.kind == "note" else draft.kind, draft.level)
    if draft.kind == "code":
        start, end = spans[0][0][0], spans[-1][-1][1]
        galley.copy(start, end)
    elif draft.kind == "row":
        for i, span in enumerate(spans[0]):
            if i:
                galley.insert(" | ")
            galley.copy(*span)
    else:
        for number, line in enumerate(draft.lines):
            following = draft.lines[number + 1].text if number + 1 < len(draft.lines) else ""
            part = hyphens.part(line.text, following) if following else -1
            for cell, (start, end) in enumerate(spans[number]):
                last = cell + 1 == len(spans[number])
                galley.copy(start, end - (part if last and part > 0 else 0))
                if not last or part < 0:
                    galley.space()
    galley.close()


def _leaves(drafts: Sequence[Draft], sheet: _Sheet, runs: tuple[Run, ...], labels: Mapping[int, str]) -> Iterator[Leaf]:
    """Where the words of another printed page begin."""
    page = 0
    for draft, spans in zip(drafts, sheet.spans, strict=True):
        for line, cells in zip(draft.lines, spans, strict=True):
            if line.page != page:
                page = line.page
                run = runs[bisect_right(runs, cells[0][0], key=lambda run: run.start) - 1]
                yield Leaf(run.at + cells[0][0] - run.start, page, labels.get(page, ""), f"page={page}")
