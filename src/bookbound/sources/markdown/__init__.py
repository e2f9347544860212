"""Renders a page of Markdown or MDX as visible text with its structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, takewhile

from bookbound.domain.document import BlockKind
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.hidden_spans import PLACEHOLDER
from bookbound.sources.markdown.html_elements import HtmlBlock, HtmlBlockRenderer
from bookbound.sources.markdown.inline_renderer import InlineContent, InlineRenderer
from bookbound.sources.markdown.markdown_it import Token, parse_markdown, parse_markdown_inline
from bookbound.sources.markdown.markup import strip_markup
from bookbound.sources.page_builder import BlockMarker, CharSpan, PageBuilder, RenderedPage
from bookbound.sources.slugs import Slugger, find_explicit_id
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
_VARIANTS = {"dt": "term", "dd": "description"}
_FENCE_LANGUAGE = re.compile(r"\{?[ \t]*\.?(?P<name>[\w+#-]+)")
_ALERT = re.compile(r"[ \t]*(?:>[ \t]*)+\[!(?P<name>\w+)\]")
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
    """Render a page whose text begins at `start`; show the `title` above it unless a heading opens the page."""
    masked, html_blocks = strip_markup(source, dialect, start)
    html_ends = {block.start: block.end for block in html_blocks.values()}
    tokens = parse_markdown(masked, dialect.has_indented_code, dialect.has_definition_lists, html_ends)
    builder = PageBuilder(source)
    has_heading = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    if title and not has_heading:
        with builder.block("heading", 1):
            builder.copy(*title)
    _MarkdownRenderer(builder, masked, dialect, html_blocks).render(tokens)
    return builder.build()


def join_token_text(tokens: Iterable[Token]) -> str:
    """Join the text of inline tokens; a line break is a space."""
    text = "".join(token.content or " " * token.type.endswith("break") for token in tokens)
    return text.replace(PLACEHOLDER, "")


def _hide_lines_of_images(tokens: list[Token]) -> list[Token]:
    """Hide the descriptions of pictures on lines without other words, because they are not sentences of the book."""
    for is_break, line in groupby(tokens, key=lambda token: token.type.endswith("break")):
        words = [token for token in line if not is_break and token.content.strip(f" {PLACEHOLDER}")]
        for image in words if all(token.type == "image" for token in words) else ():
            image.children = []
    return tokens


class _MarkdownRenderer:
    def __init__(
        self, builder: PageBuilder, masked: str, dialect: MarkdownDialect, html_blocks: Mapping[int, HtmlBlock]
    ) -> None:
        self.builder, self.masked = builder, masked
        self.dialect, self.html_blocks = dialect, html_blocks
        self.slugger = Slugger(dialect.slug_rule, map(find_explicit_id, builder.source.split("\n")))
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", masked)), len(masked) + 1]
        self.marker_end = 0
        self.next_numbers: list[int] = []

    def render(self, tokens: list[Token]) -> None:
        rest = iter(tokens)
        for token in rest:
            name = token.type.removesuffix("_open").removesuffix("_close")
            if token.type == "heading_open":
                self._render_heading(token, next(rest))
                next(rest)
            elif token.type == "tr_open":
                row = list(takewhile(lambda cell: cell.type != "tr_close", rest))
                variant = "header" if row and row[0].type == "th_open" else ""
                self._render_row(token, [cell for cell in row if cell.type == "inline"], variant)
            elif token.type == "inline":
                inner = _hide_lines_of_images(token.children or [])
                self._render_inline(token.content, inner, self._line_spans(token))
            elif token.type in ("fence", "code_block"):
                self._render_code(token)
            elif token.type == "html_element":
                block = self.html_blocks[token.meta["start"]]
                HtmlBlockRenderer(self.builder, self.masked, self._render_words).render(block)
            elif token.type in ("math_block", "tex_environment"):
                self._render_formula(token)
            elif token.type == "blockquote_open":
                alert = _ALERT.match(self.builder.source, next(self._line_spans(token))[0])
                self.builder.open_markup("quote", alert["name"].lower() if alert else "")
            elif token.type == "blockquote_close":
                self.builder.close_markup()
            elif name.startswith("container") and token.nesting > 0:
                self._open_admonition(token)
            elif name in _BLOCK_KINDS and token.nesting > 0:
                if name == "ordered_list":
                    self.next_numbers.append(int(token.attrs.get("start", 1)))
                marker = self._find_marker(token) if name == "list_item" else None
                self.builder.open_block(_BLOCK_KINDS[name], marker=marker, variant=_VARIANTS.get(name, ""))
            elif name in _BLOCK_KINDS:
                if name == "ordered_list":
                    self.next_numbers.pop()
                self.builder.close_block()

    def _line_spans(self, token: Token) -> Iterator[CharSpan]:
        """Yield the range of each line of a token."""
        first, last = token.map or (0, 0)
        # The term of a definition ends on the line on which it begins.
        for line in range(first, min(max(last, first + 1), len(self.line_starts) - 1)):
            yield self.line_starts[line], self.line_starts[line + 1] - 1

    def _render_inline(self, text: str, tokens: list[Token], lines: Iterable[CharSpan]) -> None:
        content = InlineContent.of_lines(text, self.masked, lines)
        InlineRenderer(self.builder, self.masked, content).render(tokens)

    def _render_words(self, start: int, end: int) -> None:
        """Render the Markdown at a range of the source outside any Markdown block."""
        text = self.masked[start:end]
        starts = [start, *(start + match.end() for match in re.finditer("\n", text))]
        lines = zip(starts, [*(at - 1 for at in starts[1:]), end], strict=True)
        if text[0].isspace():
            self.builder.add_space()
        self._render_inline(text, parse_markdown_inline(text), lines)
        if text[-1].isspace():
            self.builder.add_space()

    def _render_heading(self, opening: Token, inline: Token) -> None:
        tokens, level = inline.children or [], int(opening.tag[1])
        is_heading = len(inline.content) <= MAX_TITLE_CHARS
        with self.builder.block("heading" if is_heading else "paragraph", level * is_heading) as block:
            self._render_inline(inline.content, tokens, self._line_spans(inline))
            if not is_heading:
                return
            start, end = next(self._line_spans(opening))
            anchor = find_explicit_id(self.builder.source[start:end])
            if anchor:
                self.slugger.reserve(anchor)
            else:
                with_images = self.dialect.slug_rule.reads_images
                anchor = self.slugger.anchor(join_token_text(t for t in tokens if with_images or t.type != "image"))
            block.anchor = "" if level == 1 and not self.dialect.has_title_anchor else anchor

    def _render_row(self, opening: Token, cells: list[Token], variant: str) -> None:
        start, end = next(self._line_spans(opening))
        contents = InlineContent.of_cells([cell.content for cell in cells], self.masked, start, end)
        with self.builder.block("row", variant=variant):
            for i, (cell, content) in enumerate(zip(cells, contents, strict=True)):
                if i:
                    self.builder.add_cell_separator()
                InlineRenderer(self.builder, self.masked, content).render(cell.children or [])

    def _render_code(self, token: Token) -> None:
        lines = list(self._line_spans(token))
        source = self.builder.source
        if token.type == "code_block" and any(source[s:e] != self.masked[s:e] for s, e in lines):
            with self.builder.block("paragraph"):
                self._render_inline(token.content, parse_markdown_inline(token.content), lines)
            return
        if token.type == "fence" and (title := _FENCE_TITLE.search(source, *lines.pop(0))):
            with self.builder.block("paragraph", variant="caption"):
                self.builder.copy(*title.span(title.lastindex or 0))
        language = _FENCE_LANGUAGE.match(token.info.strip())
        name = language["name"].lower() if language else ""
        with self.builder.block("formula" if name == "math" else "code", variant=name if name != "math" else ""):
            spans = [
                (end - len(line if self.masked.endswith(line, start, end) else line.lstrip()), end)
                for line, (start, end) in zip(token.content.split("\n"), lines, strict=False)
            ]
            # A line that is hidden as a whole goes; a blank line stays.
            hidden = " \t" + PLACEHOLDER
            visible = [(s, e) for s, e in spans if self.masked[s:e].strip(hidden) or not source[s:e].strip()]
            self.builder.copy_lines(visible, self.masked)

    def _render_formula(self, token: Token) -> None:
        content = InlineContent.of_lines(token.content, self.masked, self._line_spans(token))
        with self.builder.block("formula"):
            for line in content.lines(0, len(content.text)):
                self.builder.add_gap("\n")
                for span in line:
                    self.builder.copy_words(*span)

    def _find_marker(self, token: Token) -> BlockMarker:
        """Find an item's marker and the space after it, or make one if the item has another number in its list."""
        start, end = next(self._line_spans(token))
        marker = token.info + token.markup
        at = max(self.masked.find(marker, max(start, self.marker_end), end), start)
        self.marker_end = at + len(marker)
        if token.info:
            number = self.next_numbers[-1]
            self.next_numbers[-1] += 1
            if int(token.info) != number:
                return f"{number}{token.markup} ", at, self.marker_end
        return at, self.marker_end + self.masked.startswith(" ", self.marker_end)

    def _open_admonition(self, token: Token) -> None:
        """Begin an admonition with its title, or its name if that is a usual one."""
        start, end = next(self._line_spans(token))
        at = max(self.masked.find(token.info, start, end), start)
        match = _ADMONITION_OPENING.match(self.masked, at, end)
        span = (at, at)
        if match:
            title = next((group for group in ("label", "quoted", "piped", "rest") if match[group]), "")
            is_titled = (match["name"] or "").lower() in _TITLED_ADMONITIONS and match["quoted"] is None
            span = match.span(title) if title else match.span("name") if is_titled else span
        self.builder.open_block("admonition", variant=(match["name"] or "").lower() if match else "")
        text = self.masked[slice(*span)].strip()
        with self.builder.block("paragraph"):
            self._render_inline(text, parse_markdown_inline(text), [span])
