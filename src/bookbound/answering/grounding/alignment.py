"""Aligns each clause of a sentence with the clauses of the evidence that support it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from bookbound.answering.grounding.clauses import Clause, are_parallel, are_word_forms, split_clauses, split_evidence
from bookbound.answering.grounding.prompt_injection import drop_injected_units
from bookbound.answering.grounding.quantities import is_number_term
from bookbound.domain.chunk import QuotableUnit
from bookbound.domain.judgement import Evidence

SAME_TOPIC_SHARE = 0.5
"""The share of a clause's terms from which on it speaks of the same as another."""
MAX_SUPPORTING_CLAUSES = 3
"""The most clauses of the book that together carry one of a sentence."""
_CARRIED_TERM_COST, _SAME_UNIT_COST, _NEXT_UNIT_COST, _PARALLEL_CLAUSE_COST, _MISSING_NUMBER_COST = (
    0.3,
    0.35,
    1.0,
    1.5,
    1.5,
)
"""What it costs to understand a clause with words it carries, with its neighbour, with the next unit, with one that
says the like of something else, and without one of its numbers."""


class ClauseMatch(NamedTuple):
    """A clause of a sentence, its terms as the book has them, and the clauses of the book that carry it.

    `new` are its terms that the evidence has nowhere, `elsewhere` those that the carriers lack, and `apart` is how far
    the carriers must be gathered.
    """

    clause: Clause
    told: tuple[str, ...]
    carriers: tuple[Clause, ...]
    new: tuple[str, ...]
    elsewhere: tuple[str, ...]
    apart: float

    @property
    def likeness(self) -> float:
        """The share of its terms that its carriers have."""
        length = len(set(self.clause.terms))
        return 1 - (len(self.new) + len(self.elsewhere)) / length if self.carriers and length else 0.0

    def retold(self, terms: Iterable[str]) -> list[str]:
        """Terms of the clause as the book has them; new ones stay as they are."""
        unknown = {*self.new, "one"} - {*self.told}
        known = dict(zip((term for term in self.clause.terms if term not in unknown), self.told, strict=True))
        return [known.get(term, term) for term in terms]

    @property
    def closest(self) -> Clause:
        """The carrier that shares most with it."""
        return max(self.carriers, key=lambda carrier: len({*self.told}.intersection(carrier.terms)))


class SentenceAlignment:
    """A sentence held against its evidence, clause by clause; what speaks to a language model is no evidence."""

    def __init__(self, sentence: str, evidence: Sequence[Evidence]) -> None:
        self.sentence = sentence
        self.pieces = [(piece, drop_injected_units(piece)) for piece in evidence]
        self.book = [
            clause for at, (piece, units) in enumerate(self.pieces) for clause in split_evidence(piece, units, at)
        ]
        self._known = {term for clause in self.book for term in (*clause.terms, *clause.carried)}
        self.matches = [self._match(clause) for clause in split_clauses(sentence)]

    @property
    def text(self) -> str:
        """The words of the evidence that speak to readers."""
        spoken = [(piece.text, units, len(units) == len(piece.units)) for piece, units in self.pieces]
        return "\n\n".join(text if whole else _join_units(text, units) for text, units, whole in spoken)

    @property
    def headings(self) -> str:
        """The names under which the evidence stands: a sentence may call its subject by them."""
        return "\n".join(name for piece, _ in self.pieces for name in piece.place.path)

    @property
    def close(self) -> list[ClauseMatch]:
        """The clauses that speak of the same as those of the book which carry them."""
        return [match for match in self.matches if match.likeness >= SAME_TOPIC_SHARE]

    def around(self, beside: int = 0) -> str:
        """The units of the book that carry the sentence, whole, with those they point back at.

        In running text, also some `beside` them.
        """
        wanted: set[tuple[int, int]] = set()
        for clause in (clause for match in self.matches for clause in match.carriers):
            units = self.pieces[clause.piece][1]
            wider = beside if units[clause.unit].kind == "sentence" else 0
            first, last = max(clause.unit - max(clause.back, wider), 0), min(clause.unit + wider, len(units) - 1)
            wanted |= {(clause.piece, at) for at in range(first, last + 1)}
        return "\n".join(
            _join_units(self.pieces[piece][0].text, [self.pieces[piece][1][at]]) for piece, at in sorted(wanted)
        )

    def knows(self, term: str) -> bool:
        """Whether the evidence has a term in some form."""
        return self._kindred(term) is not None

    def _kindred(self, term: str) -> str | None:
        """The term of the evidence that is the same word in some form."""
        return term if term in self._known else next((one for one in self._known if are_word_forms(term, one)), None)

    def _match(self, clause: Clause) -> ClauseMatch:
        kin = {term: self._kindred(term) for term in clause.terms}
        new = tuple(term for term, found in kin.items() if found is None and term != "one")
        told = tuple(found for term in clause.terms if (found := kin[term]))
        times, known = Counter(told), set(told)
        best, least = ClauseMatch(clause, told, (), new, tuple(known), 0.0), float(len(known))
        for carriers in self._stretches():
            count = _count_terms(carriers)
            carried = {term for each in carriers for term in each.carried if term not in count}
            lacking = tuple(term for term in known - carried if count[term] < min(times[term], 2))
            apart = _CARRIED_TERM_COST * len(known & carried) + sum(
                _compute_joining_cost(*each) for each in pairwise(carriers)
            )
            if (cost := sum(map(_compute_missing_cost, lacking)) + apart) < least:
                best, least = ClauseMatch(clause, told, carriers, new, lacking, apart), cost
        return best

    def _stretches(self) -> Iterator[tuple[Clause, ...]]:
        """Neighbouring clauses of the book, of one unit or two."""
        for at, first in enumerate(self.book):
            for size in range(1, MAX_SUPPORTING_CLAUSES + 1):
                *_, last = stretch = self.book[at : at + size]
                if len(stretch) == size and last.piece == first.piece and last.unit - first.unit <= 1:
                    yield tuple(stretch)


