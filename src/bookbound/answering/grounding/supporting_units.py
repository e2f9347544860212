"""Finds the units of the evidence that support a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, zip_longest
from typing import NamedTuple

from bookbound.answering.grounding.quantities import convert_number_words
from bookbound.domain.chunk import ChunkLayout, QuotableUnit
from bookbound.domain.judgement import Evidence
from bookbound.text import drop_injected_units, extract_terms

MAX_UNITS = 5
MIN_ADDED_TERMS = 2
"""A further unit must have so many terms of the sentence that no unit before it has."""


class UnitPlace(NamedTuple):
    """The number of a piece of evidence, and of one of its units."""

    piece: int
    unit: int


class CitedEvidence:
    """The evidence that a sentence cites, without commands to a model."""

    def __init__(self, sentence: str, evidence: Sequence[Evidence]) -> None:
        self.pieces = [(piece, drop_injected_units(piece)) for piece in evidence]
        self._places = sorted(self._select_places(extract_term_set(sentence)))

    @property
    def text(self) -> str:
        """All units of the evidence."""
        return "\n\n".join(_join_units(piece, units) for piece, units in self.pieces if units)

    @property
    def supporting_text(self) -> str:
        """The pieces that support the sentence, whole, each below its heading path."""
        supporting = {place.piece for place in self._places}
        found = (piece for number, piece in enumerate(self.pieces) if number in supporting)
        return "\n\n".join(_add_heading_path(piece, _join_units(piece, units)) for piece, units in found)

    @property
    def headings(self) -> str:
        """The headings of the evidence, which may name the subject of a sentence."""
        return "\n".join(name for piece, _ in self.pieces for name in piece.place.heading_path)

    @property
    def context(self) -> str:
        """The units that support the sentence, each with its neighbours, below the heading path of their piece."""
        wider = {place._replace(unit=place.unit + step) for place in self._places for step in (-1, 0, 1)}
        found = (
            (piece, [unit for at, unit in enumerate(units) if UnitPlace(number, at) in wider])
            for number, (piece, units) in enumerate(self.pieces)
        )
        return "\n\n".join(_add_heading_path(piece, _join_units(piece, units)) for piece, units in found if units)

    @cached_property
    def stretches(self) -> tuple[Evidence, ...]:
        """The stretches of evidence that support the sentence, with their exact places."""
        # Units that follow each other keep their distance to their place in the list.
        grouped = groupby(enumerate(self._places), lambda pair: (pair[1].piece, pair[1].unit - pair[0]))
        runs = ([place for _, place in run] for _, run in grouped)
        pieces = ((*self.pieces[run[0].piece], run[0].unit, run[-1].unit) for run in runs)
        return tuple(piece.narrow(units[first].start, units[last].end) for piece, units, first, last in pieces)

    def _select_places(self, wanted: set[str]) -> Iterator[UnitPlace]:
        """Takes the unit with most of the terms that are still wanted, then the next."""
        terms = {
            UnitPlace(number, at): extract_term_set(piece.text[unit.start : unit.end])
            for number, (piece, units) in enumerate(self.pieces)
            for at, unit in enumerate(units)
        }
        for count in range(min(MAX_UNITS, len(terms))):
            best = max(terms, key=lambda place: len(terms[place] & wanted))
            added = terms.pop(best) & wanted
            if len(added) < (MIN_ADDED_TERMS if count else 1):
                return
            yield best
            wanted = wanted - added


def extract_term_set(text: str) -> set[str]:
    """The terms of a text, with small numbers as digits."""
    return {*extract_terms(convert_number_words(text))}


def _join_units(piece: Evidence, units: Sequence[QuotableUnit]) -> str:
    has_rows = any(unit.kind == "row" for unit in units)
    if len(units) == len(piece.units) and not has_rows:
        return piece.text
    return "\n".join(_read_row(piece, unit) or piece.text[unit.start : unit.end] for unit in units)


def _read_row(piece: Evidence, unit: QuotableUnit) -> str:
    """Returns a row of a table as a sentence that names its columns: "Name: timeout; Default: 30 s"."""
    if unit.kind != "row" or not piece.chunk:
        return ""
    layout = ChunkLayout(piece.chunk)
    at = next((at for at, each in enumerate(layout.units) if each.start == piece.start + unit.start), None)
    if at is None or not layout.names_columns(first := layout.table(at).start) or at == first:
        return ""
    columns, cells = (piece.chunk.split_row(layout.units[number]) for number in (first, at))
    named = zip_longest(columns, cells, fillvalue="")
    return "; ".join(": ".join(filter(None, pair)) for pair in named if pair[1])


def _add_heading_path(piece: Evidence, text: str) -> str:
    """A sentence may name its subject from a heading, as "Beta 3" in a list of what changed."""
    return "\n".join(filter(None, (" > ".join(piece.place.heading_path), text)))
