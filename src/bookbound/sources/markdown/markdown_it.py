"""Parses Markdown with markdown-it-py into tokens that know where they end."""

from __future__ import annotations

import re
from collections.abc import Callable
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
# The parser looks for the end of each bracket anew: words with more of them than any author writes stay as they are.
_MAX_BRACKETS = 2_000
# One block opens at most so many levels; beyond the parser's limit it would pass over the words.
_NESTING_MARGIN = 10


def parse_markdown(text: str, indented_code: bool, definitions: bool = False) -> list[Token]:
    """The tokens of a page; each link and image holds in its meta where it ends."""
    return _parser(indented_code, definitions).parse(text, {})


def parse_markdown_inline(text: str) -> list[Token]:
    """The tokens of a line that stands outside of any paragraph, such as a title."""
    return _parser(True).parseInline(text, {})[0].children or []


@cache
def _parser(indented_code: bool, definitions: bool = False) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING + _NESTING_MARGIN})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "text_join"])
    if not indented_code:
        parser.disable("code")
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    footnote_plugin(parser, inline=False, move_to_end=False)
    if definitions:
        deflist_plugin(parser)
    container_plugin(parser, "colons", marker=":", validate=_names_a_container)
    container_plugin(parser, "slashes", marker="/", validate=_names_a_container)
    parser.block.ruler.before("table", "bottom", _limit_nesting)
    parser.block.ruler.before(
        "fence", "indented_container", _indented_container, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.core.ruler.at("inline", _parse_inline_tokens)
    parser.inline.ruler.at("link", _record_end(link))
    parser.inline.ruler.at("image", _record_end(image))
    return parser


def _names_a_container(params: str, *_: str) -> bool:
    return bool(_CONTAINER_NAME.match(params))


def _parse_inline_tokens(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.content.count("[") > _MAX_BRACKETS:
            token.children = [Token("text", "", 0, content=token.content)]
        elif token.type == "inline":
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _record_end(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The rule, which then leaves in its last token where it ended."""

    def ending(state: StateInline, silent: bool) -> bool:
        matched = rule(state, silent)
        if matched and not silent:
            state.tokens[-1].meta["end"] = state.pos
        return matched

    return ending


def _limit_nesting(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Below the deepest level all is paragraphs, so that no word is lost."""
    return state.level >= _MAX_NESTING and paragraph(state, first, last, silent)


def _indented_container(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """`!!! note "Title"`, `??? note` and `=== "Tab"`, each with the deeper lines that follow."""
    start = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first) or not _INDENTED_CONTAINER.match(state.src, start, state.eMarks[first]):
        return False
    if silent:
        return True
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= state.blkIndent + 4):
        end += 1
    token = state.push("container_indented_open", "div", 1)
    token.info, token.map = state.src[start : state.eMarks[first]], [first, end]
    outer, line_max, parent = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = state.blkIndent + 4, end, "container"
    state.md.block.tokenize(state, first + 1, end)
    state.blkIndent, state.lineMax, state.parentType = outer, line_max, parent
    state.push("container_indented_close", "div", -1)
    state.line = end
    return True
