"""Renders PDF blocks as a page's text, joins hyphenated words and records page breaks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from bookbound.domain.document import BlockKind, PageBreak, SourceSpan
from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.pdf.block_detection import PdfBlock
from bookbound.sources.pdf.line_layout import TextLine

SOFT_HYPHEN = "\u00ad"
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST_WORD_PART = re.compile(r"(\w+)[-\u2010]$")
_FIRST_WORD = re.compile(r"\w+")
# Wider gaps are not the indentation of code, and could make a page of spaces.
_MAX_INDENT = 120
_BLANK_LINE_RATIO = 1.955
_GROUPS: dict[str, BlockKind] = {"row": "table", "item": "list"}


class Dehyphenator:
    """Decides which hyphens at line ends belong to a word, by the other words of the book.

    If the book does not have the word, its other line ends decide: some books never split a word.
    """

    def __init__(self, lines: Iterable[TextLine]) -> None:
        self._known: set[str] = set()
        splits: list[tuple[str, str]] = []
        before = ""
        for line in lines:
            text = line.text.casefold()
            words = [match[0].replace("\u2010", "-") for match in _WORD.finditer(text)]
            if before and words:
                splits.append((before, words[0]))
            last = _LAST_WORD_PART.search(text)
            self._known.update(words[bool(before) : len(words) - bool(last)])
            before = last[1] if last else ""
        decisions = [self._is_one_word(*split) for split in splits]
        self._splits_words = decisions.count(True) >= decisions.count(False)

    def hyphen_length(self, line: str, following: str) -> int | None:
        """Return how many characters to drop before joining two lines, or None if a space separates them."""
        if line.endswith(SOFT_HYPHEN):
            return 1
        last, first = _LAST_WORD_PART.search(line), _FIRST_WORD.match(following)
        if not last:
            return None
        if not first or not first[0].islower():
            return 0
        is_one_word = self._is_one_word(last[1].casefold(), first[0].casefold())
        return int(self._splits_words if is_one_word is None else is_one_word)

    def _is_one_word(self, before: str, after: str) -> bool | None:
        """Whether the book has both halves as one word elsewhere or as two; None if it has neither."""
        if before + after in self._known:
            return True
        return False if f"{before}-{after}" in self._known or {before, after} <= self._known else None


class _ExtractedLine(NamedTuple):
    """A line and where its cells are in the extracted text."""

    line: TextLine
    cells: list[CharSpan]


def render_blocks(
    blocks: Sequence[PdfBlock], dehyphenator: Dehyphenator, labels: Mapping[int, str]
) -> tuple[str, RenderedPage, tuple[PageBreak, ...]]:
    """Return the extracted text, the rendered page and its page breaks."""
    source, extracted = _extract_text(blocks)
    builder = PageBuilder(source)
    pairs = zip(blocks, extracted, strict=True)
    for group, members in groupby(pairs, key=lambda pair: _GROUPS.get(pair[0].kind)):
        if group:
            builder.open_block(group)
        for block, lines in members:
            _render_block(builder, block, lines, dehyphenator)
        if group:
            builder.close_block()
    rendered = builder.build()
    lines = [line for block in extracted for line in block]
    return source, rendered, tuple(_page_breaks(lines, rendered.spans, labels))


def _extract_text(blocks: Sequence[PdfBlock]) -> tuple[str, list[list[_ExtractedLine]]]:
    """Return the text of all blocks, and each block's lines with their positions in it."""
    parts: list[str] = []
    length = 0
    extracted: list[list[_ExtractedLine]] = []
    for block in blocks:
        extracted.append([])
        for line, cells in zip(block.lines, _line_cells(block), strict=True):
            spans: list[CharSpan] = []
            for i, text in enumerate(cells):
                spans.append((length, length + len(text)))
                parts.append(text + ("\t" if i + 1 < len(line.cells) else "\n"))
                length += len(parts[-1])
            extracted[-1].append(_ExtractedLine(line, spans))
        parts.append("\n")
        length += 1
    return "".join(parts), extracted


def _line_cells(block: PdfBlock) -> Iterator[list[str]]:
    """Yield the cells of each line; code keeps its indentation and its blank lines."""
    if block.kind != "code":
        yield from ([cell.text for cell in line.cells] for line in block.lines)
        return
    edge = min(line.left for line in block.lines)
    before: TextLine | None = None
    for line in block.lines:
        indent = round((line.left - edge) / line.letter_width) if line.letter_width > 0 else 0
        blank = before and before.page == line.page and line.baseline - before.baseline > _BLANK_LINE_RATIO * line.size
        yield ["\n" * bool(blank) + " " * min(max(indent, 0), _MAX_INDENT) + line.cells[0].text]
        before = line


def _render_block(
    builder: PageBuilder, block: PdfBlock, lines: list[_ExtractedLine], dehyphenator: Dehyphenator
) -> None:
    builder.open_block("paragraph" if block.kind == "note" else block.kind, block.level)
    if block.kind == "code":
        builder.copy(lines[0].cells[0][0], lines[-1].cells[-1][1])
    elif block.kind == "row":
        for i, span in enumerate(lines[0].cells):
            if i:
                builder.add_cell_separator()
            builder.copy(*span)
    else:
        for i, (line, cells) in enumerate(lines):
            following = lines[i + 1].line.text if i + 1 < len(lines) else ""
            hyphen = dehyphenator.hyphen_length(line.text, following) if following else None
            for start, end in cells[:-1]:
                builder.copy(start, end)
                builder.add_space()
            start, end = cells[-1]
            builder.copy(start, end - (hyphen or 0))
            if hyphen is None:
                builder.add_space()
    builder.close_block()


def _page_breaks(
    lines: Sequence[_ExtractedLine], spans: tuple[SourceSpan, ...], labels: Mapping[int, str]
) -> Iterator[PageBreak]:
    page = 0
    for line, cells in lines:
        if line.page != page:
            page, start = line.page, cells[0][0]
            span = spans[bisect_right(spans, start, key=lambda span: span.start) - 1]
            yield PageBreak(span.at + start - span.start, page, labels.get(page, ""), f"page={page}")