def _count_terms(carriers: Sequence[Clause]) -> Counter[str]:
    """How often a unit says each term."""
    counts: dict[int, Counter[str]] = {}
    for clause in carriers:
        counts.setdefault(clause.unit, Counter()).update(clause.terms)
    return reduce(or_, counts.values())


def _compute_joining_cost(one: Clause, other: Clause) -> float:
    """What it costs to read two neighbouring clauses as one."""
    if are_parallel(one, other):
        return _PARALLEL_CLAUSE_COST
    return _SAME_UNIT_COST if one.unit == other.unit or other.back else _NEXT_UNIT_COST


def _compute_missing_cost(term: str) -> float:
    """What it costs to lack a term: a number most of all."""
    return _MISSING_NUMBER_COST if is_number_term(term) else 1.0


def _join_units(text: str, units: Sequence[QuotableUnit]) -> str:
    return "\n".join(text[unit.start : unit.end] for unit in units)


MAX_NEIGHBOURING_UNITS = 3
"""The most neighbouring units of a passage that one stretch holds."""


def narrow_evidence(retelling: SentenceAlignment) -> tuple[Evidence, ...]:
    """The units of each piece of evidence that carry a clause of the sentence, in stretches with their exact place.

    A piece that carries none is out.
    """
    places = {
        (clause.piece, clause.unit) for match in retelling.matches for clause in _select_supporting_clauses(match)
    }
    found: list[Evidence] = []
    for number, (piece, units) in enumerate(retelling.pieces):
        for first, last in _group_neighbours(sorted(unit for at, unit in places if at == number), units):
            found.append(piece.narrowed(units[first].start, units[last].end))
    return tuple(found)


def _select_supporting_clauses(match: ClauseMatch) -> tuple[Clause, ...]:
    """The clauses that carry a match, unless they share too little with it to be what it rests on."""
    known = len(match.clause.terms) - len(match.new) - len(match.elsewhere)
    return match.carriers if known > 0 else ()


def _group_neighbours(places: Sequence[int], units: Sequence[QuotableUnit]) -> Iterator[tuple[int, int]]:
    """Neighbouring places as stretches of at most `MOST` units."""
    if not places:
        return
    first = last = places[0]
    for _, at in pairwise(places):
        if at - last > 1 or at - first >= MAX_NEIGHBOURING_UNITS:
            yield first, last
            first = at
        last = at
    yield first, last


def replaces_term(match: ClauseMatch) -> bool:
    """Whether a clause leaves out a term of the closest clause of the book, and says in its place one that is new.

    A word more or a word less is another thing: what is left in place holds the sentence to the book.
    """
    if not match.new or not match.carriers:
        return False
    new, less = {*match.new}, Counter(match.closest.terms) - Counter(match.told)
    return any(
        not new.isdisjoint(here) and _omits_term(there, match.told, less)
        for here, there in _pair_unmatched_terms(match.retold(match.clause.terms), match.closest.terms)
    )


def _omits_term(there: Sequence[str], told: Sequence[str], less: Counter[str]) -> bool:
    """Whether the terms of a place of the book are said nowhere, or the only one is said less often."""
    return any(term not in told for term in there) or (len(there) == 1 and less[there[0]] > 0)


def _pair_unmatched_terms(said: Sequence[str], book: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """What two texts have between the terms they share: each stretch of the one beside that of the other."""
    here = there = 0
    for at, beside, size in SequenceMatcher(None, said, book, autojunk=False).get_matching_blocks():
        yield said[here:at], book[there:beside]
        here, there = at + size, beside + size
