"""Arranges the text of a page as nested blocks and runs of words; the template has an element for each kind."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, find_cells
from bookbound.domain.document import InlineKind, MarkupSpan
from bookbound.server.page.pygments import StyledCode, highlight_code

CharSpan = tuple[int, int]
LinkResolver = Callable[[str], str]
"""Returns the safe address of a link's target, or nothing."""
MAX_DEPTH = 16
"""Blocks that are nested deeper are shown on the last level."""
MAX_TITLE_CHARS = 100
_CONTAINERS = ("quote", "admonition", "definition", "list", "table", "item")
"""The kinds of blocks around others; of two with the same text, the first kind is outside."""
_LEAVES = frozenset(("heading", "paragraph", "code", "formula", "row", "picture"))
_VERBATIM = frozenset(("code", "formula"))
# How many inline spans that begin before a range are checked for reaching into it.
_MAX_LOOK_BACK = 32
_MARKER = re.compile(r"\s*(?:[-*+•‣◦·–]|\(?(?:(?P<number>\d{1,6})|(?P<letter>[A-Za-z])|#)[.)])\s+")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_TONES = {
    **dict.fromkeys(("tip", "hint", "success", "check", "done"), "good"),
    **dict.fromkeys(("warning", "caution", "attention", "important"), "careful"),
    **dict.fromkeys(("danger", "error", "failure", "bug"), "bad"),
}


class WordRun(NamedTuple):
    """Words of one style: a set of inline kinds."""

    text: str
    styles: frozenset[InlineKind] = frozenset()


class LinkedRuns(NamedTuple):
    """Neighbouring runs, and where they link to, if anywhere."""

    href: str
    runs: tuple[WordRun, ...]


class ShownBlock(NamedTuple):
    """A block of the page: words or code, and the blocks inside it.

    `kind` is that of the book, or `term`, `caption`. `tone` colours an admonition; `marker` is the number or letter of
    a list item, or `#` if it has none of its own; `cells` are those of a row.
    """

    kind: str
    words: tuple[LinkedRuns, ...] = ()
    children: tuple[ShownBlock, ...] = ()
    code: tuple[StyledCode, ...] = ()
    cells: tuple[tuple[LinkedRuns, ...], ...] = ()
    tone: str = ""
    marker: str = ""

    @property
    def number(self) -> str:
        """The number of a list item, also of one with a letter, or nothing."""
        return str(ord(self.marker.lower()) - ord("a") + 1) if self.marker.isalpha() else self.marker.strip("#")


