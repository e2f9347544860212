"""Where a sentence comes from: each of its clauses beside the clauses of the book that carry it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from bookbound.book import Unit
from bookbound.finding import Evidence
from bookbound.judge.clauses import Clause, clauses, parallel, statements
from bookbound.judge.figures import is_figure
from bookbound.judge.forms import akin
from bookbound.judge.planted import sober

ALIKE = 0.5
"""The share of a clause's terms from which on it speaks of the same as another."""

LONGEST_STRETCH = 3
"""The most clauses of the book that together carry one of a sentence."""

_CARRIED, _JOINED, _CROSSED, _MIXED, _NUMBER = 0.3, 0.35, 1.0, 1.5, 1.5
"""What it costs to understand a clause with words it carries, with its neighbour, with the next unit, with one that
says the like of something else, and without one of its numbers."""


class Match(NamedTuple):
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


class Retelling:
    """A sentence held against its evidence, clause by clause; what speaks to a language model is no evidence."""

    def __init__(self, sentence: str, evidence: Sequence[Evidence]) -> None:
        self.sentence = sentence
        self.pieces = [(piece, sober(piece)) for piece in evidence]
        self.book = [clause for at, (piece, units) in enumerate(self.pieces) for clause in statements(piece, units, at)]
        self._known = {term for clause in self.book for term in (*clause.terms, *clause.carried)}
        self.matches = [self._match(clause) for clause in clauses(sentence)]

    @property
    def text(self) -> str:
        """The words of the evidence that speak to readers."""
        spoken = [(piece.text, units, len(units) == len(piece.units)) for piece, units in self.pieces]
        return "\n\n".join(text if whole else _read(text, units) for text, units, whole in spoken)

    @property
    def headings(self) -> str:
        """The names under which the evidence stands: a sentence may call its subject by them."""
        return "\n".join(name for piece, _ in self.pieces for name in piece.place.path)

    @property
    def close(self) -> list[Match]:
        """The clauses that speak of the same as those of the book which carry them."""
        return [match for match in self.matches if match.likeness >= ALIKE]

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
        return "\n".join(_read(self.pieces[piece][0].text, [self.pieces[piece][1][at]]) for piece, at in sorted(wanted))

    def knows(self, term: str) -> bool:
        """Whether the evidence has a term in some form."""
        return self._kindred(term) is not None

    def _kindred(self, term: str) -> str | None:
        """The term of the evidence that is the same word in some form."""
        return term if term in self._known else next((one for one in self._known if akin(term, one)), None)

    def _match(self, clause: Clause) -> Match:
        kin = {term: self._kindred(term) for term in clause.terms}
        new = tuple(term for term, found in kin.items() if found is None and term != "one")
        told = tuple(found for term in clause.terms if (found := kin[term]))
        times, known = Counter(told), set(told)
        best, least = Match(clause, told, (), new, tuple(known), 0.0), float(len(known))
        for carriers in self._stretches():
            count = _most(carriers)
            carried = {term for each in carriers for term in each.carried if term not in count}
            lacking = tuple(term for term in known - carried if count[term] < min(times[term], 2))
            apart = _CARRIED * len(known & carried) + sum(_joint(*each) for each in pairwise(carriers))
            if (cost := sum(map(_weight, lacking)) + apart) < least:
                best, least = Match(clause, told, carriers, new, lacking, apart), cost
        return best

    def _stretches(self) -> Iterator[tuple[Clause, ...]]:
        """Neighbouring clauses of the book, of one unit or two."""
        for at, first in enumerate(self.book):
            for size in range(1, LONGEST_STRETCH + 1):
                *_, last = stretch = self.book[at : at + size]
                if len(stretch) == size and last.piece == first.piece and last.unit - first.unit <= 1:
                    yield tuple(stretch)


def _most(carriers: Sequence[Clause]) -> Counter[str]:
    """How often a unit says each term."""
    counts: dict[int, Counter[str]] = {}
    for clause in carriers:
        counts.setdefault(clause.unit, Counter()).update(clause.terms)
    return reduce(or_, counts.values())


def _joint(one: Clause, other: Clause) -> float:
    """What it costs to read two neighbouring clauses as one."""
    if parallel(one, other):
        return _MIXED
    return _JOINED if one.unit == other.unit or other.back else _CROSSED


def _weight(term: str) -> float:
    """What it costs to lack a term: a number most of all."""
    return _NUMBER if is_figure(term) else 1.0


def _read(text: str, units: Sequence[Unit]) -> str:
    return "\n".join(text[unit.start : unit.end] for unit in units)
