"""Builds pages for the tests of the splitter, which only sees structure, not formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Block, BlockKind, Page, SourceSpan, find_source_span

Part = tuple[Any, ...]
Build = Callable[..., Page]
FindChunkSpans = Callable[[Page, list[Chunk]], list[tuple[int, int]]]
Check = Callable[[Chunk], None]


class _PageBuilder:
    """Builds the find_chunk_spans text and the source of a page, and the spans that connect them."""

    def __init__(self) -> None:
        self.text, self.source = "", ""
        self.spans: list[SourceSpan] = []

    def block(self, part: Part) -> Block:
        kind, content, *anchor = part
        level = int(kind[1]) if kind[0] == "h" and kind[1:].isdigit() else 0
        name: BlockKind = "heading" if level else kind
        assert name in get_args(BlockKind)
        if not isinstance(content, str):
            children = tuple(self.block(child) for child in content)
            return Block(name, children[0].start, children[-1].end, level, anchor[0] if anchor else "", children)
        self.apart()
        start = len(self.text)
        self.words(content)
        return Block(name, start, len(self.text), level, anchor[0] if anchor else "")

    def apart(self) -> None:
        if self.text:
            self.text += "\n\n"
            self.source += "\n~~\n"

    def words(self, words: str) -> None:
        """Adds text; every third length gets marks around it in the source, so it is not a verbatim copy."""
        mark = "" if len(words) % 3 else "&"
        at = len(self.source)
        self.source += mark + words + mark
        self.spans.append(SourceSpan(len(self.text), len(words), at, len(self.source)))
        self.text += words


@pytest.fixture(scope="session")
def build() -> Build:
    """`build(("h1", "Title"), ("paragraph", "Words."), ("list", [("item", "One"), ...]), ...)` makes a page."""

    def page(*parts: Part, title: str = "Arms", chapter: str = "Robots") -> Page:
        builder = _PageBuilder()
        blocks = tuple(builder.block(part) for part in parts)
        spans = tuple(builder.spans)
        return Page("arms.md", "/arms", title, chapter, 0, builder.source, builder.text, spans, blocks)

    return page


@pytest.fixture(scope="session")
def find_chunk_spans() -> FindChunkSpans:
    """Returns the spans of a page's chunks in its text."""

    def spans(page: Page, chunks: list[Chunk]) -> list[tuple[int, int]]:
        found, after = [], 0
        for chunk in chunks:
            at = page.text.index(chunk.text, after)
            # A heading may have the same words: the place in the source shows which ones are meant.
            while find_source_span(page.spans, at, at + len(chunk.text)) != (chunk.place.start, chunk.place.end):
                at = page.text.index(chunk.text, at + 1)
            after = at + len(chunk.text)
            found.append((at, after))
        return found

    return spans


@pytest.fixture(scope="session")
def check_units() -> Check:
    """Checks that units are inside the chunk, ordered, disjoint, trimmed, and contain every word."""

    def check(chunk: Chunk) -> None:
        after = 0
        for _, start, end in chunk.units:
            words = chunk.text[start:end]
            assert after <= start < end <= len(chunk.text)
            assert not chunk.text[after:start].strip()
            assert words == words.rstrip()
            assert words.split("\n")[0].strip()
            after = end
        assert not chunk.text[after:].strip()

    return check
