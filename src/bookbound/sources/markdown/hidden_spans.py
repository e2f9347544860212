"""Decides which characters of tags, expressions and code blocks a reader does not see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.page_builder import CharSpan

PLACEHOLDER = "\u2e31"
"""Replaces a hidden character that leaves no space; counts as punctuation, as `<` does."""
INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math nobr output q rp rt ruby s"
    " samp small span strike strong sub sup time tspan tt u var wbr".split()
)
_BLOCK_TAGS = frozenset(
    "address article aside blockquote caption center dd details div dl dt fieldset figcaption figure footer form h1 h2"
    " h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul".split()
)
_IMAGE_TAGS = ("img", "area")
_QUOTED_VALUE = r"""\s*+[=:]\s*+(?:\{\s*+)?(?:"([^"{}]+)"|'([^'{}\n]+)'|`([^`{}$]+)`)"""
_LABEL_ATTRIBUTES = "title|label|caption|text|explain|summary|heading|subtitle|description"
_COMPONENT_LABEL = re.compile(rf"(?<![\w-])(?:{_LABEL_ATTRIBUTES}|value){_QUOTED_VALUE}")
_TAB_LABEL = re.compile(rf"(?<![\w-])(?:{_LABEL_ATTRIBUTES}){_QUOTED_VALUE}")
_TAB_VALUE = re.compile(rf"(?<![\w-])value{_QUOTED_VALUE}")
# Shortcodes whose first argument is their title.
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
    """Hides the characters `start` to `end`: `fill` replaces each, `first` and `last` those at the ends."""

    start: int
    end: int
    fill: str = " "
    first: str = ""
    last: str = ""

    def replacement(self, source: str) -> str:
        """Return as many characters as are hidden, with the newlines among them."""
        text = re.sub(r"[^\n]", self.fill, source[self.start : self.end])
        if len(text) < len(self.first) + len(self.last):
            return text
        return self.first + text[len(self.first) : len(text) - len(self.last)] + self.last