class PageText:
    """The visible text of a page, put together from its chunks, with its markup."""

    def __init__(self, chunks: Sequence[Chunk], resolve_link: LinkResolver) -> None:
        self._resolve_link = resolve_link
        spans = sorted(dict.fromkeys(span for chunk in chunks for span in chunk.markup), key=_outside_first)
        self._blocks = [span for span in spans if span.kind in _CONTAINERS or span.kind in _LEAVES]
        self._inline = [span for span in spans if span.kind not in _CONTAINERS and span.kind not in _LEAVES]
        self._text = "".join(self._join(chunks))

    def build_blocks(self, start: int, end: int) -> tuple[ShownBlock, ...]:
        """Returns the blocks of characters `start` to `end`."""
        clipped = (
            span._replace(start=max(span.start, start), end=min(span.end, end))
            for span in self._blocks
            if (span.start < end and span.end > start) or _is_picture(span, start - 1, end + 1)
        )
        return tuple(_join_alerts(self._nest(start, end, deque(clipped), 0)))

    def _join(self, chunks: Sequence[Chunk]) -> Iterator[str]:
        """Yields the texts and what stands between them: line breaks, or one space inside a paragraph."""
        verbatim = [span for span in self._blocks if span.kind in _VERBATIM]
        at = 0
        for chunk in chunks:
            before = bisect_left(verbatim, chunk.offset, key=lambda span: span.start)
            is_verbatim = before > 0 and verbatim[before - 1].end > chunk.offset
            gap = chunk.offset - at
            yield "\n" * gap if is_verbatim or gap > 1 else " " * gap
            yield chunk.text
            at = chunk.offset + len(chunk.text)

    def _nest(self, start: int, end: int, spans: deque[MarkupSpan], depth: int) -> Iterator[ShownBlock]:
        """Yields the blocks of a range, and its text outside any block as paragraphs."""
        while spans and (spans[0].start < end or _is_picture(spans[0], start, end + (depth == 0))):
            span = spans.popleft()
            yield from self._make_paragraphs(start, min(span.start, end))
            start = max(start, min(span.end, end))
            if span.kind in _LEAVES:
                yield self._make_leaf(span)
                while spans and spans[0].start < start:
                    inside = spans.popleft()
                    yield from [self._make_leaf(inside)] if inside.kind == "picture" else ()
            else:
                children = tuple(_join_alerts(self._nest_children(span, spans, depth + 1)))
                # A picture between the rows of a table comes after it.
                inner = tuple(child for child in children if span.kind != "table" or child.kind != "picture")
                yield from [_make_container(span, inner)] if depth < MAX_DEPTH and inner else inner
                yield from (child for child in children if child not in inner)
        yield from self._make_paragraphs(start, end)

    def _nest_children(self, span: MarkupSpan, spans: deque[MarkupSpan], depth: int) -> Iterator[ShownBlock]:
        if span.kind != "item" or span.value:
            yield from self._nest(span.start, span.end, spans, depth)
            return
        marker = _MARKER.match(self._text, span.start, span.end)
        name = (marker["number"] or marker["letter"] or "#" * ("#" in marker[0])) if marker else ""
        yield ShownBlock("marker", marker=name)
        yield from self._nest(marker.end() if marker else span.start, span.end, spans, depth)

    def _make_paragraphs(self, start: int, end: int) -> Iterator[ShownBlock]:
        for gap in (*_BLANK_LINES.finditer(self._text, start, end), None):
            stop = gap.start() if gap else end
            if self._text[start:stop].strip():
                yield ShownBlock("paragraph", self._split_runs(start, stop))
            start = gap.end() if gap else end

    def _make_leaf(self, span: MarkupSpan) -> ShownBlock:
        kind, value = span.kind, span.value
        start, end = span.start, span.end
        if kind == "picture":
            address, _, description = value.partition("\n")
            href = self._resolve_link(address) if address.startswith(("https://", "http://")) else ""
            return ShownBlock(kind, (LinkedRuns(href, (WordRun(description),)),))
        if kind in _VERBATIM:
            text = self._text[start:end]
            return ShownBlock(kind, code=highlight_code(text, value) if kind == "code" else (StyledCode(text),))
        if kind == "row":
            cells = find_cells(self._text, start, end, self._find_inline(start, end))
            return ShownBlock(value or kind, cells=tuple(self._split_runs(*cell) for cell in cells))
        shown = value if value in ("term", "caption") else kind
        return ShownBlock(shown, self._split_runs(start, end))

    def _split_runs(self, start: int, end: int) -> tuple[LinkedRuns, ...]:
        """Returns the words of a range; only line breaks of the author remain in them."""
        words = self._text[start:end]
        if not words.strip():
            return ()
        start, end = end - len(words.lstrip()), start + len(words.rstrip())
        inline = self._find_inline(start, end)
        edges = sorted({start, end, *(at for span in inline for at in span[1:3] if start < at < end)})
        pieces = []
        for left, right in pairwise(edges):
            around = [span for span in inline if span.start <= left and span.end >= right]
            targets = (span.value for span in around if span.kind == "link" and span.value)
            href = next(filter(None, map(self._resolve_link, targets)), "")
            styles = frozenset(span.kind for span in around if span.kind != "link")
            pieces.append((href, WordRun(self._text[left:right], styles)))  # type: ignore[arg-type]
        grouped = groupby(pieces, key=lambda piece: piece[0])
        return tuple(LinkedRuns(href, tuple(run for _, run in group)) for href, group in grouped)

    def _find_inline(self, start: int, end: int) -> list[MarkupSpan]:
        first = bisect_left(self._inline, start, key=lambda span: span.start)
        last = bisect_left(self._inline, end, key=lambda span: span.start)
        return [span for span in self._inline[max(0, first - _MAX_LOOK_BACK) : last] if span.end > start]


def _is_picture(span: MarkupSpan, start: int, end: int) -> bool:
    return span.kind == "picture" and start <= span.start <= end


def _outside_first(span: MarkupSpan) -> tuple[int, int, int]:
    if span.kind == "picture":
        return span.start, -sys.maxsize, 0  # before a block that begins there
    rank = _CONTAINERS.index(span.kind) if span.kind in _CONTAINERS else len(_CONTAINERS)
    return span.start, -span.end, rank


def _make_container(span: MarkupSpan, children: tuple[ShownBlock, ...]) -> ShownBlock:
    """Returns the block with its children; a quotation with a value is an alert, such as `> [!NOTE]` in Markdown."""
    if span.kind == "item":
        head = children[0] if children[0].kind == "marker" else None
        return ShownBlock(span.value or "item", children=children[bool(head) :], marker=head.marker if head else "")
    if span.kind not in ("admonition", "quote"):
        return ShownBlock(span.kind, children=children)
    if span.kind == "quote" and not span.value:
        return ShownBlock("quote", children=children)
    name = "".join(run.text for linked in children[0].words for run in linked.runs)
    has_title = children[0].kind == "paragraph" and len(name) <= MAX_TITLE_CHARS and not name.endswith((".", ",", ";"))
    title = [children[0]._replace(kind="title")] if has_title else []
    tone = _TONES.get(span.value) or _TONES.get(name.lower(), "")
    kind = "alert" if span.kind == "quote" else "admonition"
    return ShownBlock(kind, children=(*title, *children[len(title) :]), tone=tone)


def _join_alerts(blocks: Iterable[ShownBlock]) -> Iterator[ShownBlock]:
    """Yields the blocks, alerts as admonitions; one that is only a title takes the text of the quotation after it."""
    title: ShownBlock | None = None
    for block in blocks:
        if title and block.kind == "quote":
            yield title._replace(children=title.children + block.children)
            title = None
            continue
        if title:
            yield title
        is_title = block.kind == "alert" and len(block.children) == 1
        shown = block._replace(kind="admonition") if block.kind == "alert" else block
        title = shown if is_title else None
        yield from () if is_title else (shown,)
    yield from (title,) if title else ()
