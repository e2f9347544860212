"""Groups the lines of a PDF into paragraphs, code, tables, list items, footnotes and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from bookbound.sources.pdf.heading_detection import PdfHeading, Typography
from bookbound.sources.pdf.line_layout import TextLine

PdfBlockKind = Literal["heading", "paragraph", "item", "code", "row", "note"]
_ITEM_MARKER = re.compile(r"(?:[•◦▪■●○‣⁃∙·–*]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,4})[.)])(?=\s|$)")
# No program writes these in code.
_BULLETS = tuple("•◦▪■●○‣⁃∙")
_NOTE_MARKER = re.compile(r"\[?(?:\d{1,3}|[*†‡§¶]{1,3})[\].)]?\s*(?=[^\W\d]|[\"'“‘(])")
_CAPTION = re.compile(r"(?:figure|fig\.|table|listing|example|exhibit|abb\.|tabelle)\s*\d", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")
MIN_INDENT, FOOTNOTE_SIZE_RATIO, MIN_TABLE_ROWS = 0.8, 0.94, 2


class PdfBlock(NamedTuple):
    """Lines that form one block."""

    kind: PdfBlockKind
    lines: list[TextLine]
    level: int = 0


def detect_blocks(lines: Sequence[TextLine], headings: Mapping[int, PdfHeading], face: Typography) -> list[PdfBlock]:
    """The blocks of consecutive lines; footnotes follow the block that goes on over them."""
    foot = _find_footnotes(lines, face)
    rows = _find_table_rows(lines, face)
    found: list[PdfBlock] = []
    notes: list[PdfBlock] = []
    at = 0
    while at < len(lines):
        heading = headings.get(at)
        line = lines[at]
        if heading:
            _flush_notes(found, notes)
            found.append(PdfBlock("heading", list(lines[at : heading.end]), heading.level))
            at = max(heading.end, at + 1)
            continue
        kind = "note" if at in foot else _classify_line(line, at in rows, face)
        into = notes if kind == "note" else found
        following = lines[at + 1] if at + 1 < len(lines) else line
        if into and _continues_block(into[-1], kind, line, following, face):
            into[-1].lines.append(line)
        else:
            if kind != "note":
                _flush_notes(found, notes)
            into.append(PdfBlock(kind, [line]))
        at += 1
    _flush_notes(found, notes)
    return found


def _flush_notes(found: list[PdfBlock], notes: list[PdfBlock]) -> None:
    found += notes
    notes.clear()


def _classify_line(line: TextLine, is_row: bool, face: Typography) -> PdfBlockKind:
    if line.mono and not face.typed and not line.text.startswith(_BULLETS):
        return "code"
    if is_row:
        return "row"
    return "item" if _ITEM_MARKER.match(line.text) else "paragraph"


def _continues_block(
    draft: PdfBlock, kind: PdfBlockKind, line: TextLine, following: TextLine, face: Typography
) -> bool:
    """Whether a line belongs to the block before it."""
    before = draft.lines[-1]
    if draft.kind == "code" or kind == "code":
        near = line.page != before.page or 0 < line.base - before.base < 3.2 * line.size
        return draft.kind == kind and near
    if draft.kind == "note":
        return kind == "note" and not _NOTE_MARKER.match(line.text)
    if kind != "paragraph" or draft.kind not in ("paragraph", "item") or _CAPTION.match(line.text):
        return False
    if abs(line.size - before.size) > 0.06 * line.size:
        return False
    if line.page != before.page or line.base <= before.base:
        return not _SENTENCE_END.search(before.text) and (line.text[0].islower() or _is_full_line(before, line))
    if not face.follows(before, line):
        return False
    return _is_aligned(draft, before, line, following)


def _is_aligned(draft: PdfBlock, before: TextLine, line: TextLine, following: TextLine) -> bool:
    """Whether a line that stands under another goes on with its words: the one is full, the other not indented."""
    if before.text.endswith(("-", "\u00ad", "\u2010")):
        return True
    step = MIN_INDENT * line.size
    first = len(draft.lines) == 1
    if draft.kind == "item":
        return line.left >= draft.lines[0].left + 0.3 * line.size and (_is_full_line(before, line) or not first)
    # All lines but the first may be indented; where the next is not, this one begins a paragraph.
    hanging = first and _is_full_line(before, line) and following.left > before.left + step
    if line.left > before.left + step and not hanging:
        return False
    if line.left < before.left - step and not first:
        return False
    return _is_full_line(before, line)


def _is_full_line(before: TextLine, line: TextLine) -> bool:
    """Whether the first word of a line would not have fitted into the one before."""
    return before.right + line.first + 0.5 * line.size > before.column[1]


def _find_table_rows(lines: Sequence[TextLine], face: Typography) -> set[int]:
    """Which lines are rows of tables: those whose gaps lie over each other."""
    found: set[int] = set()
    run: list[int] = []
    shared: list[tuple[float, float]] = []
    for at in range(len(lines) + 1):
        gaps = list(_wide_gaps(lines[at])) if at < len(lines) else []
        near = bool(run) and at < len(lines) and lines[at].page == lines[run[-1]].page and at == run[-1] + 1
        common = [(max(a, c), min(b, d)) for a, b in shared for c, d in gaps if min(b, d) - max(a, c) > 0.3 * face.size]
        if near and common:
            run.append(at)
            shared = common[:20]
            continue
        found.update(run if len(run) >= MIN_TABLE_ROWS else ())
        run, shared = ([at], gaps[:20]) if gaps else ([], [])
    return found


def _wide_gaps(line: TextLine) -> Iterator[tuple[float, float]]:
    """The wide gaps of a line; the one behind the marker of an item is none."""
    if line.mono:
        return
    for left, right in zip(line.cells, line.cells[1:], strict=False):
        if left is not line.cells[0] or not _ITEM_MARKER.fullmatch(left.text):
            yield left.right, right.left


def _find_footnotes(lines: Sequence[TextLine], face: Typography) -> set[int]:
    """Which lines are notes at the foot of a page: the last ones, smaller than the text, that begin with a mark."""
    found: set[int] = set()
    at = len(lines) - 1
    while at >= 0:
        page, end = lines[at].page, at
        while (
            at >= 0
            and lines[at].page == page
            and lines[at].size < FOOTNOTE_SIZE_RATIO * face.size
            and not lines[at].mono
        ):
            at -= 1
        first = next((i for i in range(at + 1, end + 1) if _NOTE_MARKER.match(lines[i].text)), end + 1)
        found.update(range(first, end + 1))
        while at >= 0 and lines[at].page == page:
            at -= 1
    return found
