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
"""The share of common terms from which two clauses have the same topic."""
MAX_SUPPORTING_CLAUSES = 3
# The costs of a match: a term that only the context has, a missing number, and joining clauses.
_CONTEXT_TERM_COST, _MISSING_NUMBER_COST = 0.3, 1.5
_SAME_UNIT_COST, _NEXT_UNIT_COST, _PARALLEL_CLAUSE_COST = 0.35, 1.0, 1.5


class ClauseMatch(NamedTuple):
    """A clause of a sentence, its terms in the book's form, and the clauses of the evidence that support it.

    The evidence lacks the `new_terms`; only the supporting clauses lack the `misplaced_terms`. `joining_cost` is the
    cost of reading the supporting clauses as one.
    """

    clause: Clause
    known_terms: tuple[str, ...]
    supporting: tuple[Clause, ...]
    new_terms: tuple[str, ...]
    misplaced_terms: tuple[str, ...]
    joining_cost: float

    @property
    def shared_term_ratio(self) -> float:
        """The share of the terms that the supporting clauses have."""
        length = len(set(self.clause.terms))
        return 1 - (len(self.new_terms) + len(self.misplaced_terms)) / length if self.supporting and length else 0.0

    def use_book_terms(self, terms: Iterable[str]) -> list[str]:
        """Returns terms of the clause in the book's form; new ones are unchanged."""
        unknown = {*self.new_terms, "one"} - {*self.known_terms}
        known = dict(zip((term for term in self.clause.terms if term not in unknown), self.known_terms, strict=True))
        return [known.get(term, term) for term in terms]

    @property
    def closest(self) -> Clause:
        """The supporting clause that shares most terms."""
        return max(self.supporting, key=lambda clause: len({*self.known_terms}.intersection(clause.terms)))


class SentenceAlignment:
    """A sentence and its evidence, matched clause by clause; injected prompts do not count as evidence."""

    def __init__(self, sentence: str, evidence: Sequence[Evidence]) -> None:
        self.sentence = sentence
        self.pieces = [(piece, drop_injected_units(piece)) for piece in evidence]
        self.evidence_clauses = [
            clause for at, (piece, units) in enumerate(self.pieces) for clause in split_evidence(piece, units, at)
        ]
        self._known = {term for clause in self.evidence_clauses for term in (*clause.terms, *clause.context_terms)}
        self.matches = [self._match(clause) for clause in split_clauses(sentence)]

    @property
    def text(self) -> str:
        """The evidence without injected prompts."""
        spoken = [(piece.text, units, len(units) == len(piece.units)) for piece, units in self.pieces]
        return "\n\n".join(text if whole else _join_units(text, units) for text, units, whole in spoken)

    @property
    def headings(self) -> str:
        """The headings of the evidence, which may name the subject of a sentence."""
        return "\n".join(name for piece, _ in self.pieces for name in piece.place.heading_path)

    @property
    def same_topic_matches(self) -> list[ClauseMatch]:
        """The matches that share enough terms with the evidence."""
        return [match for match in self.matches if match.shared_term_ratio >= SAME_TOPIC_SHARE]

    def supporting_text(self, neighbours: int = 0) -> str:
        """Returns the whole units that support the sentence, those they refer to, and in prose some neighbours."""
        wanted: set[tuple[int, int]] = set()
        for clause in (clause for match in self.matches for clause in match.supporting):
            units = self.pieces[clause.piece][1]
            wider = neighbours if units[clause.unit].kind == "sentence" else 0
            first, last = max(clause.unit - max(clause.refers_back, wider), 0), min(clause.unit + wider, len(units) - 1)
            wanted |= {(clause.piece, at) for at in range(first, last + 1)}
        return "\n".join(
            _join_units(self.pieces[piece][0].text, [self.pieces[piece][1][at]]) for piece, at in sorted(wanted)
        )

    def has_term(self, term: str) -> bool:
        """Returns whether the evidence has a term in some form."""
        return self._find_form(term) is not None

    def _find_form(self, term: str) -> str | None:
        """Returns the term of the evidence that is a form of the same word."""
        return term if term in self._known else next((one for one in self._known if are_word_forms(term, one)), None)

    def _match(self, clause: Clause) -> ClauseMatch:
        forms = {term: self._find_form(term) for term in clause.terms}
        new = tuple(term for term, found in forms.items() if found is None and term != "one")
        known_terms = tuple(found for term in clause.terms if (found := forms[term]))
        times, known = Counter(known_terms), set(known_terms)
        best, least = ClauseMatch(clause, known_terms, (), new, tuple(known), 0.0), float(len(known))
        for clauses in self._iterate_neighbours():
            count = _count_terms(clauses)
            context = {term for each in clauses for term in each.context_terms if term not in count}
            lacking = tuple(term for term in known - context if count[term] < min(times[term], 2))
            joining_cost = _CONTEXT_TERM_COST * len(known & context) + sum(
                _compute_joining_cost(*each) for each in pairwise(clauses)
            )
            if (cost := sum(map(_compute_missing_cost, lacking)) + joining_cost) < least:
                best, least = ClauseMatch(clause, known_terms, clauses, new, lacking, joining_cost), cost
        return best

    def _iterate_neighbours(self) -> Iterator[tuple[Clause, ...]]:
        """Yields up to `MAX_SUPPORTING_CLAUSES` neighbouring clauses of one unit or two."""
        for at, first in enumerate(self.evidence_clauses):
            for size in range(1, MAX_SUPPORTING_CLAUSES + 1):
                *_, last = stretch = self.evidence_clauses[at : at + size]
                if len(stretch) == size and last.piece == first.piece and last.unit - first.unit <= 1:
                    yield tuple(stretch)


