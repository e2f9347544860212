"""Builds a page's visible text and remembers where each character came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from bookbound.domain.document import Block, BlockKind, InlineKind, MarkupSpan, SourceSpan

CharSpan = tuple[int, int]
"""The offsets at which something begins and ends."""
BlockMarker = CharSpan | tuple[str, int, int] | str
"""The marker of a list item: a span of the source, a text in place of such a span, or a text without a source."""
# The markup is stored with each chunk, so both keep an index small; what is deeper or longer is left out.
MAX_MARKUP_DEPTH = 8
MAX_TARGET_CHARS = 1_000


class RenderedPage(NamedTuple):
    """A page's visible text, the source of each part of it, its structure, and what is marked up inside blocks."""

    text: str
    spans: tuple[SourceSpan, ...]
    blocks: tuple[Block, ...]
    markup: tuple[MarkupSpan, ...] = ()


@dataclass(slots=True)
class OpenBlock:
    """A block that is not complete yet; it begins with its first visible character."""

    kind: BlockKind
    level: int = 0
    marker: BlockMarker | None = None
    anchor: str = ""
    start: int = -1
    children: list[Block] = field(default_factory=list)
    variant: str = ""


@dataclass(slots=True)
class OpenMarkup:
    """Markup that is not closed yet; it begins with its first visible character."""

    kind: InlineKind
    value: str = ""
    start: int = -1


