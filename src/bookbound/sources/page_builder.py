"""Builds a page's visible text and remembers where each character came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bookbound.domain.document import Block, BlockKind, SourceSpan

CharSpan = tuple[int, int]
"""Where something begins and ends."""


class RenderedPage(NamedTuple):
    """A page as it is set: its visible text, where each stretch of it comes from, and its structure."""

    text: str
    runs: tuple[SourceSpan, ...]
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class OpenBlock:
    """A block that is being set; it begins with its first visible character."""

    kind: BlockKind
    level: int = 0
    anchor: str = ""
    marker: CharSpan | str | None = None
    start: int = -1
    part: int = 0
    children: list[Block] = field(default_factory=list)


class PageBuilder:
    """Sets one page's visible text.

    What is copied keeps its place in the source. White space and separators wait until words follow,
    so that no block begins or ends with them and an empty block leaves no trace.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._parts: list[str] = []
        self._length = 0
        self._runs: list[SourceSpan] = []
        self._gap = ""
        self._frames: list[OpenBlock] = []
        self._waiting = 0
        self._blocks: list[Block] = []

    @property
    def empty(self) -> bool:
        return not self._length

    def copy(self, start: int, end: int) -> None:
        """Set the source's characters `start` to `end` as they are."""
        if start >= end:
            return
        self._begin()
        at = self._length
        self._add(self.source[start:end])
        if self._runs:
            last = self._runs[-1]
            if last.end == start and last.at + last.length == at and last.length == last.end - last.start:
                self._runs[-1] = SourceSpan(last.at, last.length + end - start, last.start, end)
                return
        self._runs.append(SourceSpan(at, end - start, start, end))

    def words(self, start: int, end: int) -> None:
        """Set the source's characters `start` to `end`, white space around them as one space at most."""
        text = self.source[start:end]
        core = text.strip()
        if not core:
            if text:
                self.space()
            return
        left = start + len(text) - len(text.lstrip())
        if left > start:
            self.space()
        self.copy(left, left + len(core))
        if left + len(core) < end:
            self.space()

    def lines(self, spans: Sequence[CharSpan], masked: str = "") -> None:
        """Set lines of the source as they are, without the blank ones around them and without what is masked."""
        seen = [list(_visible_spans(self.source, masked or self.source, *span)) for span in spans]
        filled = [i for i, line in enumerate(seen) if any(self.source[slice(*span)].strip() for span in line)]
        for i in range(filled[0], filled[-1] + 1) if filled else ():
            if i > filled[0]:
                self.copy(spans[i - 1][1], spans[i - 1][1] + 1)
            for span in seen[i]:
                self.copy(*span)

    def stand(self, text: str, start: int, end: int) -> None:
        """Set `text` for the source's characters `start` to `end`, which are written otherwise."""
        if not text.strip():
            self.space()
            return
        self._begin()
        at = self._length
        self._add(text)
        if self._runs and self._runs[-1][2:] == (start, end):
            at = self._runs.pop().at  # what stands for one place with the words before makes one run with them
        if self._length - at == end - start > 1:
            # A run as long as its source counts as a copy: two runs say that this is none.
            self._runs.append(SourceSpan(at, 1, start, start))
            at += 1
        self._runs.append(SourceSpan(at, self._length - at, start, end))

    def tell(self, text: str) -> None:
        """Set words that nothing is written for, where the words before them end, or for what those stand for."""
        last = self._runs[-1] if self._runs else SourceSpan(0, 0, 0, 0)
        copied = last.end - last.start == last.length
        self.stand(text, last.end if copied else last.start, last.end)

    def say(self, text: str) -> None:
        """Set words of a page that has no other source than what is set."""
        self._begin()
        self._add(text)

    def insert(self, text: str) -> None:
        """Set a separator that the source does not hold, in the place of a space that waits."""
        if self._gap == " ":
            self._gap = ""
        self.say(text)

    def gap(self, text: str) -> None:
        """Let white space wait for the next words; of several gaps the widest counts."""
        if text.count("\n") > self._gap.count("\n") or not self._gap:
            self._gap = text

    def space(self) -> None:
        if self._parts and not self._parts[-1][-1].isspace():
            self.gap(" ")

    def open(self, kind: BlockKind, level: int = 0, marker: CharSpan | str | None = None) -> None:
        """Begin a block; `marker` is what its first words follow: a span of the source, or words to say."""
        self._frames.append(OpenBlock(kind, level, marker=marker))
        self._waiting += 1

    def close(self, anchor: str = "") -> None:
        """End the innermost block."""
        frame = self._frames.pop()
        if frame.start < 0:
            self._waiting -= 1
            return
        siblings = self._frames[-1].children if self._frames else self._blocks
        children = tuple(frame.children)
        siblings.append(Block(frame.kind, frame.start, self._length, frame.level, anchor, children))
        tight = frame.kind in ("row", "item") or any(outer.kind == "item" for outer in self._frames)
        self.gap("\n" if tight else "\n\n")

    def current(self) -> str:
        """What the innermost block holds so far."""
        frame = self._frames[-1]
        return "".join(self._parts[frame.part :]) if frame.start >= 0 else ""

    def finish(self) -> RenderedPage:
        """The page's text, runs and blocks."""
        return RenderedPage("".join(self._parts), tuple(self._runs), tuple(self._blocks))

    def _begin(self) -> None:
        if self._gap:
            if self._length:
                self._add(self._gap)
            self._gap = ""
        if self._waiting:
            waiting = self._frames[-self._waiting :]
            self._waiting = 0
            for frame in waiting:
                frame.start, frame.part = self._length, len(self._parts)
                if isinstance(frame.marker, str):
                    self._add(frame.marker)
                elif frame.marker:
                    self.copy(*frame.marker)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def _visible_spans(source: str, masked: str, start: int, end: int) -> Iterator[CharSpan]:
    """The stretches of the source that its mask leaves."""
    for at in range(start, end) if source[start:end] != masked[start:end] else ():
        if source[at] != masked[at]:
            yield start, at
            start = at + 1
    yield start, end