def _count_terms(clauses: Sequence[Clause]) -> Counter[str]:
    """Counts each term in the unit that has it most often."""
    counts: dict[int, Counter[str]] = {}
    for clause in clauses:
        counts.setdefault(clause.unit, Counter()).update(clause.terms)
    return reduce(or_, counts.values())


def _compute_joining_cost(one: Clause, other: Clause) -> float:
    """Returns the cost of reading two neighbouring clauses as one."""
    if are_parallel(one, other):
        return _PARALLEL_CLAUSE_COST
    return _SAME_UNIT_COST if one.unit == other.unit or other.refers_back else _NEXT_UNIT_COST


def _compute_missing_cost(term: str) -> float:
    return _MISSING_NUMBER_COST if is_number_term(term) else 1.0


def _join_units(text: str, units: Sequence[QuotableUnit]) -> str:
    return "\n".join(text[unit.start : unit.end] for unit in units)


MAX_NEIGHBOURING_UNITS = 3


def narrow_evidence(alignment: SentenceAlignment) -> tuple[Evidence, ...]:
    """Returns the stretches of evidence that support a clause of the sentence, with their exact places."""
    places = {
        (clause.piece, clause.unit) for match in alignment.matches for clause in _select_supporting_clauses(match)
    }
    found: list[Evidence] = []
    for number, (piece, units) in enumerate(alignment.pieces):
        for first, last in _group_neighbours(sorted(unit for at, unit in places if at == number), units):
            found.append(piece.narrow(units[first].start, units[last].end))
    return tuple(found)


def _select_supporting_clauses(match: ClauseMatch) -> tuple[Clause, ...]:
    """Returns the supporting clauses, unless they share no term with the clause."""
    known = len(match.clause.terms) - len(match.new_terms) - len(match.misplaced_terms)
    return match.supporting if known > 0 else ()


def _group_neighbours(places: Sequence[int], units: Sequence[QuotableUnit]) -> Iterator[tuple[int, int]]:
    """Groups neighbouring units into stretches of at most `MAX_NEIGHBOURING_UNITS`."""
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
    """Returns whether a clause has a new term in the place of a term of the closest clause of the book."""
    if not match.new_terms or not match.supporting:
        return False
    new, less = {*match.new_terms}, Counter(match.closest.terms) - Counter(match.known_terms)
    return any(
        not new.isdisjoint(here) and _omits_term(there, match.known_terms, less)
        for here, there in _pair_unmatched_terms(match.use_book_terms(match.clause.terms), match.closest.terms)
    )


def _omits_term(there: Sequence[str], known_terms: Sequence[str], less: Counter[str]) -> bool:
    """Returns whether terms of the book are missing, or a single one is repeated less often."""
    return any(term not in known_terms for term in there) or (len(there) == 1 and less[there[0]] > 0)


def _pair_unmatched_terms(said: Sequence[str], book: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yields the stretches of both lists between the terms that they share."""
    here = there = 0
    for at, other, size in SequenceMatcher(None, said, book, autojunk=False).get_matching_blocks():
        yield said[here:at], book[there:other]
        here, there = at + size, other + size
