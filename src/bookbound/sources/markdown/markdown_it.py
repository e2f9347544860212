"""Parses Markdown with markdown-it-py into tokens that know where they end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, paragraph
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

__all__ = ["Token", "parse_markdown", "parse_markdown_inline"]
_CONTAINER_NAME = re.compile(r"[ \t]*[A-Za-z][\w-]*(?:[ \t\[{|].*)?$")
_INDENTED_CONTAINER = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]+[\"\w]|===[+!]?[ \t]+[\"']")
_MAX_NESTING = 120
# The parser searches for the end of each bracket separately, so text with very many brackets stays as it is.
_MAX_BRACKETS = 2_000
_TEX_ENVIRONMENT = re.compile(
    r"\\begin\{(?P<name>(?:equation|multline|gather|align|alignat|flalign|eqnarray|[pbBvV]?matrix)\*?)\}"
)
_MAX_FORMULA_LINES = 100
# `\(x^2\)`, and `\\(x^2\\)` as mdBook needs it. Other escaped brackets are brackets.
_BRACKET_FORMULA = re.compile(
    r"(?<!\w)(?P<slash>\\{1,2})\((?P<inline>[^$`]{1,1000}?)(?P=slash)\)"
    r"|^(?P<slashes>\\{1,2})\[(?P<display>[^$`]{1,1000}?)(?P=slashes)\](?=[ \t]*$)",
    re.MULTILINE,
)
_TEX_SIGN = re.compile(r"\\[A-Za-z]{2}|(?<!\\)\^|(?<![\\\w])[A-Za-z]_(?:\{|\w\b)")
_VARIABLE = re.compile(r"\s*[A-Za-z]'?\s*")
# One block opens at most this many levels; beyond its own limit the parser would skip the words.
_NESTING_MARGIN = 10


def parse_markdown(
    text: str, indented_code: bool, definition_lists: bool = False, html_ends: Mapping[int, int] | None = None
) -> list[Token]:
    """Parse a page; the `meta` of each link and image says where it ends.

    `html_ends` are the ends of HTML elements by their starts; the `meta` of their tokens says where they start.
    """
    return _parser(indented_code, definition_lists).parse(text, {"html_ends": html_ends or {}})


def parse_markdown_inline(text: str) -> list[Token]:
    """Parse a line outside any paragraph, such as a title."""
    return _parser(True).parseInline(text, {})[0].children or []


@cache
def _parser(indented_code: bool, definition_lists: bool = False) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING + _NESTING_MARGIN})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "text_join"])
    if not indented_code:
        parser.disable("code")
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    footnote_plugin(parser, inline=False, move_to_end=False)
    if definition_lists:
        deflist_plugin(parser)
    for name, marker in (("colons", ":"), ("slashes", "/")):
        container_plugin(parser, name, marker=marker, validate=lambda params, *_: bool(_CONTAINER_NAME.match(params)))
    parser.block.ruler.before("table", "limit_nesting", _limit_nesting)
    # These can end each of the blocks in `alt`.
    for before, name, rule in (
        ("fence", "indented_container", _indented_container),
        ("limit_nesting", "html_element", _html_element),
        ("fence", "tex_environment", _tex_environment),
    ):
        parser.block.ruler.before(before, name, rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.inline.ruler.before("escape", "math_brackets", _math_brackets)
    parser.core.ruler.at("inline", _parse_inline_tokens)
    parser.inline.ruler.at("link", _record_end(link))
    parser.inline.ruler.at("image", _record_end(image))
    return parser


def _parse_inline_tokens(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.content.count("[") > _MAX_BRACKETS:
            token.children = [Token("text", "", 0, content=token.content)]
        elif token.type == "inline":
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _record_end(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap a rule so that its last token says where it ends."""

    def wrapped(state: StateInline, silent: bool) -> bool:
        matched = rule(state, silent)
        if matched and not silent:
            state.tokens[-1].meta["end"] = state.pos
        return matched

    return wrapped


def _limit_nesting(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read everything below the deepest level as paragraphs, so that no word is lost."""
    return state.level >= _MAX_NESTING and paragraph(state, first, last, silent)


def _indented_container(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Parse `!!! note "Title"`, `??? note` and `=== "Tab"` with the deeper lines that follow."""
    start = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first) or not _INDENTED_CONTAINER.match(state.src, start, state.eMarks[first]):
        return False
    if silent:
        return True
    lines = range(first + 1, last)
    end = next((line for line in lines if not state.isEmpty(line) and state.sCount[line] < state.blkIndent + 4), last)
    token = state.push("container_indented_open", "div", 1)
    token.info, token.map = state.src[start : state.eMarks[first]], [first, end]
    outer, line_max, parent = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = state.blkIndent + 4, end, "container"
    state.md.block.tokenize(state, first + 1, end)
    state.blkIndent, state.lineMax, state.parentType = outer, line_max, parent
    state.push("container_indented_close", "div", -1)
    state.line = end
    return True


def _tex_environment(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Take the lines from `\\begin{align}` to `\\end{align}` as one formula."""
    start = state.bMarks[first] + state.tShift[first]
    found = None if state.is_code_block(first) else _TEX_ENVIRONMENT.match(state.src, start, state.eMarks[first])
    if not found:
        return False
    for line in range(first, min(last, first + _MAX_FORMULA_LINES)):
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return False
        if state.src[state.bMarks[line] : state.eMarks[line]].rstrip().endswith(f"\\end{{{found['name']}}}"):
            if not silent:
                token = state.push("tex_environment", "", 0)
                token.content = state.getLines(first, line + 1, state.sCount[first], True)
                token.map = [first, line + 1]
                state.line = line + 1
            return True
    return False


def _math_brackets(state: StateInline, silent: bool) -> bool:
    """Take `\\(x^2\\)` and `\\[x^2\\]` as formulas if there is TeX in them."""
    found = _BRACKET_FORMULA.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "\\" else None
    group = "inline" if found and found["inline"] else "display"
    if not found or not (_TEX_SIGN.search(found[group]) or (group == "inline" and _VARIABLE.fullmatch(found[group]))):
        return False
    if not silent:
        token = state.push("math_brackets", "math", 0)
        token.content, token.meta = found[group], {"start": found.start(group), "end": found.end()}
    state.pos = found.end()
    return True


def _html_element(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Take the lines of an HTML element as one token."""
    start = state.bMarks[first] + state.tShift[first]
    end = state.env["html_ends"].get(start, start) if state.env else start
    after = next((line for line in range(first + 1, last) if state.bMarks[line] >= end), max(first + 1, last))
    if end == start or (after == last and after < len(state.bMarks) - 1 and state.bMarks[after] < end):
        return False
    if not silent:
        token = state.push("html_element", "", 0)
        token.map, token.meta["start"] = [first, after], start
        state.line = after
    return True
