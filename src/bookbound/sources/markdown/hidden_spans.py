"""Decides which characters of tags, expressions and code blocks a reader does not see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.page_builder import CharSpan

# Stands for a character that vanishes without leaving a space; counts as punctuation, as `<` does.
PLACEHOLDER = "\u2e31"
_INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math nobr output q rp rt ruby s"
    " samp small span strike strong sub sup time tspan tt u var wbr".split()
)
_QUOTED_VALUE = r"""\s*+[=:]\s*+(?:\{\s*+)?(?:"([^"{}]+)"|'([^'{}\n]+)'|`([^`{}$]+)`)"""
_LABEL_ATTRIBUTES = "title|label|alt|caption|text|explain|summary|heading|subtitle|description"
_COMPONENT_LABEL = re.compile(rf"(?<![\w-])(?:{_LABEL_ATTRIBUTES}|value){_QUOTED_VALUE}")
_TAB_LABEL = re.compile(rf"(?<![\w-])(?:{_LABEL_ATTRIBUTES}){_QUOTED_VALUE}")
_TAB_VALUE = re.compile(rf"(?<![\w-])value{_QUOTED_VALUE}")
# Shortcodes whose first argument is what they are called.
_NAMED_SHORTCODE = re.compile(
    r"""\{\{[<%]\s*+(?:tab|details|expand|collapse|accordion|card|button)[\w-]*+\s++"([^"\n]+)\""""
)
_TEMPLATE_TAB_LABEL = re.compile(rf"(?<![\w-])(?:{_LABEL_ATTRIBUTES}|name|header|items){_QUOTED_VALUE}")
_TEMPLATE_TAB_OPENING = re.compile(r"\{[{%<\s]++tab")
_IMAGE_ALT = re.compile(rf"(?<![\w-])alt{_QUOTED_VALUE}")
_LOOKS_LIKE_URL = re.compile(r"\s*+(?:https?:|[./#]|\W*+$)")
_STRING_LITERAL = re.compile(r"""\{\s*(?:"([^"\\]+)"|'([^'\\]+)'|`([^`\\$]+)`)\s*\}""")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_TAGS = re.compile(r"<[^<>]*>")
_MAX_CONTEXT_CHARS = 300


class HiddenSpan(NamedTuple):
    """Characters `start` to `end` are not seen: `fill` stands for each, `first` and `last` for those at the ends."""

    start: int
    end: int
    fill: str = " "
    first: str = ""
    last: str = ""

    def of(self, source: str) -> str:
        """As many characters as are cut, with the newlines among them."""
        text = re.sub(r"[^\n]", self.fill, source[self.start : self.end])
        if len(text) < len(self.first) + len(self.last):
            return text
        return self.first + text[len(self.first) : len(text) - len(self.last)] + self.last


