"""Groups the lines of a PDF into paragraphs, code, tables, list items, footnotes and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise, takewhile
from typing import Literal, NamedTuple

from bookbound.sources.pdf.heading_detection import PdfHeading, Typography
from bookbound.sources.pdf.line_layout import TextLine

PdfBlockKind = Literal["heading", "paragraph", "item", "code", "row", "note"]
MIN_INDENT = 0.8
FOOTNOTE_SIZE_RATIO = 0.94
MIN_TABLE_ROWS = 2
# Each row compares its gaps with all shared ones, and no printed table has more columns.
_MAX_TABLE_GAPS = 20
_ITEM_MARKER = re.compile(r"(?:[•◦▪■●○‣⁃∙·–*]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,4})[.)])(?=\s|$)")
# These do not occur in code.
_BULLETS = tuple("•◦▪■●○‣⁃∙")
_NOTE_MARKER = re.compile(r"\[?(?:\d{1,3}|[*†‡§¶]{1,3})[\].)]?\s*(?=[^\W\d]|[\"'“‘(])")
_CAPTION = re.compile(r"(?:figure|fig\.|table|listing|example|exhibit|abb\.|tabelle)\s*\d", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")


class PdfBlock(NamedTuple):
    """Lines that form one block."""

    kind: PdfBlockKind
    lines: list[TextLine]
    level: int = 0


def detect_blocks(
    lines: Sequence[TextLine], headings: Mapping[int, PdfHeading], typography: Typography
) -> list[PdfBlock]:
    """Group lines into blocks; footnotes follow the block that continues after them."""
    footnotes = _find_footnotes(lines, typography)
    rows = _find_table_rows(lines, typography)
    blocks: list[PdfBlock] = []
    notes: list[PdfBlock] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if heading := headings.get(at):
            blocks += [*notes, PdfBlock("heading", list(lines[at : heading.end]), heading.level)]
            notes = []
            at = max(heading.end, at + 1)
            continue
        kind = "note" if at in footnotes else _classify_line(line, at in rows, typography)
        target = notes if kind == "note" else blocks
        following = lines[at + 1] if at + 1 < len(lines) else line
        if target and _continues_block(target[-1], kind, line, following, typography):
            target[-1].lines.append(line)
        elif kind == "note":
            notes.append(PdfBlock(kind, [line]))
        else:
            blocks += [*notes, PdfBlock(kind, [line])]
            notes = []
        at += 1
    return blocks + notes


def _classify_line(line: TextLine, is_row: bool, typography: Typography) -> PdfBlockKind:
    if line.is_monospaced and not typography.is_typewritten and not line.text.startswith(_BULLETS):
        return "code"
    if is_row:
        return "row"
    return "item" if _ITEM_MARKER.match(line.text) else "paragraph"


def _continues_block(
    block: PdfBlock, kind: PdfBlockKind, line: TextLine, following: TextLine, typography: Typography
) -> bool:
    """Whether a line belongs to the block before it."""
    before = block.lines[-1]
    if block.kind == "code" or kind == "code":
        near = line.page != before.page or 0 < line.baseline - before.baseline < 3.2 * line.size
        return block.kind == kind and near
    if block.kind == "note":
        return kind == "note" and not _NOTE_MARKER.match(line.text)
    if kind != "paragraph" or block.kind not in ("paragraph", "item") or _CAPTION.match(line.text):
        return False
    if abs(line.size - before.size) > 0.06 * line.size:
        return False
    if line.page != before.page or line.baseline <= before.baseline:
        return not _SENTENCE_END.search(before.text) and (line.text[0].islower() or _is_full_line(before, line))
    return typography.follows(before, line) and _is_aligned(block, before, line, following)


def _is_aligned(block: PdfBlock, before: TextLine, line: TextLine, following: TextLine) -> bool:
    """Whether a line continues the one above it: that one is full and this one is not indented."""
    if before.text.endswith(("-", "\u00ad", "\u2010")):
        return True
    step = MIN_INDENT * line.size
    is_second = len(block.lines) == 1
    if block.kind == "item":
        return line.left >= block.lines[0].left + 0.3 * line.size and (_is_full_line(before, line) or not is_second)
    if not _is_full_line(before, line):
        return False
    # With a hanging indent all lines but the first are indented; otherwise an indented line begins a paragraph.
    is_hanging = is_second and following.left > before.left + step
    is_outdented = line.left < before.left - step
    return (line.left <= before.left + step or is_hanging) and (is_second or not is_outdented)


def _is_full_line(before: TextLine, line: TextLine) -> bool:
    """Whether the first word of a line did not fit into the line before."""
    return before.right + line.first_word_width + 0.5 * line.size > before.column[1]


def _find_table_rows(lines: Sequence[TextLine], typography: Typography) -> set[int]:
    """Find neighbouring lines whose wide gaps are above each other."""
    found: set[int] = set()
    rows: list[int] = []
    shared: list[tuple[float, float]] = []
    min_overlap = 0.3 * typography.size
    for at, line in enumerate(lines):
        gaps = list(_wide_gaps(line))
        common = [(max(a, c), min(b, d)) for a, b in shared for c, d in gaps if min(b, d) - max(a, c) > min_overlap]
        if rows and common and line.page == lines[at - 1].page:
            rows.append(at)
            shared = common[:_MAX_TABLE_GAPS]
        else:
            rows, shared = ([at], gaps[:_MAX_TABLE_GAPS]) if gaps else ([], [])
        if len(rows) >= MIN_TABLE_ROWS:
            found.update(rows[-MIN_TABLE_ROWS:])
    return found


def _wide_gaps(line: TextLine) -> Iterator[tuple[float, float]]:
    """Yield the gaps between the cells of a line, except the one after an item's marker."""
    if line.is_monospaced:
        return
    for left, right in pairwise(line.cells):
        if left is not line.cells[0] or not _ITEM_MARKER.fullmatch(left.text):
            yield left.right, right.left


def _find_footnotes(lines: Sequence[TextLine], typography: Typography) -> set[int]:
    """Find the last lines of each page that are smaller than the text, from the first that begins with a mark."""

    def is_small(line: TextLine) -> bool:
        return line.size < FOOTNOTE_SIZE_RATIO * typography.size and not line.is_monospaced

    found: set[int] = set()
    for _, group in groupby(range(len(lines)), key=lambda at: lines[at].page):
        small = list(takewhile(lambda at: is_small(lines[at]), reversed(list(group))))[::-1]
        first = next((i for i, at in enumerate(small) if _NOTE_MARKER.match(lines[at].text)), len(small))
        found.update(small[first:])
    return found
