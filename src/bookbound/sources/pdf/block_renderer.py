"""Renders PDF blocks as a page's text, joins hyphenated words and records page breaks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from bookbound.domain.document import PageBreak, SourceSpan
from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.pdf.block_detection import PdfBlock
from bookbound.sources.pdf.line_layout import TextLine

SOFT_HYPHEN = "\u00ad"
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST_WORD_PART = re.compile(r"(\w+)[-\u2010]$")
_FIRST_WORD = re.compile(r"\w+")


class Dehyphenator:
    """Knows the words of a book, and so which hyphens at the end of a line belong to a word.

    Where the book does not tell, the other line ends do: some books part no word.
    """

    def __init__(self, lines: Iterable[TextLine]) -> None:
        self._known: set[str] = set()
        parted: list[tuple[str, str]] = []
        before = ""
        for line in lines:
            text = line.text.casefold()
            words = [found[0].replace("\u2010", "-") for found in _WORD.finditer(text)]
            if before and words:
                parted.append((before, words[0]))
            last = _LAST_WORD_PART.search(text)
            self._known.update(words[bool(before) : len(words) - bool(last)])
            before = last[1] if last else ""
        told = [self._told(*pair) for pair in parted]
        self._parts_words = told.count(True) >= told.count(False)

    def part(self, line: str, following: str) -> int:
        """How many characters at the end of a line only say that its last word goes on; -1 where it does not."""
        if line.endswith(SOFT_HYPHEN):
            return 1
        last, first = _LAST_WORD_PART.search(line), _FIRST_WORD.match(following)
        if not last:
            return -1
        if not first or not first[0].islower():
            return 0
        told = self._told(last[1].casefold(), first[0].casefold())
        return int(self._parts_words if told is None else told)

    def _told(self, before: str, after: str) -> bool | None:
        """Whether two halves are one word elsewhere in the book, or are two; nothing where it says neither."""
        if before + after in self._known:
            return True
        return False if f"{before}-{after}" in self._known or {before, after} <= self._known else None


_MAX_INDENT, _BLANK_LINE_RATIO = 120, 1.7


class _ExtractedText(NamedTuple):
    """The text as it was extracted, and where each line of each block and its cells stand in it."""

    source: str
    spans: list[list[list[CharSpan]]]


def render_blocks(
    drafts: Sequence[PdfBlock], hyphens: Dehyphenator, labels: Mapping[int, str]
) -> tuple[str, RenderedPage, tuple[PageBreak, ...]]:
    """The extracted text, the words as they are set, and the printed pages they stand on."""
    sheet = _extract_text(drafts)
    galley = PageBuilder(sheet.source)
    held = zip(drafts, sheet.spans, strict=True)
    for group, members in groupby(held, key=lambda each: {"row": "table", "item": "list"}.get(each[0].kind, "")):
        if group == "table":
            galley.open("table")
        elif group == "list":
            galley.open("list")
        for draft, spans in members:
            _render_block(galley, draft, spans, hyphens)
        if group:
            galley.close()
    setting = galley.finish()
    return sheet.source, setting, tuple(_page_breaks(drafts, sheet, setting.runs, labels))


def _extract_text(drafts: Sequence[PdfBlock]) -> _ExtractedText:
    parts: list[str] = []
    length = 0
    spans: list[list[list[CharSpan]]] = []
    for draft in drafts:
        spans.append([])
        for line, cells in zip(draft.lines, _line_cells(draft), strict=True):
            spans[-1].append([])
            for i, text in enumerate(cells):
                spans[-1][-1].append((length, length + len(text)))
                parts.append(text + ("\t" if i + 1 < len(line.cells) else "\n"))
                length += len(parts[-1])
        parts.append("\n")
        length += 1
    return _ExtractedText("".join(parts), spans)


def _line_cells(draft: PdfBlock) -> Iterator[list[str]]:
    """The cells of each line; code keeps its indentation and its blank lines."""
    if draft.kind != "code":
        yield from ([cell.text for cell in line.cells] for line in draft.lines)
        return
    edge = min(line.left for line in draft.lines)
    before: TextLine | None = None
    for line in draft.lines:
        indent = round((line.left - edge) / line.pitch) if line.pitch > 0 else 0
        blank = before and before.page == line.page and line.base - before.base > _BLANK_LINE_RATIO * line.size * 1.15
        yield ["\n" * bool(blank) + " " * min(max(indent, 0), _MAX_INDENT) + line.cells[0].text]
        before = line


def _render_block(galley: PageBuilder, draft: PdfBlock, spans: list[list[CharSpan]], hyphens: Dehyphenator) -> None:
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


def _page_breaks(
    drafts: Sequence[PdfBlock], sheet: _ExtractedText, runs: tuple[SourceSpan, ...], labels: Mapping[int, str]
) -> Iterator[PageBreak]:
    """Where the words of another printed page begin."""
    page = 0
    for draft, spans in zip(drafts, sheet.spans, strict=True):
        for line, cells in zip(draft.lines, spans, strict=True):
            if line.page != page:
                page = line.page
                run = runs[bisect_right(runs, cells[0][0], key=lambda run: run.start) - 1]
                yield PageBreak(run.at + cells[0][0] - run.start, page, labels.get(page, ""), f"page={page}")
