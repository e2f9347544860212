"""Lines of a PDF become blocks: paragraphs, code, tables, items and headings, as their places tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from bookbound.read.pdf.lines import Line
from bookbound.read.pdf.titles import Title, Type

Kind = Literal["heading", "paragraph", "item", "code", "row", "note"]
_MARKER = re.compile(r"(?:[•◦▪■●○‣⁃∙·–*]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,4})[.)])(?=\s|$)")
# No program writes these in code.
_BULLETS = tuple("•◦▪■●○‣⁃∙")
_NOTE = re.compile(r"\[?(?:\d{1,3}|[*†‡§¶]{1,3})[\].)]?\s*(?=[^\W\d]|[\"'“‘(])")
_CAPTION = re.compile(r"(?:figure|fig\.|table|listing|example|exhibit|abb\.|tabelle)\s*\d", re.IGNORECASE)
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")
INDENT, SMALL, LEAST_ROWS = 0.8, 0.94, 2


class Draft(NamedTuple):
    """Lines that form one block."""

    kind: Kind
    lines: list[Line]
    level: int = 0


def drafts(lines: Sequence[Line], headings: Mapping[int, Title], face: Type) -> list[Draft]:
    """The blocks of consecutive lines; footnotes follow the block that goes on over them."""
    foot = _footnotes(lines, face)
    rows = _rows(lines, face)
    found: list[Draft] = []
    notes: list[Draft] = []
    at = 0
    while at < len(lines):
        heading = headings.get(at)
        line = lines[at]
        if heading:
            _release(found, notes)
            found.append(Draft("heading", list(lines[at : heading.end]), heading.level))
            at = max(heading.end, at + 1)
            continue
        kind = "note" if at in foot else _kind(line, at in rows, face)
        into = notes if kind == "note" else found
        following = lines[at + 1] if at + 1 < len(lines) else line
        if into and _goes_on(into[-1], kind, line, following, face):
            into[-1].lines.append(line)
        else:
            if kind != "note":
                _release(found, notes)
            into.append(Draft(kind, [line]))
        at += 1
    _release(found, notes)
    return found


def _release(found: list[Draft], notes: list[Draft]) -> None:
    found += notes
    notes.clear()


def _kind(line: Line, is_row: bool, face: Type) -> Kind:
    if line.mono and not face.typed and not line.text.startswith(_BULLETS):
        return "code"
    if is_row:
        return "row"
    return "item" if _MARKER.match(line.text) else "paragraph"


def _goes_on(draft: Draft, kind: Kind, line: Line, following: Line, face: Type) -> bool:
    """Whether a line belongs to the block before it."""
    before = draft.lines[-1]
    if draft.kind == "code" or kind == "code":
        near = line.page != before.page or 0 < line.base - before.base < 3.2 * line.size
        return draft.kind == kind and near
    if draft.kind == "note":
        return kind == "note" and not _NOTE.match(line.text)
    if kind != "paragraph" or draft.kind not in ("paragraph", "item") or _CAPTION.match(line.text):
        return False
    if abs(line.size - before.size) > 0.06 * line.size:
        return False
    if line.page != before.page or line.base <= before.base:
        return not _ENDS.search(before.text) and (line.text[0].islower() or _is_full(before, line))
    if not face.follows(before, line):
        return False
    return _lines_up(draft, before, line, following)


def _lines_up(draft: Draft, before: Line, line: Line, following: Line) -> bool:
    """Whether a line that stands under another goes on with its words: the one is full, the other not indented."""
    if before.text.endswith(("-", "\u00ad", "\u2010")):
        return True
    step = INDENT * line.size
    first = len(draft.lines) == 1
    if draft.kind == "item":
        return line.left >= draft.lines[0].left + 0.3 * line.size and (_is_full(before, line) or not first)
    # All lines but the first may be indented; where the next is not, this one begins a paragraph.
    hanging = first and _is_full(before, line) and following.left > before.left + step
    if line.left > before.left + step and not hanging:
        return False
    if line.left < before.left - step and not first:
        return False
    return _is_full(before, line)


def _is_full(before: Line, line: Line) -> bool:
    """Whether the first word of a line would not have fitted into the one before."""
    return before.right + line.first + 0.5 * line.size > before.column[1]


def _rows(lines: Sequence[Line], face: Type) -> set[int]:
    """Which lines are rows of tables: those whose gaps lie over each other."""
    found: set[int] = set()
    run: list[int] = []
    shared: list[tuple[float, float]] = []
    for at in range(len(lines) + 1):
        gaps = list(_gaps(lines[at])) if at < len(lines) else []
        near = bool(run) and at < len(lines) and lines[at].page == lines[run[-1]].page and at == run[-1] + 1
        common = [(max(a, c), min(b, d)) for a, b in shared for c, d in gaps if min(b, d) - max(a, c) > 0.3 * face.size]
        if near and common:
            run.append(at)
            shared = common[:20]
            continue
        found.update(run if len(run) >= LEAST_ROWS else ())
        run, shared = ([at], gaps[:20]) if gaps else ([], [])
    return found


def _gaps(line: Line) -> Iterator[tuple[float, float]]:
    """The wide gaps of a line; the one behind the marker of an item is none."""
    if line.mono:
        return
    for left, right in zip(line.cells, line.cells[1:], strict=False):
        if left is not line.cells[0] or not _MARKER.fullmatch(left.text):
            yield left.right, right.left


def _footnotes(lines: Sequence[Line], face: Type) -> set[int]:
    """Which lines are notes at the foot of a page: the last ones, smaller than the text, that begin with a mark."""
    found: set[int] = set()
    at = len(lines) - 1
    while at >= 0:
        page, end = lines[at].page, at
        while at >= 0 and lines[at].page == page and lines[at].size < SMALL * face.size and not lines[at].mono:
            at -= 1
        first = next((i for i in range(at + 1, end + 1) if _NOTE.match(lines[i].text)), end + 1)
        found.update(range(first, end + 1))
        while at >= 0 and lines[at].page == page:
            at -= 1
    return found
