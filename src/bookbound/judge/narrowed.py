"""The words of a passage that carry a sentence, instead of the whole passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bookbound.book import Unit
from bookbound.finding import Evidence
from bookbound.judge.clauses import Clause
from bookbound.judge.retold import Match, Retelling

MOST = 3
"""The most neighbouring units of a passage that one stretch holds."""


def carrying(retelling: Retelling) -> tuple[Evidence, ...]:
    """The units of each piece of evidence that carry a clause of the sentence, in stretches with their exact place.

    A piece that carries none is out.
    """
    places = {(clause.piece, clause.unit) for match in retelling.matches for clause in _needed(match)}
    found: list[Evidence] = []
    for number, (piece, units) in enumerate(retelling.pieces):
        for first, last in _runs(sorted(unit for at, unit in places if at == number), units):
            found.append(piece.narrowed(units[first].start, units[last].end))
    return tuple(found)


def _needed(match: Match) -> tuple[Clause, ...]:
    """The clauses that carry a match, unless they share too little with it to be what it rests on."""
    known = len(match.clause.terms) - len(match.new) - len(match.elsewhere)
    return match.carriers if known > 0 else ()


def _runs(places: Sequence[int], units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """Neighbouring places as stretches of at most `MOST` units."""
    if not places:
        return
    first = last = places[0]
    for _, at in pairwise(places):
        if at - last > 1 or at - first >= MOST:
            yield first, last
            first = at
        last = at
    yield first, last
