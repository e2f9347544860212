"""What of a tag or an expression is seen, and what takes the place of the rest."""

from __future__ import annotations

import re
from typing import NamedTuple

from bookbound.read.galley import Span

# Stands for a character that vanishes without leaving a space; counts as punctuation, as `<` does.
NOTHING = "\u2e31"

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math nobr output q rp rt ruby s"
    " samp small span strike strong sub sup time tspan tt u var wbr".split()
)
_QUOTED = r"""\s*+[=:]\s*+(?:\{\s*+)?(?:"([^"{}]+)"|'([^'{}\n]+)'|`([^`{}$]+)`)"""
_KEYS = "title|label|alt|caption|text|explain|summary|heading|subtitle|description"
_COMPONENT = re.compile(rf"(?<![\w-])(?:{_KEYS}|value){_QUOTED}")
_TAB = re.compile(rf"(?<![\w-])(?:{_KEYS}){_QUOTED}")
_TAB_VALUE = re.compile(rf"(?<![\w-])value{_QUOTED}")
# Shortcodes whose first argument is what they are called.
_NAMED = re.compile(r"""\{\{[<%]\s*+(?:tab|details|expand|collapse|accordion|card|button)[\w-]*+\s++"([^"\n]+)\"""")
_TAB_NAMED = re.compile(rf"(?<![\w-])(?:{_KEYS}|name|header|items){_QUOTED}")
_TAB_TAG = re.compile(r"\{[{%<\s]++tab")
_IMAGE = re.compile(rf"(?<![\w-])alt{_QUOTED}")
_ADDRESS = re.compile(r"\s*+(?:https?:|[./#]|\W*+$)")
_LITERAL = re.compile(r"""\{\s*(?:"([^"\\]+)"|'([^'\\]+)'|`([^`\\$]+)`)\s*\}""")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_TAGS = re.compile(r"<[^<>]*>")
_LINE = 300


class Cut(NamedTuple):
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


def whole(source: str, start: int, end: int) -> list[Cut]:
    """Nothing of this is seen; on a line of its own, or after an admonition's name, it leaves spaces."""
    before, after = _around(source, start, end)
    alone = not before.strip(" \t>") and not after.strip()
    return [Cut(start, end, " " if alone or before.lstrip(" \t>").startswith(":::") else NOTHING)]


def expression(source: str, start: int, end: int) -> list[Cut]:
    """Of an expression only a lone string is seen."""
    literal = _LITERAL.fullmatch(source, start, end)
    if not literal:
        return whole(source, start, end)
    inner = next(group for group in (1, 2, 3) if literal[group])
    return [Cut(start, literal.start(inner), NOTHING), Cut(literal.end(inner), end, NOTHING)]


def tag(source: str, start: int, end: int, name: str) -> list[Cut]:
    """Of a tag only the words that it shows by itself are seen: labels, titles, descriptions of images."""
    before, after = _around(source, start, end)
    seen = _seen(source, start, end, name)
    if seen:
        indent = before if not before.strip() and not after.strip() else None
        return _around_words(start, end, seen, indent)
    outside = _TAGS.sub("", before)
    lone = not outside.strip(" \t>") and not _TAGS.sub("", after).strip()
    known = name.islower() or name.startswith("Tab")
    if _HEADING.match(before) or name in _INLINE or not (known or lone):
        return [Cut(start, end, NOTHING)]
    if not outside.strip():
        return [Cut(start, end, last="\n" + outside if after.strip() else "")]
    ends_line = not after.strip() and name != "br" and "|" not in before
    return [Cut(start, end, first="\n" if ends_line else "")]


def component(source: str, start: int, end: int) -> list[Cut]:
    """Of a template's tag the same words are seen as of a component."""
    named = _TAB_NAMED if _TAB_TAG.match(source, start, end) else _COMPONENT
    seen = _words(_NAMED, source, start, end) or _words(named, source, start, end)
    return _around_words(start, end, seen, "") if seen else whole(source, start, end)


def _around_words(start: int, end: int, seen: list[Span], indent: str | None) -> list[Cut]:
    """Cuts that leave the words; those of a tag on lines of its own become blocks at its indentation."""
    first, last = ("", "") if indent is None else ("\n", "\n" + indent)
    cuts: list[Cut] = []
    for word_start, word_end in seen:
        cuts.append(Cut(start, word_start, first=first * bool(cuts), last=last))
        start = word_end
    return [*cuts, Cut(start, end, first=first)]


def _seen(source: str, start: int, end: int, name: str) -> list[Span]:
    if name in ("img", "area"):
        return _words(_IMAGE, source, start, end)
    if not name[:1].isupper():
        return []
    if name.startswith("Tab"):
        labels = _words(_TAB, source, start, end)
        return labels or (_words(_TAB_VALUE, source, start, end) if name != "Tabs" else [])
    return _words(_COMPONENT, source, start, end)


def _words(pattern: re.Pattern[str], source: str, start: int, end: int) -> list[Span]:
    spans = [found.span(found.lastindex or 0) for found in pattern.finditer(source, start, end)]
    return [span for span in spans if not _ADDRESS.match(source, *span)]


def _around(source: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after on the same line; of a very long line its near part."""
    line_start = source.rfind("\n", max(0, start - _LINE), start) + 1 or max(0, start - _LINE)
    line_end = source.find("\n", end, end + _LINE)
    return source[line_start:start], source[end : line_end if line_end >= 0 else end + _LINE]
