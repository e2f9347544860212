"""Blanks what a reader of the built site does not see, so that plain Markdown of the same length is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from bookbound.read import cut
from bookbound.read.ahead import Ahead
from bookbound.read.cut import NOTHING, Cut
from bookbound.read.dialect import Dialect
from bookbound.read.headings import EXPLICIT
from bookbound.read.hidden import hidden_lines
from bookbound.read.tags import Braces, Statements, tag_end

_TOKEN = r"""
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
_CLOSING = {
    "{%": re.compile(r"%\}|\n"),
    "{*": re.compile(r"\*\}|\n"),
    "{!": re.compile(r"!\}|\n"),
    "{{#": re.compile(r"\}\}|\n"),
    **dict.fromkeys(("{{<", "{{%"), re.compile(r"[>%]\}\}|\n[ \t]*\n")),
}
_TERMINAL_END = re.compile("</div>")
_UNSEEN_CONTENT = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "head")}
_LIST = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]+\]:|!!!|\?\?\?\+?|===[+!]?)[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]|[^\n]*\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_LANGUAGE = re.compile(r"#![\w+-]++[ ]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_REACH = 10_000
# In such a terminal MkDocs' termynal shows the code as HTML: these tags colour its words.
_TERMINAL = re.compile(r"""\sclass=["'][^"']*\btermy\b""")
_COLOURS = re.compile(r"</?(?:font|span|b|i|u|em|strong)(?:\s[^<>\n]*)?>")

Step = tuple[int, list[Cut]]


def mask(source: str, dialect: Dialect, start: int = 0) -> str:
    """The source with all that is not seen from `start` on blanked, and all that is before it."""
    parts = [Cut(0, start).of(source)]
    at = start
    for unseen in _Scan(source, dialect).cuts(start):
        parts += source[at : unseen.start], unseen.of(source)
        at = unseen.end
    parts.append(source[at:])
    # The parser would put another character in the place of a null, and nothing could be found again.
    return "".join(parts).replace("\0", NOTHING)


class _Scan:
    """One way through a source; each step takes a token and says where the next may begin and what is unseen."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source = source
        self.dialect = dialect
        self.token = _token(dialect.unseen)
        self.braces = Braces(source)
        self.statements = Statements(source)
        self.ahead = Ahead(source)
        self.unwrapped: set[int] = set()
        self.terminal_end = 0
        self.code_lines = _indented_code(source) if dialect.indented_code else frozenset()
        self.steps: dict[str, Callable[[re.Match[str]], Step]] = {
            "fence": self._fence,
            "alert": lambda found: (found.end(), _alert(found)),
            "indented": self._indented,
            "code": self._code,
            "comment": self._comment,
            "display": lambda found: (max(self.source.find("$$", found.end()) + 2, found.end()), []),
            "module": self._module,
            "anchor": self._anchor,
            "template": self._template,
            "attributes": self._template,
            "brace": self._brace,
            "role": lambda found: (found.end(), [Cut(*found.span())]),
            "task": lambda found: (found.end(), [Cut(*found.span(), NOTHING)]),
            "tag": self._tag,
            "unseen": lambda found: (found.end(), _unseen(self.source, found)),
        }

    def cuts(self, at: int) -> Iterator[Cut]:
        """What is not seen, in order and without overlap."""
        while found := self.token.search(self.source, at):
            step = self.steps.get(found.lastgroup or "")
            end, cuts = step(found) if step else (found.end(), [])
            yield from cuts
            at = max(end, found.start() + 1)

    def _fence(self, found: re.Match[str]) -> Step:
        if found.start() in self.unwrapped:
            return found.end(), [Cut(*found.span())]
        ticks = found["ticks"]
        closing = re.compile(rf"^[ \t>]*{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
        closed = self.ahead.find(closing, found.end())
        if closed and self.dialect.expressions and found[0].endswith("mdx-code-block"):
            self.unwrapped.add(closed.start())
            return found.end(), [Cut(*found.span())]
        end = closed.end() if closed else len(self.source)
        if self.dialect.hidden or self.dialect.expressions:
            return end, list(hidden_lines(self.source, found, closed.start() if closed else end, self.dialect))
        coloured = _COLOURS.finditer(self.source, found.end(), min(end, self.terminal_end))
        return end, [Cut(*tag.span(), NOTHING) for tag in coloured]

    def _indented(self, found: re.Match[str]) -> Step:
        if found.start() not in self.code_lines:
            return found.end(), []
        line_end = self.source.find("\n", found.end())
        return line_end if line_end >= 0 else len(self.source), []

    def _code(self, found: re.Match[str]) -> Step:
        blank = _BLANK_LINE.search(self.source, found.end(), found.end() + _REACH)
        limit = blank.start() if blank else found.end() + _REACH
        closing = re.compile(rf"(?<!`)`{{{len(found[0])}}}(?!`)")
        closed = closing.search(self.source, found.end(), limit)
        language = _LANGUAGE.match(self.source, found.end()) if closed and self.dialect.languages else None
        return closed.end() if closed else found.end(), [Cut(*language.span(), NOTHING)] if language else []

    def _comment(self, found: re.Match[str]) -> Step:
        closed = self.source.find("-->", found.end())
        end = closed + 3 if closed >= 0 else len(self.source)
        return end, cut.whole(self.source, found.start(), end)

    def _module(self, found: re.Match[str]) -> Step:
        end = self.statements.end(found.start()) if self.dialect.modules else -1
        return (end, [Cut(found.start(), end)]) if end >= 0 else (found.end(), [])

    def _anchor(self, found: re.Match[str]) -> Step:
        written = EXPLICIT.match(self.source, found.start())
        if written and _HEADING.match(self.source, self.source.rfind("\n", 0, found.start()) + 1):
            return written.end(), [Cut(*written.span())]
        return self._brace(found) if found[0].startswith("{") else (found.start() + 1, [])

    def _template(self, found: re.Match[str]) -> Step:
        closing, end = _CLOSING.get(found[0]), found.end()
        if closing:
            closed = self.ahead.find(closing, end)
            end = closed.end() if closed and closed[0].strip() else -1
        if self.dialect.expressions or not self.dialect.templates or end < 0:
            return self._brace(found)
        return end, cut.component(self.source, found.start(), end)

    def _brace(self, found: re.Match[str]) -> Step:
        comment = self.dialect.modules and self.source.startswith("{/*", found.start())
        end = self.braces.end(found.start()) if self.dialect.expressions or comment else -1
        return (end, cut.expression(self.source, found.start(), end)) if end >= 0 else (found.start() + 1, [])

    def _tag(self, found: re.Match[str]) -> Step:
        name, end = tag_end(self.source, found.start(), self.braces)
        if end < 0:
            return found.start() + 1, []
        closing = None if found[0].startswith("</") else _UNSEEN_CONTENT.get(name.lower())
        if closing and not self.source.startswith("/>", end - 2):
            closed = self.ahead.find(closing, end)
            if closed or name.lower() != "head":
                end = closed.end() if closed else len(self.source)
                return end, cut.whole(self.source, found.start(), end)
        if name == "div" and _TERMINAL.search(self.source, found.start(), end):
            closed = self.ahead.find(_TERMINAL_END, end)
            self.terminal_end = closed.start() if closed else -1
        return end, cut.tag(self.source, found.start(), end, name)


@cache
def _token(unseen: str) -> re.Pattern[str]:
    """What the scan stops at, with what a dialect does not show in front."""
    first = f"(?P<unseen>{unseen})\n  |" if unseen else ""
    return re.compile(f"{first}{_TOKEN}", re.VERBOSE | re.MULTILINE)


def _unseen(source: str, found: re.Match[str]) -> list[Cut]:
    """All of it but what the dialect keeps."""
    start, end = found.span("unseen")
    kept = next(
        (span for name in found.re.groupindex if name.startswith("kept") and (span := found.span(name))[1] > 0),
        (end, end),
    )
    return [*cut.whole(source, start, kept[0]), *cut.whole(source, kept[1], end)]


def _alert(found: re.Match[str]) -> list[Cut]:
    start, end = found.span("alarm")
    return [Cut(start - 2, start), Cut(end, end + 1, first="\n")]


def _indented_code(source: str) -> frozenset[int]:
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
                in_list = bool(_LIST.match(line)) or (in_list and line.startswith(" "))
        after_blank = not line.strip(" \t")
        at += len(line) + 1
    return frozenset(lines)
