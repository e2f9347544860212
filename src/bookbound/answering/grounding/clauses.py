"""Splits English text into clauses and normalizes their terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bookbound.answering.grounding.quantities import convert_number_words
from bookbound.domain.chunk import QuotableUnit
from bookbound.domain.judgement import Evidence
from bookbound.text.tokens import extract_terms

MAX_SUBJECT_TERMS = 4
"""The first terms of a clause, which may name its subject."""
PARALLEL_SHARE = 0.4
"""The share of terms from which two clauses are parallel."""
_CONJUNCTIONS = "while whereas because although though but so unless instead rather and when if until which".split()
_CLAUSE_BOUNDARY = re.compile(
    rf"\s*(?:[;:()—]|\s[–-](?=\s)|,(?=\s)|(?<=[.!?])\s+(?=[A-Z])|\s(?=(?:{'|'.join(_CONJUNCTIONS)})\s))\s*", re.I
)
_IGNORED_STEMS = frozenset(
    "sinc wherea although though rather however therefor thu cannot never non neither nothing".split()
)
"""Stems of words that only join or negate clauses."""
_PREFIX = re.compile(r"\b(on|off|non|un|pre|post|in|out|up|down|over|under)-(?=\w)", re.I)
_PHRASE_REPLACEMENTS = [
    (re.compile(rf"\b(?:{phrase})\b", re.I), word)
    for phrase, word in (
        (r"go|goes|going", "proceed"),
        (r"(?:acts?|serves?|functions?)\s+as", "become"),
        (r"(?:left|leaves?)\s+out|omit(?:s|ted)?", "missing"),
    )
]
"""Phrases that are stop words or several words, and one word with the same meaning."""
_ANAPHOR = re.compile(
    r"\W*(?:it|its|they|their|them|this|these|that|those|such|he|his|she|her|both|each|here|there|one|"
    r"the\s+(?:first|second|third|last|latter|former|same))\b",
    re.I,
)
_LIST_KINDS = ("item", "row")


class Clause(NamedTuple):
    """A clause: its terms, those of its context, and the numbers of its piece of evidence and its unit.

    `refers_back` says that the unit refers to the one before.
    """

    text: str
    terms: tuple[str, ...]
    context_terms: tuple[str, ...] = ()
    piece: int = 0
    unit: int = 0
    refers_back: bool = False


def extract_clause_terms(text: str) -> tuple[str, ...]:
    """Returns the stems of content words in order; "off-policy" and "act as" are one term each, and "two" is "2"."""
    for phrase, word in _PHRASE_REPLACEMENTS:
        text = phrase.sub(word, text)
    words = convert_number_words(_PREFIX.sub(r"\1", text))
    return tuple(term for term in extract_terms(words) if term not in _IGNORED_STEMS)


def are_parallel(one: Clause, other: Clause) -> bool:
    """Returns whether two clauses make parallel statements about different subjects."""
    shared = len(set(one.terms).intersection(other.terms))
    return shared >= max(2, PARALLEL_SHARE * min(len(set(one.terms)), len(set(other.terms))))


def split_clauses(text: str) -> list[Clause]:
    """Splits text into clauses; one that is too short is joined with its neighbour."""
    found: list[Clause] = []
    for words in filter(None, _CLAUSE_BOUNDARY.split(text)):
        own = extract_clause_terms(words)
        if found and min(len(own), len(found[-1].terms)) < 2:
            words = f"{found[-1].text}, {words}"
            own = found.pop().terms + own
        found.append(Clause(words, own))
    return found


def split_evidence(piece: Evidence, units: Sequence[QuotableUnit], number: int = 0) -> Iterator[Clause]:
    """Yields the clauses of some units, each with the terms that its subject may have.

    These are the first terms of its unit, those before a unit that refers back, those that introduce its list or head
    its table, and those of the headings that the text itself never uses.
    """
    said = set(extract_clause_terms(piece.text))
    named = tuple(term for term in extract_clause_terms(" ".join(piece.place.heading_path)) if term not in said)
    before: tuple[str, ...] = ()
    introduced: tuple[str, ...] = ()
    for place, unit in enumerate(units):
        words = piece.text[unit.start : unit.end]
        found = split_clauses(words)
        first = found[0].terms if found else ()
        back = before if _ANAPHOR.match(words) else ()
        listed = introduced if unit.kind in _LIST_KINDS else ()
        for at, clause in enumerate(found):
            opening = found[0].terms[:MAX_SUBJECT_TERMS] if at and not are_parallel(found[0], clause) else ()
            context = (*named, *listed, *back, *opening)
            yield clause._replace(context_terms=context, piece=number, unit=place, refers_back=bool(back))
        before = (*back, *first[:MAX_SUBJECT_TERMS])[: 2 * MAX_SUBJECT_TERMS]
        if words.endswith(":") or (unit.kind == "row" and not introduced):
            introduced = extract_clause_terms(words)[: 2 * MAX_SUBJECT_TERMS]
        elif unit.kind not in _LIST_KINDS:
            introduced = ()


_WORD_ENDING = re.compile(
    r"(?:e|es|s|d|ed|n|en|ing|er|ers|or|ors|ion|ions|ation|ations|ment|ements?|al|ally|ly|ive|able|ible|ity|ance|ence|ic"
    r"|ous|ize|iz|ise|is|ized|izing|ar|y|ied|at|ate|ates|ated|ating|ness|ful|ant|ent)?"
)
_IRREGULAR_STEMS = {
    form: forms.split()[0]
    for forms in (
        "begin began begun|bind bound|break brok broken|bring brought|build built|choos chos chosen|"
        "draw drew drawn|driv drov driven|fall fell fallen|feed fed|feel felt|find found|freez froz frozen|"
        "giv gav given|grow grew grown|hold held|keep kept|know knew known|lead led|leav left|los lost|"
        "mak mad|mean meant|meet met|ris ros risen|run ran|see saw seen|sell sold|send sent|shak shook shaken|"
        "shoot shot|sit sat|speak spok spoken|spend spent|spin spun|stand stood|stick stuck|swing swung|"
        "tak took taken|teach taught|tell told|think thought|throw threw thrown|understand understood|"
        "wear worn|win won|writ wrot written"
    ).split("|")
    for form in forms.split()
}
"""The stems of irregular verbs."""


def are_word_forms(one: str, other: str) -> bool:
    """Returns whether two stems are probably forms of one word: they differ in their endings, or are irregular."""
    if one in _IRREGULAR_STEMS and _IRREGULAR_STEMS[one] == _IRREGULAR_STEMS.get(other):
        return True
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    if shared < 4 or (shared < 5 and max(len(one), len(other)) > 7):
        return False
    return bool(_WORD_ENDING.fullmatch(one[shared:]) and _WORD_ENDING.fullmatch(other[shared:]))


_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+)?"
    r"(?P<done>\w+ed|made|built|kept|held|sent|set|put|found|given|taken|known|shown|written|chosen|driven|fed|left|read|"
    r"run)\b",
    re.I,
)
_AGENT_PHRASE = re.compile(r"\bby\s+(?!\w+ing\b)(?P<doer>[^,;:.]+)", re.I)


def turns_active_into_passive(said: str, book: str) -> bool:
    """Returns whether a text is passive and the book active."""
    return bool(_PASSIVE.search(said)) and not _PASSIVE.search(book)


def order_as_active(text: str) -> tuple[str, ...]:
    """Returns the terms of a clause in active order; nothing for a passive without an agent."""
    passive = _PASSIVE.search(text)
    if not passive:
        return extract_clause_terms(text)
    by = _AGENT_PHRASE.search(text, passive.end())
    if not by:
        return ()
    patient, between, after = text[: passive.start()], text[passive.end() : by.start()], text[by.end() :]
    return extract_clause_terms(f"{by['doer']} {passive['done']} {patient} {between} {after}")


def swaps_sides(said: Sequence[str], book: Sequence[str]) -> bool:
    """Returns whether terms have changed sides: "the leg moves the hip" for "the hip moves the leg"."""
    return any(
        term == same
        and _overlap_at_ends(book[:there], said[here + 1 :])
        and _overlap_at_ends(said[:here], book[there + 1 :])
        for here, term in enumerate(said)
        for there, same in enumerate(book)
    )


def _overlap_at_ends(before: Sequence[str], after: Sequence[str]) -> bool:
    """Returns whether one list ends with the terms that the other begins with."""
    return any(before[-size:] == after[:size] for size in range(1, min(len(before), len(after)) + 1))