def hide_all(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Nothing of this is seen; on a line of its own, or after an admonition's name, it leaves spaces."""
    before, after = _surrounding_text(source, start, end)
    alone = not before.strip(" \t>") and not after.strip()
    return [HiddenSpan(start, end, " " if alone or before.lstrip(" \t>").startswith(":::") else PLACEHOLDER)]


def hide_expression(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Of an expression only a lone string is seen."""
    literal = _STRING_LITERAL.fullmatch(source, start, end)
    if not literal:
        return hide_all(source, start, end)
    inner = next(group for group in (1, 2, 3) if literal[group])
    return [HiddenSpan(start, literal.start(inner), PLACEHOLDER), HiddenSpan(literal.end(inner), end, PLACEHOLDER)]


def hide_tag(source: str, start: int, end: int, name: str) -> list[HiddenSpan]:
    """Of a tag only the words that it shows by itself are seen: labels, titles, descriptions of images."""
    before, after = _surrounding_text(source, start, end)
    seen = _visible_attributes(source, start, end, name)
    if seen:
        indent = before if not before.strip() and not after.strip() else None
        return _hide_around(start, end, seen, indent)
    outside = _TAGS.sub("", before)
    lone = not outside.strip(" \t>") and not _TAGS.sub("", after).strip()
    known = name.islower() or name.startswith("Tab")
    if _HEADING.match(before) or name in _INLINE_TAGS or not (known or lone):
        return [HiddenSpan(start, end, PLACEHOLDER)]
    if not outside.strip():
        return [HiddenSpan(start, end, last="\n" + outside if after.strip() else "")]
    ends_line = not after.strip() and name != "br" and "|" not in before
    return [HiddenSpan(start, end, first="\n" if ends_line else "")]


def hide_template_tag(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Of a template's tag the same words are seen as of a component."""
    named = _TEMPLATE_TAB_LABEL if _TEMPLATE_TAB_OPENING.match(source, start, end) else _COMPONENT_LABEL
    seen = _attribute_spans(_NAMED_SHORTCODE, source, start, end) or _attribute_spans(named, source, start, end)
    return _hide_around(start, end, seen, "") if seen else hide_all(source, start, end)


def _hide_around(start: int, end: int, seen: list[CharSpan], indent: str | None) -> list[HiddenSpan]:
    """Cuts that leave the words; those of a tag on lines of its own become blocks at its indentation."""
    first, last = ("", "") if indent is None else ("\n", "\n" + indent)
    cuts: list[HiddenSpan] = []
    for word_start, word_end in seen:
        cuts.append(HiddenSpan(start, word_start, first=first * bool(cuts), last=last))
        start = word_end
    return [*cuts, HiddenSpan(start, end, first=first)]


def _visible_attributes(source: str, start: int, end: int, name: str) -> list[CharSpan]:
    if name in ("img", "area"):
        return _attribute_spans(_IMAGE_ALT, source, start, end)
    if not name[:1].isupper():
        return []
    if name.startswith("Tab"):
        labels = _attribute_spans(_TAB_LABEL, source, start, end)
        return labels or (_attribute_spans(_TAB_VALUE, source, start, end) if name != "Tabs" else [])
    return _attribute_spans(_COMPONENT_LABEL, source, start, end)


def _attribute_spans(pattern: re.Pattern[str], source: str, start: int, end: int) -> list[CharSpan]:
    spans = [found.span(found.lastindex or 0) for found in pattern.finditer(source, start, end)]
    return [span for span in spans if not _LOOKS_LIKE_URL.match(source, *span)]


def _surrounding_text(source: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after on the same line; of a very long line its near part."""
    line_start = source.rfind("\n", max(0, start - _MAX_CONTEXT_CHARS), start) + 1 or max(0, start - _MAX_CONTEXT_CHARS)
    line_end = source.find("\n", end, end + _MAX_CONTEXT_CHARS)
    return source[line_start:start], source[end : line_end if line_end >= 0 else end + _MAX_CONTEXT_CHARS]


_FENCE_LANGUAGE = re.compile(r"[`~][ \t]*(?P<language>[\w+-]+)")
# What a site for programs colours lines by; with numbers of lines in braces it shows them.
_HIGHLIGHT_COMMENT = re.compile(
    r"^[ \t]*(?://|#|/\*|\{/\*|<!--|--|%)[ \t]*highlight-(?:next-line|start|end)[ \t]*(?:\*/\}?|-->)?[ \t]*$",
    re.MULTILINE,
)
_HIDELINES_OPTION = re.compile(r"\bhidelines=(?P<prefix>[^\s,`]+)")


def find_hidden_code_lines(
    source: str, opening: re.Match[str], end: int, dialect: MarkdownDialect
) -> Iterator[HiddenSpan]:
    """What is not seen of the code after `opening`: comments that colour it, lines that its language hides.

    Rust hides a hash before a space or alone; of two hashes one is seen.
    """
    if dialect.expressions and "{" not in opening[0]:
        yield from (HiddenSpan(*found.span()) for found in _HIGHLIGHT_COMMENT.finditer(source, opening.end(), end))
    language, own = _FENCE_LANGUAGE.search(opening[0]), _HIDELINES_OPTION.search(opening[0])
    prefix = own["prefix"] if own else dict(dialect.hidden).get(language["language"].lower() if language else "", "")
    if not prefix or not dialect.hidden:
        return
    line = re.compile(rf"^(?P<space>[ \t]*){re.escape(prefix)}(?P<next>.?)[^\n]*$", re.MULTILINE)
    for found in line.finditer(source, opening.end(), end):
        if prefix != "#" or not found["next"].strip():
            yield HiddenSpan(*found.span())
        elif found["next"] == "#":
            yield HiddenSpan(found.start("next"), found.end("next"), PLACEHOLDER)