class PageBuilder:
    """Builds one page's visible text.

    White space and separators wait until words follow, so that no block begins or ends with them and an empty block
    leaves no trace.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._parts: list[str] = []
        self._spans: list[SourceSpan] = []
        self._gap = ""
        self._length = self._separators = self._unstarted = 0
        self._open: list[OpenBlock] = []
        self._blocks: list[Block] = []
        self._open_markup: list[OpenMarkup] = []
        self._unstarted_markup: list[OpenMarkup] = []
        self._markup: list[MarkupSpan] = []

    def copy(self, start: int, end: int) -> None:
        """Add the source's characters `start` to `end` as they are."""
        if start >= end:
            return
        self._begin()
        at = self._length
        self._add(self.source[start:end])
        last = self._spans[-1] if self._spans else None
        if last and last.end == start and last.at + last.length == at and last.is_verbatim:
            self._spans[-1] = last._replace(length=last.length + end - start, end=end)
        else:
            self._spans.append(SourceSpan(at, end - start, start, end))

    def copy_words(self, start: int, end: int) -> None:
        """Add the source's characters `start` to `end`; white space around them becomes one space."""
        text = self.source[start:end]
        if text[:1].isspace():
            self.add_space()
        if words := text.strip():
            self.copy(start + text.index(words), start + text.index(words) + len(words))
            if text[-1].isspace():
                self.add_space()

    def copy_lines(self, lines: Sequence[CharSpan], masked: str = "") -> None:
        """Add lines of the source without the blank lines around them and without what `masked` hides."""
        visible = [list(visible_spans(self.source, masked or self.source, *line)) for line in lines]
        filled = [i for i, line in enumerate(visible) if any(self.source[slice(*span)].strip() for span in line)]
        for i in range(filled[0], filled[-1] + 1) if filled else ():
            if i > filled[0]:
                self.copy(lines[i - 1][1], lines[i - 1][1] + 1)
            for span in visible[i]:
                self.copy(*span)

    def substitute(self, text: str, start: int, end: int) -> None:
        """Add `text` in place of the source's characters `start` to `end`, which differ from it."""
        if not text.strip():
            self.add_space()
            return
        self._begin()
        # One span for all text in place of the same characters.
        at = self._spans.pop().at if self._spans and self._spans[-1][2:] == (start, end) else self._length
        self._add(text)
        if self._length - at == end - start > 1:
            # A span as long as its source counts as a copy; two spans do not.
            self._spans.append(SourceSpan(at, 1, start, start))
            at += 1
        self._spans.append(SourceSpan(at, self._length - at, start, end))

    def append_generated(self, text: str) -> None:
        """Add text that the source does not contain; it maps to the place of the text before it."""
        last = self._spans[-1] if self._spans else SourceSpan(0, 0, 0, 0)
        self.substitute(text, last.end if last.is_verbatim else last.start, last.end)

    def add_cell_separator(self) -> None:
        """Put a bar before the next words of the current row, which replaces a pending space."""
        self._separators += 1

    def add_gap(self, text: str) -> None:
        """Put white space before the next words; of several gaps the widest counts."""
        if text.count("\n") > self._gap.count("\n") or not self._gap:
            self._gap = text

    def add_space(self) -> None:
        if self._parts and not self._parts[-1][-1].isspace():
            self.add_gap(" ")

    @contextmanager
    def markup(self, kind: InlineKind, value: str = "") -> Iterator[None]:
        """Mark up everything that is added inside the `with` statement."""
        self.open_markup(kind, value)
        yield
        self.close_markup()

    def open_markup(self, kind: InlineKind, value: str = "") -> None:
        self._open_markup.append(OpenMarkup(kind, value))
        self._unstarted_markup.append(self._open_markup[-1])

    def close_markup(self) -> None:
        """End the innermost markup; adjacent spans of one kind and value become one."""
        closed = self._open_markup.pop()
        if closed.start < 0:
            self._unstarted_markup.pop()
        elif len(self._open_markup) < MAX_MARKUP_DEPTH and len(closed.value) <= MAX_TARGET_CHARS:
            span = MarkupSpan(closed.kind, closed.start, self._length, closed.value)
            last = self._markup[-1] if self._markup else None
            if last and (last.kind, last.end, last.value) == (span.kind, span.start, span.value):
                self._markup[-1] = last._replace(end=span.end)
            else:
                self._markup.append(span)

    def add_picture(self, address: str, description: str) -> None:
        """Note a picture after the words so far; its description is no sentence of the book."""
        if not any(each.kind == "link" for each in self._open_markup):  # badges and buttons are links
            is_inside = any(each.start >= 0 for each in self._open) or any(m.start >= 0 for m in self._open_markup)
            at = self._length + bool(not is_inside and self._length)
            value = f"{address[:MAX_TARGET_CHARS]}\n{' '.join(description.split())[:MAX_TARGET_CHARS]}"
            self._markup.append(MarkupSpan("picture", at, at, value))

    @contextmanager
    def block(
        self, kind: BlockKind, level: int = 0, marker: BlockMarker | None = None, variant: str = ""
    ) -> Iterator[OpenBlock]:
        """Put everything that is added inside the `with` statement into a block."""
        self.open_block(kind, level, marker, variant)
        yield self._open[-1]
        self.close_block(self._open[-1].anchor)

    def open_block(self, kind: BlockKind, level: int = 0, marker: BlockMarker | None = None, variant: str = "") -> None:
        """Begin a block; `marker` comes before its first words."""
        self._open.append(OpenBlock(kind, level, marker, variant=variant))
        self._unstarted += 1

    def close_block(self, anchor: str = "") -> None:
        """End the innermost block."""
        block = self._open.pop()
        self._separators = 0
        if block.start < 0:
            self._unstarted -= 1
            return
        siblings = self._open[-1].children if self._open else self._blocks
        children = tuple(block.children)
        siblings.append(Block(block.kind, block.start, self._length, block.level, anchor, children, block.variant))
        is_tight = block.kind in ("row", "item") or any(outer.kind == "item" for outer in self._open)
        self.add_gap("\n" if is_tight else "\n\n")

    def build(self) -> RenderedPage:
        # A page without spans was only appended to.
        spans = tuple(self._spans) or make_whole_span(self._length)
        return RenderedPage("".join(self._parts), spans, tuple(self._blocks), tuple(self._markup))

    def _begin(self) -> None:
        """Add what waits for the next words: white space, blocks with their markers, separators, and markup."""
        markup, self._unstarted_markup = self._unstarted_markup, []  # a marker is not marked up
        if self._length and self._gap and not (self._separators and self._gap == " "):
            self._add(self._gap)
        self._gap = ""
        if self._unstarted:
            self._start_blocks()
        if self._separators:
            self._add(" | " * self._separators)
            self._separators = 0
        for each in markup:
            each.start = self._length

    def _start_blocks(self) -> None:
        started, self._unstarted = len(self._open) - self._unstarted, 0
        for depth, block in enumerate(self._open[started:], started):
            if block.kind == "item" and self._parts and self._parts[-1].endswith("\n"):
                self._add("  " * sum(outer.kind == "item" for outer in self._open[:depth]))
            block.start = self._length
            if isinstance(block.marker, str):
                self._add(block.marker)
            elif block.marker and len(block.marker) == 3:
                self.substitute(*block.marker)
            elif block.marker:
                self.copy(*block.marker)

    def append(self, text: str) -> None:
        """Add text of a page whose visible text is its own source."""
        self._begin()
        self._add(text)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def make_whole_span(length: int) -> tuple[SourceSpan, ...]:
    """Make the spans of a page whose visible text is its own source."""
    return (SourceSpan(0, length, 0, length),) if length else ()


def visible_spans(source: str, masked: str, start: int, end: int) -> Iterator[CharSpan]:
    """Yield the parts of a range between the characters that the mask replaces; parts can be empty."""
    if source[start:end] != masked[start:end]:
        for at in range(start, end):
            if source[at] != masked[at]:
                yield start, at
                start = at + 1
    yield start, end
