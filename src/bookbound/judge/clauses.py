"""What a text says, clause by clause, in the terms it says it with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bookbound.book import Unit
from bookbound.finding import Evidence
from bookbound.judge.figures import in_digits
from bookbound.words import terms as all_terms

SUBJECT = 4
"""How many of a clause's first terms may name what it speaks of."""

PARALLEL = 0.4
"""The share of its terms from which on a clause is the like of another."""

_JOINTS = "while whereas because although though but so unless instead rather and when if until which".split()
_CUT = re.compile(
    rf"\s*(?:[;:()—]|\s[–-](?=\s)|,(?=\s)|(?<=[.!?])\s+(?=[A-Z])|\s(?=(?:{'|'.join(_JOINTS)})\s))\s*", re.I
)
_SILENT = frozenset("sinc wherea although though rather however therefor thu cannot never non neither nothing".split())
"""Stems of words that only join clauses, or deny them."""
_PREFIX = re.compile(r"\b(on|off|non|un|pre|post|in|out|up|down|over|under)-(?=\w)", re.I)
_PHRASES = [
    (re.compile(rf"\b(?:{phrase})\b", re.I), word)
    for phrase, word in (
        (r"go|goes|going", "proceed"),
        (r"(?:acts?|serves?|functions?)\s+as", "become"),
        (r"(?:left|leaves?)\s+out|omit(?:s|ted)?", "missing"),
    )
]
"""What is said in a word that silence would swallow, or in several, and the word for it."""
_POINTS_BACK = re.compile(
    r"\W*(?:it|its|they|their|them|this|these|that|those|such|he|his|she|her|both|each|here|there|one|"
    r"the\s+(?:first|second|third|last|latter|former|same))\b",
    re.I,
)
_LISTED = ("item", "row")


class Clause(NamedTuple):
    """A stretch of words that says one thing: its terms, those it may be understood with, and where it stands.

    That is the number of a piece of evidence, and of a unit in it; `back` where the unit points at the one before.
    """

    text: str
    terms: tuple[str, ...]
    carried: tuple[str, ...] = ()
    piece: int = 0
    unit: int = 0
    back: bool = False


def terms(text: str) -> tuple[str, ...]:
    """The stems of the words that carry meaning, in order; "off-policy" is one, "act as" is one, and "two" is "2"."""
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    words = in_digits(_PREFIX.sub(r"\1", text))
    return tuple(term for term in all_terms(words) if term not in _SILENT)


def parallel(one: Clause, other: Clause) -> bool:
    """Whether two clauses say the like of different things: what is true of one is not said of the other."""
    shared = len(set(one.terms).intersection(other.terms))
    return shared >= max(2, PARALLEL * min(len(set(one.terms)), len(set(other.terms))))


def clauses(text: str) -> list[Clause]:
    """The clauses of a sentence, or of a few; what is too short to say something stays with its neighbour."""
    found: list[Clause] = []
    for words in filter(None, _CUT.split(text)):
        own = terms(words)
        if found and min(len(own), len(found[-1].terms)) < 2:
            words = f"{found[-1].text}, {words}"
            own = found.pop().terms + own
        found.append(Clause(words, own))
    return found


def statements(piece: Evidence, units: Sequence[Unit], number: int = 0) -> Iterator[Clause]:
    """The clauses of some units of a piece of evidence, each with the terms of what its subject may be called.

    That is what its unit begins with, what stood before a unit that points back, what introduced the list or heads the
    table it is in, and the names of the headings that the words themselves never say.
    """
    said = set(terms(piece.text))
    named = tuple(term for term in terms(" ".join(piece.place.path)) if term not in said)
    before: tuple[str, ...] = ()
    introduced: tuple[str, ...] = ()
    for place, unit in enumerate(units):
        words = piece.text[unit.start : unit.end]
        found = clauses(words)
        first = found[0].terms if found else ()
        back = before if _POINTS_BACK.match(words) else ()
        listed = introduced if unit.kind in _LISTED else ()
        for at, clause in enumerate(found):
            opening = found[0].terms[:SUBJECT] if at and not parallel(found[0], clause) else ()
            yield clause._replace(carried=(*named, *listed, *back, *opening), piece=number, unit=place, back=bool(back))
        before = (*back, *first[:SUBJECT])[: 2 * SUBJECT]
        if words.endswith(":") or (unit.kind == "row" and not introduced):
            introduced = terms(words)[: 2 * SUBJECT]
        elif unit.kind not in _LISTED:
            introduced = ()
