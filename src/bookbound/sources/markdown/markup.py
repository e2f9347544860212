"""Replaces the markup that a reader does not see, and keeps every other character in its position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from bookbound.sources.markdown import hidden_spans
from bookbound.sources.markdown.delimiters import BLANK_LINE, BraceMatcher, CachedSearch, StatementFinder, find_tag_end
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.hidden_spans import PLACEHOLDER, HiddenSpan, find_hidden_code_lines
from bookbound.sources.markdown.html_elements import HtmlBlock, HtmlTag, find_html_blocks
from bookbound.sources.slugs import EXPLICIT_ID

_MARKUP_TOKEN = r"""
    (?P<fence>^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(?P<ticks>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$)
  | (?P<alert>^[ \t]*(?:>[ \t]*)+\[!(?P<alert_name>\w+)\][^\n]*$)
  | (?P<indented>^(?:[ ]{4}|[ ]{0,3}\t)[ \t]*)
  | (?P<escape>\\[^\n])
  | (?P<code>`+)
  | (?P<comment><!--)
  | (?P<display>\$\$)
  | (?P<math>\$(?![\s$])(?:\\[^\n]|[^$\\\n]++|\n(?![ \t]*\n))*+(?<!\s)\$(?!\d))
  | (?P<module>^(?:import|export)\b)
  | (?P<anchor>\{:?[ \t]*+\#|\{/\*[ \t]*+\#|\[\[)
  | (?P<template>\{(?:[%*!]|\{[\#<%])|(?<=\]\()\{\{[^{}\n]*+\}\})
  | (?P<attributes>(?<=[)\]`*])\{:?[ \t]*+(?:[.\#][\w-]|[\w-]++=)[^{}\n]*+\})
  | (?P<brace>\{)
  | (?P<role>^:(?:end_tab:|(?:label|eqlabel|width|height|begin_tab):`[^`\n]*`)[ \t]*$
      |^:::(?=[ \t]+\w+(?:\.\w+)+[ \t]*$))
  | (?P<task>(?<=[-*+][ ])\[[ xX]\](?=[ ]))
  | (?P<tag></?[A-Za-z>])
"""
# What closes a template's tag; the end of the line, or a blank line for a shortcode, means that nothing does.
_TEMPLATE_ENDS = {
    "{%": re.compile(r"%\}|\n"),
    "{*": re.compile(r"\*\}|\n"),
    "{!": re.compile(r"!\}|\n"),
    "{{#": re.compile(r"\}\}|\n"),
    **dict.fromkeys(("{{<", "{{%"), re.compile(r"[>%]\}\}|\n[ \t]*\n")),
}
_HIDDEN_ELEMENT_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "head")}
_LIST_OPENING = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]+\]:|!!!|\?\?\?\+?|===[+!]?)[ \t]")
_HEADING_LINE = re.compile(r" {0,3}#{1,6}[ \t]|[^\n]*\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_INLINE_CODE_LANGUAGE = re.compile(r"#![\w+-]++[ ]")
_MAX_INLINE_CODE_CHARS = 10_000
# In a terminal of MkDocs' termynal, code is HTML: these tags colour its words.
_TERMINAL = re.compile(r"""\sclass=["'][^"']*\btermy\b""")
_TERMINAL_END = re.compile("</div>")
_TERMINAL_MARKUP = re.compile(r"</?(?:font|span|b|i|u|em|strong)(?:\s[^<>\n]*)?>")
ScanStep = tuple[int, list[HiddenSpan]]


class StrippedMarkup(NamedTuple):
    """A source without its hidden markup, and the elements in it that are blocks by themselves."""

    text: str
    html_blocks: dict[int, HtmlBlock]


def strip_markup(source: str, dialect: MarkdownDialect, start: int = 0) -> StrippedMarkup:
    """Replace everything before `start` and all hidden markup after it; every other character keeps its position.

    A placeholder marks the beginning of each element.
    """
    parts = [HiddenSpan(0, start).replacement(source)]
    at = start
    scanner = _MarkupScanner(source, dialect)
    for hidden in scanner.scan(start):
        parts += source[at : hidden.start], hidden.replacement(source)
        at = hidden.end
    parts.append(source[at:])
    # The parser would replace a NUL by another character, which could not be found in the source.
    text = "".join(parts).replace("\0", PLACEHOLDER)
    blocks = find_html_blocks(text, scanner.tags, dialect.has_expressions)
    edges = [0, *(edge for block in blocks for edge in (block.start, block.start + 1)), len(text)]
    kept = [text[left:right] for left, right in zip(edges[::2], edges[1::2], strict=True)]
    return StrippedMarkup(PLACEHOLDER.join(kept), {block.start: block for block in blocks})


class _MarkupScanner:
    """Scans a source once; each step takes a token and returns where the next can begin and what is hidden."""

    def __init__(self, source: str, dialect: MarkdownDialect) -> None:
        self.source = source
        self.dialect = dialect
        self.token = _compile_token(dialect.hidden_pattern)
        self.braces = BraceMatcher(source)
        self.statements = StatementFinder(source)
        self.ahead = CachedSearch(source)
        self.unwrapped: set[int] = set()
        self.tags: list[HtmlTag] = []
        self.terminal_end = 0
        self.code_lines = _find_indented_code(source) if dialect.has_indented_code else frozenset()
        self.steps: dict[str, Callable[[re.Match[str]], ScanStep]] = {
            "fence": self._scan_fence,
            "alert": self._scan_alert,
            "indented": self._scan_indented,
            "code": self._scan_code,
            "comment": self._scan_comment,
            "display": lambda match: (max(self.source.find("$$", match.end()) + 2, match.end()), []),
            "module": self._scan_module,
            "anchor": self._scan_anchor,
            "template": self._scan_template,
            "attributes": self._scan_template,
            "brace": self._scan_brace,
            "role": lambda match: (match.end(), [HiddenSpan(*match.span())]),
            "task": lambda match: (match.end(), [HiddenSpan(*match.span(), PLACEHOLDER)]),
            "tag": self._scan_tag,
            "hidden": self._scan_hidden,
        }

    def scan(self, at: int) -> Iterator[HiddenSpan]:
        """Yield what is hidden, in order and without overlap."""
        while match := self.token.search(self.source, at):
            step = self.steps.get(match.lastgroup or "")
            end, hidden = step(match) if step else (match.end(), [])
            yield from hidden
            at = max(end, match.start() + 1)

    def _scan_fence(self, match: re.Match[str]) -> ScanStep:
        if match.start() in self.unwrapped:
            return match.end(), [HiddenSpan(*match.span())]
        ticks = match["ticks"]
        closing = re.compile(rf"^[ \t>]*{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
        closed = self.ahead.find(closing, match.end())
        if closed and self.dialect.has_expressions and match[0].endswith("mdx-code-block"):
            self.unwrapped.add(closed.start())
            return match.end(), [HiddenSpan(*match.span())]
        end = closed.end() if closed else len(self.source)
        if self.dialect.hidden_prefixes or self.dialect.has_expressions:
            code_end = closed.start() if closed else end
            return end, list(find_hidden_code_lines(self.source, match, code_end, self.dialect))
        tags = _TERMINAL_MARKUP.finditer(self.source, match.end(), min(end, self.terminal_end))
        return end, [HiddenSpan(*tag.span(), PLACEHOLDER) for tag in tags]

    def _scan_alert(self, match: re.Match[str]) -> ScanStep:
        start, end = match.span("alert_name")
        return match.end(), [HiddenSpan(start - 2, start), HiddenSpan(end, end + 1, first="\n")]

    def _scan_indented(self, match: re.Match[str]) -> ScanStep:
        if match.start() not in self.code_lines:
            return match.end(), []
        line_end = self.source.find("\n", match.end())
        return line_end if line_end >= 0 else len(self.source), []

    def _scan_code(self, match: re.Match[str]) -> ScanStep:
        limit = match.end() + _MAX_INLINE_CODE_CHARS
        blank = BLANK_LINE.search(self.source, match.end(), limit)
        closing = re.compile(rf"(?<!`)`{{{len(match[0])}}}(?!`)")
        closed = closing.search(self.source, match.end(), blank.start() if blank else limit)
        if not closed:
            return match.end(), []
        language = _INLINE_CODE_LANGUAGE.match(self.source, match.end()) if self.dialect.has_code_language else None
        return closed.end(), [HiddenSpan(*language.span(), PLACEHOLDER)] if language else []

    def _scan_comment(self, match: re.Match[str]) -> ScanStep:
        closed = self.source.find("-->", match.end())
        end = closed + 3 if closed >= 0 else len(self.source)
        return end, hidden_spans.hide_all(self.source, match.start(), end)

    def _scan_module(self, match: re.Match[str]) -> ScanStep:
        end = self.statements.end(match.start()) if self.dialect.has_imports else -1
        return (end, [HiddenSpan(match.start(), end)]) if end >= 0 else (match.end(), [])

    def _scan_anchor(self, match: re.Match[str]) -> ScanStep:
        explicit = EXPLICIT_ID.match(self.source, match.start())
        if explicit and _HEADING_LINE.match(self.source, self.source.rfind("\n", 0, match.start()) + 1):
            return explicit.end(), [HiddenSpan(*explicit.span())]
        return self._scan_brace(match) if match[0].startswith("{") else (match.start() + 1, [])

    def _scan_template(self, match: re.Match[str]) -> ScanStep:
        closing, end = _TEMPLATE_ENDS.get(match[0]), match.end()
        if closing:
            closed = self.ahead.find(closing, end)
            end = closed.end() if closed and closed[0].strip() else -1
        if self.dialect.has_expressions or not self.dialect.has_templates or end < 0:
            return self._scan_brace(match)
        return end, hidden_spans.hide_template_tag(self.source, match.start(), end)

    def _scan_brace(self, match: re.Match[str]) -> ScanStep:
        is_comment = self.dialect.has_imports and self.source.startswith("{/*", match.start())
        end = self.braces.end(match.start()) if self.dialect.has_expressions or is_comment else -1
        if end < 0:
            return match.start() + 1, []
        return end, hidden_spans.hide_expression(self.source, match.start(), end)

    def _scan_tag(self, match: re.Match[str]) -> ScanStep:
        name, end = find_tag_end(self.source, match.start(), self.braces)
        if end < 0:
            return match.start() + 1, []
        lower_name = name.lower() if name.isupper() else name
        self.tags.append(HtmlTag(match.start(), end, lower_name, match[0].startswith("</")))
        closing = None if match[0].startswith("</") else _HIDDEN_ELEMENT_ENDS.get(name.lower())
        if closing and not self.source.startswith("/>", end - 2):
            closed = self.ahead.find(closing, end)
            if closed or name.lower() != "head":
                end = closed.end() if closed else len(self.source)
                return end, hidden_spans.hide_all(self.source, match.start(), end)
        if name == "div" and _TERMINAL.search(self.source, match.start(), end):
            closed = self.ahead.find(_TERMINAL_END, end)
            self.terminal_end = closed.start() if closed else -1
        return end, hidden_spans.hide_tag(self.source, match.start(), end, name)

    def _scan_hidden(self, match: re.Match[str]) -> ScanStep:
        """Hide what the dialect hides, except the group that it keeps."""
        start, end = match.span("hidden")
        kept = [match.span(name) for name in match.re.groupindex if name.startswith("kept") and match[name]]
        kept_start, kept_end = kept[0] if kept else (end, end)
        before = hidden_spans.hide_all(self.source, start, kept_start)
        return match.end(), [*before, *hidden_spans.hide_all(self.source, kept_end, end)]


@cache
def _compile_token(hidden_pattern: str) -> re.Pattern[str]:
    """Compile the tokens that the scan stops at; what a dialect hides comes first."""
    first = f"(?P<hidden>{hidden_pattern})\n  |" if hidden_pattern else ""
    return re.compile(first + _MARKUP_TOKEN, re.VERBOSE | re.MULTILINE)


def _find_indented_code(source: str) -> frozenset[int]:
    """Return the offsets of lines that are code by their indentation alone."""
    lines: set[int] = set()
    at, after_blank = 0, True
    in_list = in_code = False
    for line in source.split("\n"):
        if line.strip(" \t"):
            is_deep = line.startswith(("    ", "\t"))
            in_code = is_deep and not in_list and (after_blank or in_code)
            if in_code:
                lines.add(at)
            elif not is_deep:
                in_list = bool(_LIST_OPENING.match(line)) or (in_list and line.startswith(" "))
        after_blank = not line.strip(" \t")
        at += len(line) + 1
    return frozenset(lines)
