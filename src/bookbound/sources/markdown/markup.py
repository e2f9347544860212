"""Blanks out the markup that a reader does not see, and keeps every other character in its position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from bookbound.sources.markdown import hidden_spans
from bookbound.sources.markdown.delimiters import BraceMatcher, CachedSearch, StatementFinder, find_tag_end
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.hidden_spans import PLACEHOLDER, HiddenSpan, find_hidden_code_lines
from bookbound.sources.slugs import EXPLICIT_ID

_MARKUP_TOKEN = r"""
    (?P<fence>^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(?P<ticks>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$)
  | (?P<alert>^[ \t]*(?:>[ \t]*)+\[!(?P<alarm>\w+)\][^\n]*$)
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
# What closes a template's tag; a line's end, or for a shortcode a blank line, says that nothing does.
_TEMPLATE_ENDS = {
    "{%": re.compile(r"%\}|\n"),
    "{*": re.compile(r"\*\}|\n"),
    "{!": re.compile(r"!\}|\n"),
    "{{#": re.compile(r"\}\}|\n"),
    **dict.fromkeys(("{{<", "{{%"), re.compile(r"[>%]\}\}|\n[ \t]*\n")),
}
_TERMINAL_END = re.compile("</div>")
_HIDDEN_ELEMENT_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "head")}
_LIST_OPENING = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]+\]:|!!!|\?\?\?\+?|===[+!]?)[ \t]")
_HEADING_LINE = re.compile(r" {0,3}#{1,6}[ \t]|[^\n]*\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_INLINE_CODE_LANGUAGE = re.compile(r"#![\w+-]++[ ]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MAX_INLINE_CODE_CHARS = 10_000
# In such a terminal MkDocs' termynal shows the code as HTML: these tags colour its words.
_TERMINAL = re.compile(r"""\sclass=["'][^"']*\btermy\b""")
_TERMINAL_MARKUP = re.compile(r"</?(?:font|span|b|i|u|em|strong)(?:\s[^<>\n]*)?>")
ScanStep = tuple[int, list[HiddenSpan]]


def strip_markup(source: str, dialect: MarkdownDialect, start: int = 0) -> str:
    """The source with all that is not seen from `start` on blanked, and all that is before it."""
    parts = [HiddenSpan(0, start).of(source)]
    at = start
    for unseen in _MarkupScanner(source, dialect).cuts(start):
        parts += source[at : unseen.start], unseen.of(source)
        at = unseen.end
    parts.append(source[at:])
    # The parser would put another character in the place of a null, and nothing could be found again.
    return "".join(parts).replace("\0", PLACEHOLDER)


class _MarkupScanner:
    """One way through a source; each step takes a token and says where the next may begin and what is unseen."""

    def __init__(self, source: str, dialect: MarkdownDialect) -> None:
        self.source = source
        self.dialect = dialect
        self.token = _compile_token(dialect.unseen)
        self.braces = BraceMatcher(source)
        self.statements = StatementFinder(source)
        self.ahead = CachedSearch(source)
        self.unwrapped: set[int] = set()
        self.terminal_end = 0
        self.code_lines = _find_indented_code(source) if dialect.indented_code else frozenset()
        self.steps: dict[str, Callable[[re.Match[str]], ScanStep]] = {
            "fence": self._fence,
            "alert": lambda found: (found.end(), _hide_alert_brackets(found)),
            "indented": self._indented,
            "code": self._code,
            "comment": self._comment,
            "display": lambda found: (max(self.source.find("$$", found.end()) + 2, found.end()), []),
            "module": self._module,
            "anchor": self._anchor,
            "template": self._template,
            "attributes": self._template,
            "brace": self._brace,
            "role": lambda found: (found.end(), [HiddenSpan(*found.span())]),
            "task": lambda found: (found.end(), [HiddenSpan(*found.span(), PLACEHOLDER)]),
            "tag": self._tag,
            "unseen": lambda found: (found.end(), _hide_except_kept(self.source, found)),
        }

    def cuts(self, at: int) -> Iterator[HiddenSpan]:
        """What is not seen, in order and without overlap."""
        while found := self.token.search(self.source, at):
            step = self.steps.get(found.lastgroup or "")
            end, cuts = step(found) if step else (found.end(), [])
            yield from cuts
            at = max(end, found.start() + 1)

    def _fence(self, found: re.Match[str]) -> ScanStep:
        if found.start() in self.unwrapped:
            return found.end(), [HiddenSpan(*found.span())]
        ticks = found["ticks"]
        closing = re.compile(rf"^[ \t>]*{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
        closed = self.ahead.find(closing, found.end())
        if closed and self.dialect.expressions and found[0].endswith("mdx-code-block"):
            self.unwrapped.add(closed.start())
            return found.end(), [HiddenSpan(*found.span())]
        end = closed.end() if closed else len(self.source)
        if self.dialect.hidden or self.dialect.expressions:
            return end, list(
                find_hidden_code_lines(self.source, found, closed.start() if closed else end, self.dialect)
            )
        coloured = _TERMINAL_MARKUP.finditer(self.source, found.end(), min(end, self.terminal_end))
        return end, [HiddenSpan(*tag.span(), PLACEHOLDER) for tag in coloured]

    def _indented(self, found: re.Match[str]) -> ScanStep:
        if found.start() not in self.code_lines:
            return found.end(), []
        line_end = self.source.find("\n", found.end())
        return line_end if line_end >= 0 else len(self.source), []

    def _code(self, found: re.Match[str]) -> ScanStep:
        blank = _BLANK_LINE.search(self.source, found.end(), found.end() + _MAX_INLINE_CODE_CHARS)
        limit = blank.start() if blank else found.end() + _MAX_INLINE_CODE_CHARS
        closing = re.compile(rf"(?<!`)`{{{len(found[0])}}}(?!`)")
        closed = closing.search(self.source, found.end(), limit)
        language = _INLINE_CODE_LANGUAGE.match(self.source, found.end()) if closed and self.dialect.languages else None
        return closed.end() if closed else found.end(), [HiddenSpan(*language.span(), PLACEHOLDER)] if language else []

    def _comment(self, found: re.Match[str]) -> ScanStep:
        closed = self.source.find("-->", found.end())
        end = closed + 3 if closed >= 0 else len(self.source)
        return end, hidden_spans.hide_all(self.source, found.start(), end)

    def _module(self, found: re.Match[str]) -> ScanStep:
        end = self.statements.end(found.start()) if self.dialect.modules else -1
        return (end, [HiddenSpan(found.start(), end)]) if end >= 0 else (found.end(), [])

    def _anchor(self, found: re.Match[str]) -> ScanStep:
        written = EXPLICIT_ID.match(self.source, found.start())
        if written and _HEADING_LINE.match(self.source, self.source.rfind("\n", 0, found.start()) + 1):
            return written.end(), [HiddenSpan(*written.span())]
        return self._brace(found) if found[0].startswith("{") else (found.start() + 1, [])

    def _template(self, found: re.Match[str]) -> ScanStep:
        closing, end = _TEMPLATE_ENDS.get(found[0]), found.end()
        if closing:
            closed = self.ahead.find(closing, end)
            end = closed.end() if closed and closed[0].strip() else -1
        if self.dialect.expressions or not self.dialect.templates or end < 0:
            return self._brace(found)
        return end, hidden_spans.hide_template_tag(self.source, found.start(), end)

    def _brace(self, found: re.Match[str]) -> ScanStep:
        comment = self.dialect.modules and self.source.startswith("{/*", found.start())
        end = self.braces.end(found.start()) if self.dialect.expressions or comment else -1
        return (
            (end, hidden_spans.hide_expression(self.source, found.start(), end))
            if end >= 0
            else (found.start() + 1, [])
        )

    def _tag(self, found: re.Match[str]) -> ScanStep:
        name, end = find_tag_end(self.source, found.start(), self.braces)
        if end < 0:
            return found.start() + 1, []
        closing = None if found[0].startswith("</") else _HIDDEN_ELEMENT_ENDS.get(name.lower())
        if closing and not self.source.startswith("/>", end - 2):
            closed = self.ahead.find(closing, end)
            if closed or name.lower() != "head":
                end = closed.end() if closed else len(self.source)
                return end, hidden_spans.hide_all(self.source, found.start(), end)
        if name == "div" and _TERMINAL.search(self.source, found.start(), end):
            closed = self.ahead.find(_TERMINAL_END, end)
            self.terminal_end = closed.start() if closed else -1
        return end, hidden_spans.hide_tag(self.source, found.start(), end, name)


@cache
def _compile_token(unseen: str) -> re.Pattern[str]:
    """What the scan stops at, with what a dialect does not show in front."""
    first = f"(?P<unseen>{unseen})\n  |" if unseen else ""
    return re.compile(f"{first}{_MARKUP_TOKEN}", re.VERBOSE | re.MULTILINE)


def _hide_except_kept(source: str, found: re.Match[str]) -> list[HiddenSpan]:
    """All of it but what the dialect keeps."""
    start, end = found.span("unseen")
    kept = next(
        (span for name in found.re.groupindex if name.startswith("kept") and (span := found.span(name))[1] > 0),
        (end, end),
    )
    return [*hidden_spans.hide_all(source, start, kept[0]), *hidden_spans.hide_all(source, kept[1], end)]


def _hide_alert_brackets(found: re.Match[str]) -> list[HiddenSpan]:
    start, end = found.span("alarm")
    return [HiddenSpan(start - 2, start), HiddenSpan(end, end + 1, first="\n")]


def _find_indented_code(source: str) -> frozenset[int]:
    """Where lines begin that are code by their indentation alone."""
    lines: set[int] = set()
    at, after_blank, in_list, in_code = 0, True, False, False
    for line in source.split("\n"):
        if line.strip(" \t"):
            deep = line.startswith(("    ", "\t"))
            in_code = deep and not in_list and (after_blank or in_code)
            if in_code:
                lines.add(at)
            elif not deep:
                in_list = bool(_LIST_OPENING.match(line)) or (in_list and line.startswith(" "))
        after_blank = not line.strip(" \t")
        at += len(line) + 1
    return frozenset(lines)
