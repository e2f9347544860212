"""Renders a page of Markdown or MDX as visible text with its structure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.domain.document import BlockKind
from bookbound.sources import slugs
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.hidden_spans import PLACEHOLDER
from bookbound.sources.markdown.inline_renderer import InlineContent, InlineRenderer
from bookbound.sources.markdown.markdown_it import Token, parse_markdown, parse_markdown_inline
from bookbound.sources.markdown.markup import strip_markup
from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.titles import MAX_TITLE_CHARS

_BLOCK_KINDS: dict[str, BlockKind] = {
    "heading": "heading",
    "paragraph": "paragraph",
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "dl": "list",
    "dt": "item",
    "dd": "item",
    "table": "table",
    "container_colons": "admonition",
    "container_slashes": "admonition",
    "container_indented": "admonition",
}
_FENCE_TITLE = re.compile(r"""(?<!\w)title=(?:"([^"]+)"|'([^']+)')""")
# The name of an admonition and its title: `note[Title]`, `note Title`, `note | Title`, `!!! note "Title"`, `=== "Tab"`.
_ADMONITION_OPENING = re.compile(
    r"""[:/!?=+ \t]*(?P<name>[A-Za-z][\w-]*)?(?:[ \t]+(?:inline|end))*"""
    r"""(?:[ \t]*(?:\[(?P<label>.*)\]|"(?P<quoted>.*)")|[ \t]*\|[ \t]*(?P<piped>.+)|[ \t]+(?P<rest>[^{\s].*))?"""
)
_TITLED_ADMONITIONS = frozenset(
    "note tip info warning danger caution important success question failure bug example quote abstract hint"
    " attention error seealso summary".split()
)


def render_markdown(
    source: str, dialect: MarkdownDialect, start: int = 0, title: CharSpan | None = None
) -> RenderedPage:
    """The visible text of a page whose words begin at `start`; `title` is shown above unless a heading opens it."""
    masked = strip_markup(source, dialect, start)
    tokens = parse_markdown(masked, dialect.indented_code, dialect.definitions)
    galley = PageBuilder(source)
    opens = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    if title and not opens:
        galley.open("heading", 1)
        galley.copy(*title)
        galley.close()
    _MarkdownRenderer(galley, masked, dialect).set(tokens)
    return galley.finish()


