"""Chooses the units of passages that an answer quotes, and widens short answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bookbound.answering.writers.quotes.quote_context import (
    begins_with_pronoun,
    expand_to_context,
    introduces_next_unit,
    is_aside,
)
from bookbound.domain.chunk import ChunkLayout, Passage
from bookbound.domain.judgement import Evidence
from bookbound.domain.question import SELECTION_CHUNK_ID, Wants
from bookbound.text import extract_terms

# Probability, relative to the best, that further words need.
MIN_SHARE_SAME_PASSAGE = 0.1
MIN_SHARE_OTHER_PASSAGE = 0.3
MIN_NEW_TERM_SHARE = 0.3  # of the terms of another passage; with fewer it is a paraphrase
SURE_PROBABILITY = 0.7
MAX_QUOTED_PASSAGES = 3
MAX_ANNOUNCED_LINES = 8  # of code that a sentence announces
# Shorter answers are widened, and so is the answer to each of several parts, but not to more prose.
MIN_QUOTED_UNITS = 5
MIN_QUOTED_UNITS_OF_PART = 2
MIN_QUOTED_WORDS = 25
MAX_WIDENED_WORDS = 80


class Excerpt:
    """The chosen units of passages, each with its evidence, in at most `room` stretches."""

    def __init__(self, question_terms: frozenset[str], wants: Wants, passages: Sequence[Passage], room: int) -> None:
        self._layouts = {passage.chunk.id: ChunkLayout(passage.chunk) for passage in passages}
        self._question_terms, self._wants, self._room = question_terms, wants, room
        self._chosen: dict[str, dict[int, Evidence]] = {}
        self._best: dict[int, float] = {}
        self._leads: dict[str, int] = {}
        self._settled: set[int] = set()
        self._referring: set[Evidence] = set()

    def add(self, piece: Evidence) -> None:
        """Chooses the units of a piece and what they need, if they say something new and fit."""
        layout = self._layouts.get(piece.chunk_id)
        if not layout:
            return
        core, needed = expand_to_context(layout, piece.start, piece.end, self._wants.list_terms, self._question_terms)
        if all(is_aside(layout, at) for at in core):
            return
        new = {at for at in core | needed if not self._contains(piece.chunk_id, at)}
        if core & new:
            is_worth = piece.part not in self._best or self._says_more(piece, layout, core)
            fitting = self._select_fitting(piece, core & new, needed & new) if is_worth else set()
            if not fitting:
                return
            self._chosen.setdefault(piece.chunk_id, {}).update(dict.fromkeys(fitting, piece))
            self._leads.setdefault(piece.chunk_id, min(fitting))
            if layout.kind(min(core)) == "sentence" and min(fitting) < min(core):
                self._referring.add(piece)
        if core and piece.part not in self._best:
            self._best[piece.part] = piece.probability
            # What answers two parts at once, or is a table, is complete.
            if not core & new or layout.kind(min(core)) == "row":
                self._settled.add(piece.part)

    def widen(self) -> None:
        """Adds the prose after the words for each part that has them from one place, while its answer is short."""
        wanted = MIN_QUOTED_UNITS if len(self._best) == 1 else MIN_QUOTED_UNITS_OF_PART
        for part in self._best:
            found = {(self._chosen[name][at], name) for name, at in self._chosen_units()}
            pieces = [(piece, name) for piece, name in found if piece.part == part]
            # Readers see the rest of what they selected.
            if len(pieces) == 1 and pieces[0][1] != SELECTION_CHUNK_ID:
                self._widen_around(*pieces[0], wanted)

    def _widen_around(self, best: Evidence, name: str, wanted: int) -> None:
        chosen, layout = self._chosen[name], self._layouts[name]
        units = [at for at, piece in chosen.items() if piece is best]
        for at in _iterate_prose(layout, max(units)):
            count = sum(piece.part == best.part for found in self._chosen.values() for piece in found.values())
            is_enough = count >= wanted or self._is_other_subject(layout, at) or self._is_long_with(name, at)
            if is_enough or not self._widen_by(at, best, name):
                break
        after = max(chosen) + 1
        if self._wants.steps and _announces_short_code(layout, after) and self._fits(name, {after, after + 1}):
            chosen |= dict.fromkeys((after, after + 1), best)
        first = min(units)
        if best in self._referring and self._count_words() < MIN_QUOTED_WORDS:
            first = self._complete_paragraph(first, best, name, wanted)
        is_needed = self._names_more(layout, first - 1, chosen) and not self._is_long_with(name, first - 1)
        if is_needed and self._widen_by(first - 1, best, name) and self._leads[name] == first:
            self._leads[name] = first - 1

    def _complete_paragraph(self, first: int, best: Evidence, name: str, wanted: int) -> int:
        """Adds the paragraph before short words that refer to it, while there is room; returns where it begins."""
        layout = self._layouts[name]
        while layout.follows(first) and layout.kind(first - 1) == "sentence" and not is_aside(layout, first - 1):
            is_enough = len(self._chosen[name]) >= wanted or self._is_long_with(name, first - 1)
            if is_enough or not self._widen_by(first - 1, best, name):
                break
            first -= 1
        return first

    def _widen_by(self, at: int, best: Evidence, name: str) -> bool:
        """Adds a unit if there is room; returns whether there was."""
        has_room = self._fits(name, {at})
        if has_room and not self._contains(name, at):
            self._chosen[name][at] = best
        return has_room

    def _is_other_subject(self, layout: ChunkLayout, at: int) -> bool:
        """Returns whether a unit begins a paragraph that the answer does not need."""
        if layout.follows(at):
            return False
        is_enough = self._count_words() >= MIN_QUOTED_WORDS
        is_related = not self._question_terms.isdisjoint(extract_terms(layout.words(at)))
        leads_on = any(introduces_next_unit(layout, other) for other in layout.block(at))
        return leads_on or (is_enough and not is_related)

    def _names_more(self, layout: ChunkLayout, at: int, units: Iterable[int]) -> bool:
        """Returns whether the sentence before the answer names something of the question that the answer lacks.

        What an answer means by "They …" is clear from the question. An answer to yes or no begins with what decides.
        """
        is_prose = layout.kind(at) == "sentence" and not (layout.is_label(at) or is_aside(layout, at))
        asks_yes_or_no = layout.follows(at + 1) and self._wants.yes_or_no
        if not is_prose or asks_yes_or_no or begins_with_pronoun(layout, at + 1):
            return False
        # A comparison needs both sides, and what follows the answer may only mention the other one.
        needed = [at + 1] if self._wants.comparison else units
        said = set().union(*(extract_terms(layout.words(unit)) for unit in needed))
        return bool(self._question_terms.intersection(extract_terms(layout.words(at))) - said)

    def _is_long_with(self, name: str, at: int) -> bool:
        return self._count_words() + len(self._layouts[name].words(at).split()) > MAX_WIDENED_WORDS * len(self._best)

    def _count_words(self) -> int:
        """Returns the number of words in the chosen prose."""
        units = ((self._layouts[name], at) for name, at in self._chosen_units())
        return sum(len(layout.words(at).split()) for layout, at in units if layout.kind(at) in ("sentence", "item"))

    def in_order(self) -> list[Evidence]:
        """Returns the stretches of each chunk in the order in which the chunks were chosen.

        They keep the order of the book, but what stands before the paragraph of the words that were chosen first comes
        last.
        """
        found: list[Evidence] = []
        for name in self._leads:
            start = self._layouts[name].units[self._find_paragraph(name)].start
            found += sorted(self._stretches(name), key=lambda each: (each.start < start, each.start))
        return found

    def _find_paragraph(self, name: str) -> int:
        """Returns the first chosen unit of the paragraph in which the words that were chosen first are."""
        layout, at = self._layouts[name], self._leads[name]
        while at - 1 in self._chosen[name] and layout.follows(at):
            at -= 1
        return at

    def _stretches(self, name: str) -> Iterator[Evidence]:
        layout, chosen = self._layouts[name], self._chosen.get(name, {})
        for run in layout.stretches(chosen):
            best = max((chosen[at] for at in run), key=lambda piece: piece.probability)
            part = min(chosen[at].part for at in run)
            start, end = layout.units[run[0]].start, layout.units[run[-1]].end
            yield Evidence.from_chunk(layout.chunk, start, end, best.probability, part)

    def _contains(self, name: str, at: int) -> bool:
        """Returns whether the same words or the same place of the book are chosen already."""
        return is_repeated(self._cite(name, at), (self._cite(*each) for each in self._chosen_units()))

    def _chosen_units(self) -> Iterator[tuple[str, int]]:
        return ((name, at) for name, chosen in self._chosen.items() for at in chosen)

    def _cite(self, name: str, at: int) -> Evidence:
        unit = self._layouts[name].units[at]
        return Evidence.from_chunk(self._layouts[name].chunk, unit.start, unit.end, 0.0)

    def _says_more(self, piece: Evidence, layout: ChunkLayout, core: set[int]) -> bool:
        """Returns whether a further piece for a part is nearly as probable as the best, and not a paraphrase of it."""
        quoted = (extract_terms(self._layouts[name].words(at)) for name, at in self._chosen_units())
        said = self._question_terms.union(*quoted)
        is_quoted = piece.chunk_id in self._chosen
        # The only part of a question needs no other passage if its words are sure.
        is_sure = len(self._best) == 1 and self._best[piece.part] >= SURE_PROBABILITY
        is_settled = piece.part in self._settled or is_sure or len(self._chosen) == MAX_QUOTED_PASSAGES
        if (is_settled and not is_quoted) or not set(extract_terms(piece.text)) - said:
            return False
        own = set().union(*(extract_terms(layout.words(at)) for at in core)) - self._question_terms
        is_new = is_quoted or len(own - said) >= MIN_NEW_TERM_SHARE * len(own)
        share = MIN_SHARE_SAME_PASSAGE if is_quoted else MIN_SHARE_OTHER_PASSAGE
        return is_new and piece.probability >= share * self._best[piece.part]

    def _select_fitting(self, piece: Evidence, core: set[int], needed: set[int]) -> set[int]:
        """Returns all units if there is room; else nothing, but of the best for a part as much as fits."""
        if self._fits(piece.chunk_id, core | needed):
            return core | needed
        layout, kept = self._layouts[piece.chunk_id], sorted(core)
        while kept and (introduces_next_unit(layout, kept[-1]) or not self._fits(piece.chunk_id, set(kept))):
            kept.pop()
        return set() if piece.part in self._best else set(kept)

    def _fits(self, name: str, more: set[int]) -> bool:
        names = {*self._chosen, name}
        chosen = {other: {*self._chosen.get(other, ()), *(more if other == name else ())} for other in names}
        return sum(len(list(self._layouts[other].stretches(units))) for other, units in chosen.items()) <= self._room


def is_repeated(quote: Evidence, known: Iterable[Evidence]) -> bool:
    """Returns whether the same words or the same place of the book are quoted already."""
    return any(quote.overlaps(other) or quote.text.split() == other.text.split() for other in known)


def _announces_short_code(layout: ChunkLayout, at: int) -> bool:
    """Returns whether a sentence goes on in its paragraph to the few lines of code below it."""
    is_announced = layout.kind(at) == "sentence" and layout.follows(at) and introduces_next_unit(layout, at)
    is_code = layout.kind(at + 1) == "code" and not layout.is_diagram(at + 1)
    return is_announced and is_code and layout.words(at + 1).count("\n") < MAX_ANNOUNCED_LINES


def _iterate_prose(layout: ChunkLayout, at: int) -> Iterator[int]:
    """Yields the sentences after a unit, up to a heading, a list, code, a table or a caption."""
    while layout.kind(at := at + 1) == "sentence" and not (layout.is_label(at) or is_aside(layout, at)):
        if introduces_next_unit(layout, at):
            return
        yield at
