"""Where the sentences of a text begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

# Words whose full stop never ends a sentence, and those whose full stop may: then the next word decides.
_NEVER_LAST = frozenset(
    "e.g i.e eg ie fig figs eq eqs eqn sec ch chap vol pp vs cf approx resp viz ca incl excl "
    "max min no nos ref refs tab op ed eds ver rev gen sen rep dept est jan feb mar apr jun jul aug sep sept oct nov "
    "dec proc conf trans a.k.a aka w.r.t wrt".split()
)
_TITLES = frozenset("Dr Mr Mrs Ms Prof St".split())
_MAYBE_LAST = frozenset("etc al inc ltd co corp jr sr a.m p.m u.s u.k ph.d b.sc m.sc".split())
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
_CODE = re.compile(
    r"""^(?:\s{2,}|\t|[$>#]\s|>>>|//|/\*|</?\w|[-\w]+:\s*$|\s*[}\])])"""  # how a line of code begins
    r"""|[;{}\\(\[]\s*$"""  # how it ends
    r"""|\s(?:=|==|:=|=>|->|&&|\|\||\+=|<<|>>)\s|\w\(\S*\)|\w=\S|\w::\w|\s--?\w"""  # what it holds
    r"""|^(?:def|class|import|from|return|if|else|elif|for|while|try|const|let|var|export|sudo|pip|npm|cd)\b.*[^.\s]\s*$"""
)
_STOP = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?=\s|$)|[。！？]+["'”’」』）]*""")
_WORD_BEFORE = re.compile(r"""[^\s("'“‘\[]+$""")
_IDENTIFIER = re.compile(r"""["'“‘(\[]*[a-z]\w*(?:[_./:(\d]\w|\(\)|[A-Z])""")
_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\.$")


def sentences(text: str) -> list[Span]:
    """The spans of a text's sentences in reading order; every word stands in one.

    A list item, a table row and a stretch of code over several lines count as one sentence each.
    """
    return [span for start, end in _paragraphs(text) for span in _units(text, start, end)]


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for gap in _BLANK.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _units(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of a stretch without blank lines."""
    lines = list(_lines(text, start, end))
    marked = [bool(_MARKER.match(text[a:b])) for a, b in lines]
    if any(marked) and not _is_code(text, lines):
        yield from _items(text, lines, marked)
    elif len(lines) > 1 and all(_ROW.match(text[a:b]) for a, b in lines):
        yield from (_stripped(text, a, b) for a, b in lines)
    elif _is_code(text, lines):
        yield _stripped(text, start, end)
    else:
        yield from _prose(text, start, end)


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines that hold words."""
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if line.group().strip():
            yield start + line.start(), start + line.end()


def _is_code(text: str, lines: list[Span]) -> bool:
    """Whether most of several lines look like code, as far as one needs to read a line to tell."""
    return len(lines) > 1 and 2 * sum(bool(_CODE.search(text[a : min(b, a + 200)])) for a, b in lines) > len(lines)


def _items(text: str, lines: list[Span], marked: list[bool]) -> Iterator[Span]:
    """Each marked line with the unmarked ones that follow it; what stands before the first mark is prose."""
    heads = [i for i, mark in enumerate(marked) if mark]
    if heads[0]:
        yield from _prose(text, lines[0][0], lines[heads[0] - 1][1])
    for head, after in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield _stripped(text, lines[head][0], lines[after - 1][1])


def _prose(text: str, start: int, end: int) -> Iterator[Span]:
    for stop in _STOP.finditer(text, start, end):
        if stop.start() >= start and _ends_sentence(text, start, stop, end):
            yield _stripped(text, start, stop.end())
            start = stop.end()
    if text[start:end].strip():
        yield _stripped(text, start, end)


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
    return stop.group()[0] != "." or stop.group().startswith("..") or not _abbreviated(text[start : stop.start()], rest)


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
    if len(word) == 1 and word.isalpha() and word.isupper():
        return bool(dotted) or next_word.lower() not in _OPENERS
    return False


def _stripped(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends."""
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), start + len(words.rstrip())