def hide_all(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Hide everything; on a separate line or after an admonition's name it leaves spaces."""
    before, after = _surrounding_text(source, start, end)
    line = before.strip(" \t>")
    return [HiddenSpan(start, end, " " if line.startswith(":::") or not (line or after.strip()) else PLACEHOLDER)]


def hide_expression(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Hide an expression; if it is only a string, show the string."""
    literal = _STRING_LITERAL.fullmatch(source, start, end)
    if not literal:
        return hide_all(source, start, end)
    inner = next(group for group in (1, 2, 3) if literal[group])
    return [HiddenSpan(start, literal.start(inner), PLACEHOLDER), HiddenSpan(literal.end(inner), end, PLACEHOLDER)]


def hide_tag(source: str, start: int, end: int, name: str) -> list[HiddenSpan]:
    """Hide a tag except the words that it shows: labels, titles and image descriptions."""
    before, after = _surrounding_text(source, start, end)
    outside = _TAGS.sub("", before)
    is_alone = not outside.strip(" \t>") and not _TAGS.sub("", after).strip()
    # The description of a picture is a word of a sentence, but no sentence.
    shown = [] if is_alone and name in _IMAGE_TAGS else _visible_attributes(source, start, end, name)
    if shown:
        indent = before if not before.strip() and not after.strip() else None
        return _hide_around(start, end, shown, indent)
    is_known = name.islower() or name.startswith("Tab")
    if _HEADING.match(before) or name in INLINE_TAGS or not (is_known or is_alone):
        return [HiddenSpan(start, end, PLACEHOLDER)]
    if not outside.strip():
        return [HiddenSpan(start, end, last="\n" + outside if after.strip() else "")]
    line = before.lstrip()
    if name in _BLOCK_TAGS and line.startswith("<") and after.strip():
        # A line that begins with a tag is HTML, so this is between two blocks.
        return [HiddenSpan(start, end, first="\n", last="\n" + before[: len(before) - len(line)])]
    ends_line = not after.strip() and name != "br" and "|" not in before
    return [HiddenSpan(start, end, first="\n" if ends_line else "")]


def hide_template_tag(source: str, start: int, end: int) -> list[HiddenSpan]:
    """Hide a template's tag except the words that a component with its attributes shows."""
    label = _TEMPLATE_TAB_LABEL if _TEMPLATE_TAB_OPENING.match(source, start, end) else _COMPONENT_LABEL
    shown = _attribute_spans(_NAMED_SHORTCODE, source, start, end) or _attribute_spans(label, source, start, end)
    return _hide_around(start, end, shown, "") if shown else hide_all(source, start, end)


def _hide_around(start: int, end: int, shown: list[CharSpan], indent: str | None) -> list[HiddenSpan]:
    """Hide everything but some words; with an `indent`, these become blocks at that indentation."""
    first, last = ("", "") if indent is None else ("\n", "\n" + indent)
    hidden: list[HiddenSpan] = []
    for word_start, word_end in shown:
        hidden.append(HiddenSpan(start, word_start, first=first * bool(hidden), last=last))
        start = word_end
    return [*hidden, HiddenSpan(start, end, first=first)]


def _visible_attributes(source: str, start: int, end: int, name: str) -> list[CharSpan]:
    if name in _IMAGE_TAGS:
        patterns = [_IMAGE_ALT]
    elif name.startswith("Tab"):
        # The value of a tab is shown if it has no label; that of all tabs is the one that is open at first.
        patterns = [_TAB_LABEL, _TAB_VALUE][: 1 if name == "Tabs" else 2]
    else:
        patterns = [_COMPONENT_LABEL] if name[:1].isupper() else []
    found = (_attribute_spans(pattern, source, start, end) for pattern in patterns)
    return next(filter(None, found), [])


def _attribute_spans(pattern: re.Pattern[str], source: str, start: int, end: int) -> list[CharSpan]:
    spans = [match.span(match.lastindex or 0) for match in pattern.finditer(source, start, end)]
    return [span for span in spans if not _LOOKS_LIKE_URL.match(source, *span)]


def _surrounding_text(source: str, start: int, end: int) -> tuple[str, str]:
    """Return the text before and after on the same line; only the near part of a very long line."""
    line_start = source.rfind("\n", max(0, start - _MAX_CONTEXT_CHARS), start) + 1 or max(0, start - _MAX_CONTEXT_CHARS)
    line_end = source.find("\n", end, end + _MAX_CONTEXT_CHARS)
    return source[line_start:start], source[end : line_end if line_end >= 0 else end + _MAX_CONTEXT_CHARS]


_FENCE_LANGUAGE = re.compile(r"[`~][ \t]*(?P<language>[\w+-]+)")
# Comments that highlight lines; a site shows them if the fence already names line numbers in braces.
_HIGHLIGHT_COMMENT = re.compile(
    r"^[ \t]*(?://|#|/\*|\{/\*|<!--|--|%)[ \t]*highlight-(?:next-line|start|end)[ \t]*(?:\*/\}?|-->)?[ \t]*$",
    re.MULTILINE,
)
_HIDELINES_OPTION = re.compile(r"\bhidelines=(?P<prefix>[^\s,`]+)")


def find_hidden_code_lines(
    source: str, opening: re.Match[str], end: int, dialect: MarkdownDialect
) -> Iterator[HiddenSpan]:
    """Hide the highlighting comments and the hidden lines of the code after `opening`.

    Rust hides a line with a hash before a space or nothing, and shows one of two hashes.
    """
    if dialect.has_expressions and "{" not in opening[0]:
        yield from (HiddenSpan(*match.span()) for match in _HIGHLIGHT_COMMENT.finditer(source, opening.end(), end))
    match, option = _FENCE_LANGUAGE.search(opening[0]), _HIDELINES_OPTION.search(opening[0])
    language = match["language"].lower() if match else ""
    prefix = option["prefix"] if option else dict(dialect.hidden_prefixes).get(language, "")
    if not prefix or not dialect.hidden_prefixes:
        return
    line = re.compile(rf"^(?P<space>[ \t]*){re.escape(prefix)}(?P<next>.?)[^\n]*$", re.MULTILINE)
    for hidden in line.finditer(source, opening.end(), end):
        if prefix != "#" or not hidden["next"].strip():
            yield HiddenSpan(*hidden.span())
        elif hidden["next"] == "#":
            yield HiddenSpan(*hidden.span("next"), PLACEHOLDER)
