"""Finds and renders the HTML lists, tables, headings and preformatted text inside Markdown."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from bookbound.domain.document import BlockKind
from bookbound.sources.markdown.hidden_spans import INLINE_TAGS, PLACEHOLDER
from bookbound.sources.page_builder import PageBuilder, visible_spans

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_KINDS: dict[str, BlockKind] = {
    **dict.fromkeys(("ul", "ol", "dl"), "list"),
    **dict.fromkeys(("li", "dt", "dd"), "item"),
    **dict.fromkeys(_HEADINGS, "heading"),
    "table": "table",
    "tr": "row",
    "pre": "code",
}
_ELEMENT_NAMES = frozenset(("ul", "ol", "dl", "table", "pre", *_HEADINGS))
_MAX_DEPTH = 60
# Markdown inside an element is not HTML: then only the tags are hidden.
_MARKDOWN_BLOCK = re.compile(r"^[ \t]*(?:```|~~~|#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|\||>)", re.MULTILINE)
_LINE_OPENING = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_ATTRIBUTE = re.compile(r"""(?<![\w-])(?P<name>id|start)\s*=\s*["']?(?P<value>[^"'\s>]+)""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});")


class HtmlTag(NamedTuple):
    """A tag and where it is in the source."""

    start: int
    end: int
    name: str
    is_closing: bool


class HtmlBlock(NamedTuple):
    """An element on its own lines, from its opening to its closing tag."""

    start: int
    end: int
    tags: Sequence[HtmlTag]


def find_html_blocks(masked: str, tags: Sequence[HtmlTag], has_expressions: bool) -> list[HtmlBlock]:
    """Find the outermost elements that have lines of their own and no Markdown inside."""
    partners: dict[int, int] = {}
    unclosed: dict[str, list[int]] = defaultdict(list)
    for at, tag in enumerate(tags):
        if tag.name in _ELEMENT_NAMES and not tag.is_closing:
            unclosed[tag.name].append(at)
        elif unclosed[tag.name] and tag.is_closing:
            partners[unclosed[tag.name].pop()] = at
    blocks: list[HtmlBlock] = []
    for first, last in sorted(partners.items()):
        block = HtmlBlock(tags[first].start, tags[last].end, tags[first : last + 1])
        is_nested = blocks and block.start < blocks[-1].end
        is_verbatim = tags[first].name == "pre" and not has_expressions
        if not is_nested and _is_on_own_lines(masked, block) and (is_verbatim or not _has_markdown(masked, block)):
            blocks.append(block)
    return blocks


def _is_on_own_lines(masked: str, block: HtmlBlock) -> bool:
    before = masked[masked.rfind("\n", 0, block.start) + 1 : block.start]
    line_end = masked.find("\n", block.end)
    after = masked[block.end : line_end if line_end >= 0 else len(masked)]
    return bool(_LINE_OPENING.fullmatch(before)) and not after.strip(f" \t{PLACEHOLDER}")


def _has_markdown(masked: str, block: HtmlBlock) -> bool:
    return bool(_MARKDOWN_BLOCK.search(masked, masked.find("\n", block.start, block.end) + 1 or block.end, block.end))


class HtmlBlockRenderer:
    """Renders one element; `render_text` renders the words at a range of the source."""

    def __init__(self, builder: PageBuilder, masked: str, render_text: Callable[[int, int], None]) -> None:
        self._builder, self._masked, self._render_text = builder, masked, render_text
        self._open: list[HtmlTag] = []
        self._ignored: Counter[str] = Counter()
        self._numbers: list[int | None] = []
        self._marker: tuple[str, HtmlTag] | None = None
        self._in_paragraph = False
        self._cells = 0
        self._header_rows: set[HtmlTag] = set()

    def render(self, block: HtmlBlock) -> None:
        if block.tags[0].name == "pre":
            self._render_code(block)
            return
        self._header_rows = set(_find_header_rows(block.tags))
        at = block.start
        for tag in block.tags:
            self._render_words(at, tag.start)
            self._close(tag) if tag.is_closing else self._start(tag)
            at = tag.end

    def _kind(self) -> BlockKind | None:
        return _KINDS[self._open[-1].name] if self._open else None

    def _start(self, tag: HtmlTag) -> None:
        kind, inside = _KINDS.get(tag.name), self._kind()
        if kind in ("item", "row") and kind == inside and not self._ignored.total():
            self._end_block()  # HTML does not need the closing tag of an item or a row
            inside = self._kind()
        if inside == "row" and tag.name in ("td", "th"):
            if self._cells:
                self._builder.add_cell_separator()
            self._cells += 1
            return
        self._end_words(tag)
        is_misplaced = inside in ("row", "heading", "code") or (kind == "item" and inside != "list")
        if kind and (is_misplaced or len(self._open) > _MAX_DEPTH):
            self._ignored[tag.name] += 1
        elif kind:
            self._open_block(tag, kind)

    def _open_block(self, tag: HtmlTag, kind: BlockKind) -> None:
        variant = "header" if tag in self._header_rows else ""
        self._builder.open_block(kind, _HEADINGS.get(tag.name, 0), variant=variant)
        self._open.append(tag)
        self._cells, self._marker = 0, None
        if kind == "list":
            start = self._attribute(tag, "start")
            first = int(start) if start.isdecimal() and len(start) < 6 else 1
            self._numbers.append(first if tag.name == "ol" else None)
        elif tag.name == "li":
            number = self._numbers[-1]
            self._marker = ("- " if number is None else f"{number}. "), tag
            self._numbers[-1] = None if number is None else number + 1

    def _close(self, tag: HtmlTag) -> None:
        self._end_words(tag)
        if self._ignored[tag.name]:
            self._ignored[tag.name] -= 1
        elif any(each.name == tag.name for each in self._open):
            while self._end_block() != tag.name:
                pass

    def _end_block(self) -> str:
        """End the innermost block and return its name."""
        tag = self._open.pop()
        self._end_paragraph()
        if _KINDS[tag.name] == "list":
            self._numbers.pop()
        self._builder.close_block(self._attribute(tag, "id") if tag.name in _HEADINGS else "")
        return tag.name

    def _attribute(self, tag: HtmlTag, name: str) -> str:
        found = _ATTRIBUTE.finditer(self._builder.source, tag.start, tag.end)
        return next((match["value"] for match in found if match["name"] == name), "")

    def _end_words(self, tag: HtmlTag) -> None:
        """End a paragraph before a block, or separate words in a row."""
        if tag.name == "br" or (tag.name not in INLINE_TAGS and self._kind() in ("row", "heading")):
            self._builder.add_space()
        elif tag.name not in INLINE_TAGS:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        if self._in_paragraph:
            self._builder.close_block()
            self._in_paragraph = False

    def _render_words(self, start: int, end: int) -> None:
        if not self._masked[start:end].strip(f" \t\n{PLACEHOLDER}"):
            if end > start:
                self._builder.add_space()
            return
        if self._kind() not in ("row", "heading") and not self._in_paragraph:
            if self._marker:
                text, tag = self._marker
                self._builder.substitute(text, tag.start, tag.end)
                self._marker = None
            self._builder.open_block("paragraph")
            self._in_paragraph = True
        self._render_text(start, end)

    def _render_code(self, block: HtmlBlock) -> None:
        """Copy the text between the tags, without what is hidden and without the blank lines around it."""
        first = block.tags[0].end
        pieces = [(one.end, two.start) for one, two in pairwise(block.tags)]
        filled = [start + i for start, end in pieces for i in _filled_range(self._masked[start:end])]
        if not filled:
            return
        first = max(self._masked.rfind("\n", first, filled[0]) + 1, first)
        with self._builder.block("code"):
            for start, end in pieces:
                start, end = max(start, first), min(end, filled[-1] + 1)
                for span in visible_spans(self._builder.source, self._masked, start, end):
                    self._copy_code(*span)

    def _copy_code(self, start: int, end: int) -> None:
        for match in _ENTITY.finditer(self._builder.source, start, max(start, end)):
            self._builder.copy(start, match.start())
            self._builder.substitute(unescape(match[0]), *match.span())
            start = match.end()
        self._builder.copy(start, end)


def _find_header_rows(tags: Sequence[HtmlTag]) -> Iterator[HtmlTag]:
    """Yield the rows whose cells all name columns; a row may lack its closing tag."""
    row: HtmlTag | None = None
    cells: set[str] = set()
    for tag in tags:
        if tag.name in ("td", "th"):
            cells.add(tag.name)
        elif tag.name in ("tr", "table"):
            if row and cells == {"th"}:
                yield row
            row, cells = (tag if tag.name == "tr" and not tag.is_closing else None), set()


def _filled_range(text: str) -> Iterator[int]:
    """Yield the first and the last position that is not blank."""
    plain = text.replace(PLACEHOLDER, " ")
    if plain.strip():
        yield len(plain) - len(plain.lstrip())
        yield len(plain.rstrip()) - 1
