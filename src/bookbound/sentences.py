"""Where the sentences of a text begin and end, as far as plain text tells."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from bookbound.book import Unit

Span = tuple[int, int]

# Words whose full stop never ends a sentence, and those whose full stop may: then the next word decides.
_NEVER_LAST = frozenset(
    "e.g i.e eg ie fig figs eq eqs eqn sec ch chap vol pp vs cf approx resp viz ca incl excl "
    "max min no nos ref refs tab op ed eds ver rev gen sen rep dept est jan feb mar apr jun jul aug sep sept oct nov "
    "dec proc conf trans a.k.a aka w.r.t wrt".split()
)
_TITLES = frozenset("Dr Mr Mrs Ms Prof St".split())
_MAYBE_LAST = frozenset("etc al inc ltd co corp jr sr a.m p.m ph.d b.sc m.sc".split())
# Short words that are abbreviations only before a number: "No. 5", "p. 12", but "The answer is no."
_BEFORE_NUMBER = frozenset("no nos p pp v ch sec ed ver rev min max tab ref vol mar jun dec".split())
# What opens a sentence after a lone capital that is no initial: "It is written in C. The compiler ..."
_OPENERS = frozenset(
    "the this that these those it its in if when while we you they he she for to there then however but and a an as "
    "at by on or so use see both each all some with from after before not no now here let what why how".split()
)

_BLANK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_MARKER = re.compile(r"\s*(?:[-*+•◦▪‣–]|\d{1,3}[.)]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})\))\s+\S")
_ROW = re.compile(r"\S.*(?:\s\|\s|\t)|\s*\|.*\|\s*$")
_BRACKET = re.compile("[()（）]")
_STOP = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?=\s|$)|[。！？]+["'”’」』）]*""")
_WORD_BEFORE = re.compile(r"""[^\s("'“‘\[]+$""")
_INITIALS = re.compile(r"[^\W\d_a-z](?:\.[^\W\d_a-z])*")
_BEFORE = 80
_IDENTIFIER = re.compile(r"""["'“‘(\[]*[a-z]\w*(?:[_./:(\d]\w|\(\)|[A-Z])""")
_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\.$")


def sentences(text: str) -> list[Unit]:
    """A text's sentences in reading order; every word stands in one. A list item and a table row count as one each."""
    return [unit.trimmed(text) for start, end in _paragraphs(text) for unit in _units(text, start, end)]


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for gap in _BLANK.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _units(text: str, start: int, end: int) -> Iterator[Unit]:
    """The sentences of a stretch without blank lines."""
    lines = list(_lines(text, start, end))
    marked = [bool(_MARKER.match(text[a:b])) for a, b in lines]
    if any(marked):
        yield from _items(text, lines, marked)
    elif len(lines) > 1 and all(_ROW.match(text[a:b]) for a, b in lines):
        yield from (Unit("row", *line) for line in lines)
    else:
        yield from _prose(text, start, end)


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines that hold words."""
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if line.group().strip():
            yield start + line.start(), start + line.end()


def _items(text: str, lines: list[Span], marked: list[bool]) -> Iterator[Unit]:
    """Each marked line with the unmarked ones that follow it; what stands before the first mark is prose."""
    heads = [i for i, mark in enumerate(marked) if mark]
    if heads[0]:
        yield from _prose(text, lines[0][0], lines[heads[0] - 1][1])
    for head, after in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield Unit("item", lines[head][0], lines[after - 1][1])


def _prose(text: str, start: int, end: int) -> Iterator[Unit]:
    asides = _asides(text, start, end)
    for stop in _STOP.finditer(text, start, end):
        if stop.start() >= start and not _within(asides, stop) and _ends_sentence(text, start, stop, end):
            yield Unit("sentence", start, stop.end())
            start = stop.end()
    if text[start:end].strip():
        yield Unit("sentence", start, end)


def _asides(text: str, start: int, end: int) -> list[Span]:
    """From each opening parenthesis to the one that closes it, but for those inside others."""
    opened: list[int] = []
    found: list[Span] = []
    for bracket in _BRACKET.finditer(text, start, end):
        if bracket.group() in "(（":
            opened.append(bracket.start())
        elif opened:
            begin = opened.pop()
            while found and found[-1][0] > begin:
                found.pop()
            found.append((begin, bracket.start()))
    return found


def _within(asides: Sequence[Span], stop: re.Match[str]) -> bool:
    """Whether words follow a full stop before the parenthesis around it closes."""
    at = bisect_left(asides, (stop.start(), 0)) - 1
    return at >= 0 and stop.end() <= asides[at][1]


def _ends_sentence(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether a full stop, question or exclamation mark closes the sentence that began at `start`."""
    rest = text[stop.end() : min(end, stop.end() + 80)].lstrip()
    if not rest or stop.group()[0] in "。！？":
        return True
    if not any(map(str.isalnum, rest)):
        return False
    opener = rest.lstrip("\"'“‘([*_")[:1]
    if opener.islower() and not _IDENTIFIER.match(rest):
        return False
    before = text[max(start, stop.start() - _BEFORE) : stop.start()]
    return stop.group()[0] != "." or stop.group().startswith("..") or not _abbreviated(before, rest)


def _abbreviated(before: str, rest: str) -> bool:
    """Whether the full stop after `before` belongs to its last word: an abbreviation, an initial, a list number."""
    if _ENUMERATOR.match(before.lstrip() + "."):
        return True
    found = _WORD_BEFORE.search(before[-20:])
    word = found.group() if found else ""
    lower, opener = word.lower(), re.match(r"\W*(\w*)(\.?)", rest)
    next_word, dotted = (opener.group(1), opener.group(2)) if opener else ("", "")
    if lower in _BEFORE_NUMBER:
        return next_word[:1].isdigit()
    if lower in _NEVER_LAST or word in _TITLES:
        return True
    if lower in _MAYBE_LAST:
        return not next_word[:1].isupper()
    if _INITIALS.fullmatch(word):
        return bool(dotted) or next_word.lower() not in _OPENERS
    return False