class _MarkdownRenderer:
    """Sets the tokens of one page, block by block."""

    def __init__(self, galley: PageBuilder, masked: str, dialect: MarkdownDialect) -> None:
        self.galley = galley
        self.masked = masked
        self.dialect = dialect
        self.slugger = slugs.Slugger(dialect.rule, map(slugs.find_explicit_id, galley.source.split("\n")))
        self.starts = [0, *(found.end() for found in re.finditer("\n", masked)), len(masked) + 1]
        self.marked = 0

    def set(self, tokens: list[Token]) -> None:
        rest = iter(tokens)
        for token in rest:
            name = token.type.removesuffix("_open").removesuffix("_close")
            if token.type == "heading_open":
                self._heading(token, next(rest))
                next(rest)
            elif token.type == "tr_open":
                self._row(token, [cell for cell in _take_until(rest, "tr_close") if cell.type == "inline"])
            elif token.type == "inline":
                self._words(token.content, token.children or [], token)
            elif token.type in ("fence", "code_block"):
                self._code(token)
            elif token.type == "math_block":
                self._formula(token)
            elif name in _BLOCK_KINDS and token.nesting > 0:
                self.galley.open(_BLOCK_KINDS[name], marker=self._marker(token) if name == "list_item" else None)
                if name.startswith("container"):
                    self._title(token)
            elif name in _BLOCK_KINDS:
                self.galley.close()

    def _lines(self, token: Token) -> Iterator[CharSpan]:
        """Where the lines of a token begin and end."""
        first, last = token.map or (0, 0)
        # A term of a definition ends on the line that it begins on.
        for line in range(first, min(max(last, first + 1), len(self.starts) - 1)):
            yield self.starts[line], self.starts[line + 1] - 1

    def _words(self, text: str, tokens: list[Token], place: Token) -> None:
        InlineRenderer(self.galley, self.masked, InlineContent.of_lines(text, self.masked, self._lines(place))).set(
            tokens
        )

    def _heading(self, opening: Token, inline: Token) -> None:
        level = int(opening.tag[1])
        if len(inline.content) > MAX_TITLE_CHARS:
            self.galley.open("paragraph")
            self._words(inline.content, inline.children or [], inline)
            self.galley.close()
            return
        self.galley.open("heading", level)
        self._words(inline.content, inline.children or [], inline)
        start, end = next(self._lines(opening))
        anchor = slugs.find_explicit_id(self.galley.source[start:end])
        if anchor:
            self.slugger.take(anchor)
        else:
            anchor = self.slugger.anchor(_heading_text(inline.children or [], self.dialect.rule.reads == "words"))
        self.galley.close("" if level == 1 and not self.dialect.title_anchor else anchor)

    def _row(self, opening: Token, cells: list[Token]) -> None:
        start, end = next(self._lines(opening))
        texts = [cell.content for cell in cells]
        filled = [i for i, text in enumerate(texts) if text]
        self.galley.open("row")
        contents = InlineContent.of_cells(texts, self.masked, start, end)
        for i, (cell, content) in enumerate(zip(cells, contents, strict=True)):
            if i and filled and i <= filled[-1]:
                self.galley.insert(" | ")
            InlineRenderer(self.galley, self.masked, content).set(cell.children or [])
        self.galley.close()

    def _code(self, token: Token) -> None:
        spans = list(self._lines(token))
        source = self.galley.source
        if token.type == "code_block" and any(source[s:e] != self.masked[s:e] for s, e in spans):
            self.galley.open("paragraph")
            self._words(token.content, parse_markdown_inline(token.content), token)
            self.galley.close()
            return
        self.galley.open("code")
        if token.type == "fence":
            self._fence_title(*spans.pop(0))
        words = [
            (end - len(line if self.masked.endswith(line, start, end) else line.lstrip()), end)
            for line, (start, end) in zip(token.content.split("\n"), spans, strict=False)
        ]
        self.galley.lines([span for span in words if self._shown(*span)], self.masked)
        self.galley.close()

    def _shown(self, start: int, end: int) -> bool:
        """Whether something of a line of code is seen, or nothing of it is hidden."""
        return bool(self.masked[start:end].strip(" \t" + PLACEHOLDER)) or not self.galley.source[start:end].strip()

    def _fence_title(self, start: int, end: int) -> None:
        found = _FENCE_TITLE.search(self.galley.source, start, end)
        if found:
            self.galley.copy(*found.span(found.lastindex or 0))
            self.galley.gap("\n")

    def _formula(self, token: Token) -> None:
        content = InlineContent.of_lines(token.content, self.masked, self._lines(token))
        self.galley.open("formula")
        for line in content.lines(0, len(content.text)):
            self.galley.gap("\n")
            for span in line:
                self.galley.words(*span)
        self.galley.close()

    def _marker(self, token: Token) -> CharSpan:
        """Where an item's own marker stands, with the space after it."""
        start, end = next(self._lines(token))
        marker = token.info + token.markup
        at = max(self.masked.find(marker, max(start, self.marked), end), start)
        self.marked = at + len(marker)
        return at, self.marked + self.masked.startswith(" ", self.marked)

    def _title(self, token: Token) -> None:
        """What stands above an admonition: its title or, for the usual ones, its name."""
        start, end = next(self._lines(token))
        at = max(self.masked.find(token.info, start, end), start)
        found = _ADMONITION_OPENING.match(self.masked, at, end)
        span = (at, at)
        if found:
            shown = next((part for part in ("label", "quoted", "piped", "rest") if found[part]), "")
            named = (found["name"] or "").lower() in _TITLED_ADMONITIONS and found["quoted"] is None
            span = found.span(shown) if shown else found.span("name") if named else span
        text = self.masked[slice(*span)].strip()
        self.galley.open("paragraph")
        InlineRenderer(self.galley, self.masked, InlineContent.of_lines(text, self.masked, [span])).set(
            parse_markdown_inline(text)
        )
        self.galley.close()


def _heading_text(tokens: list[Token], pictures: bool) -> str:
    """A heading's text as the generators of anchors see it, with or without the descriptions of pictures."""
    heard = (token for token in tokens if pictures or token.type != "image")
    return "".join(token.content or " " * token.type.endswith("break") for token in heard).replace(PLACEHOLDER, "")


def _take_until(tokens: Iterator[Token], kind: str) -> Iterator[Token]:
    for token in tokens:
        if token.type == kind:
            return
        yield token
