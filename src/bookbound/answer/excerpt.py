"""What is quoted from a book, as it grows piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bookbound.answer.layout import Layout
from bookbound.answer.standing import leads_in, standing
from bookbound.book import Passage
from bookbound.finding import Evidence
from bookbound.words import terms

NEAR, NEARLY, NEW = 0.1, 0.3, 0.3
"""How probable words are at least, measured by the best: of a passage in use, of another; and how much is new there."""

PLAIN = ("sentence", "item")
MOST_PASSAGES, SHORT = 3, 4
"""How many passages speak at most, and how many units of the best one an answer is short without."""


class Excerpt:
    """Units of passages, each with the evidence it was taken for, in no more stretches than there is room for."""

    def __init__(self, question: str, passages: Sequence[Passage], room: int, listed: set[str]) -> None:
        self._passages = {passage.chunk.id: passage for passage in passages}
        self._layouts = {passage.chunk.id: Layout(passage.chunk) for passage in passages}
        self._room, self._listed, self._asked = room, listed, set(terms(question))
        self._taken: dict[str, dict[int, Evidence]] = {}
        self._best: dict[int, float] = {}

    def add(self, piece: Evidence) -> None:
        """Take the words of a piece and what they need, where they are not said yet, say something new, and fit."""
        if not (layout := self._layouts.get(piece.chunk_id)):
            return
        core, needed = standing(layout, piece.start, piece.end, self._listed)
        unsaid = {at for at in core | needed if not self._said(piece.chunk_id, at)}
        if core & unsaid:
            worth = piece.part not in self._best or self._adds(piece, layout, core)
            fitting = self._fitting(piece, core & unsaid, needed & unsaid) if worth else set()
            if not fitting:
                return
            self._taken.setdefault(piece.chunk_id, {}).update(dict.fromkeys(fitting, piece))
        if core:
            self._best.setdefault(piece.part, piece.probability)

    def widen(self) -> None:
        """Let what follows the best words in their block, then what goes before, be said too while it is short."""
        name, taken = next(iter(self._taken.items()), ("", {}))
        if len(self._best) != 1 or not taken or any(self._layouts[name].kind(at) not in PLAIN for at in taken):
            return  # parts have their own words each, and code and rows their own company
        layout, best = self._layouts[name], max(taken.values(), key=lambda piece: piece.probability)
        held = [at for at, piece in taken.items() if piece is best]
        for at in [*self._beside(layout, max(held), 1), *self._beside(layout, min(held), -1)]:
            if sum(map(len, self._taken.values())) < SHORT and not self._said(name, at):
                taken[at] = best

    def _beside(self, layout: Layout, at: int, step: int) -> Iterator[int]:
        """The plain units that stand in one block with a unit, going from it up or down the page."""
        while layout.kind(at) in PLAIN and layout.follows(at if step < 0 else at + 1):
            at += step
            if layout.kind(at) not in PLAIN or leads_in(layout, at):
                return
            yield at

    def in_order(self) -> list[Evidence]:
        """The stretches taken: those of a file in its order, files by the part they answer, then by their passage."""
        found = [evidence for name in self._passages for evidence in self._stretches(name)]
        parts: dict[str, int] = {}
        for evidence in found:
            parts[evidence.place.file] = min(evidence.part, parts.get(evidence.place.file, evidence.part))
        files = sorted(parts, key=lambda file: parts[file])
        return sorted(found, key=lambda evidence: (files.index(evidence.place.file), evidence.place.start))

    def _stretches(self, name: str) -> Iterator[Evidence]:
        layout, taken = self._layouts[name], self._taken.get(name, {})
        for run in layout.stretches(taken):
            best = max((taken[at] for at in run), key=lambda piece: piece.probability)
            part = min(taken[at].part for at in run)
            start, end = layout.units[run[0]].start, layout.units[run[-1]].end
            yield Evidence.of(self._passages[name], start, end, best.probability, part)

    def _said(self, name: str, at: int) -> bool:
        """Whether these words are taken already, from here or, word for word or as the same place, from elsewhere."""
        words = self._layouts[name].words(at).split()
        file, start, end = self._source(name, at)
        for other, taken in self._taken.items():
            for unit in taken:
                there, first, last = self._source(other, unit)
                if self._layouts[other].words(unit).split() == words or (
                    there == file and first < end and start < last
                ):
                    return True
        return False

    def _source(self, name: str, at: int) -> tuple[str, int, int]:
        layout = self._layouts[name]
        return layout.chunk.place.file, *layout.chunk.span(layout.units[at].start, layout.units[at].end)

    def _adds(self, piece: Evidence, layout: Layout, core: set[int]) -> bool:
        """Whether a further piece for a part is nearly as probable as the best, and no paraphrase of what was said."""
        said = self._asked.union(
            *(terms(self._layouts[name].words(at)) for name, taken in self._taken.items() for at in taken)
        )
        here = piece.chunk_id in self._taken
        if len(self._taken) + (not here) > MOST_PASSAGES or not set(terms(piece.text)) - said:
            return False
        own = set().union(*(terms(layout.words(at)) for at in core)) - self._asked
        enough = here or len(own - said) >= NEW * len(own)
        return enough and piece.probability >= (NEAR if here else NEARLY) * self._best[piece.part]

    def _fitting(self, piece: Evidence, core: set[int], needed: set[int]) -> set[int]:
        """All of it where there is room; else nothing, but of the best for a part as much as can be."""
        if self._fits(piece.chunk_id, core | needed):
            return core | needed
        layout, kept = self._layouts[piece.chunk_id], sorted(core)
        while kept and (leads_in(layout, kept[-1]) or not self._fits(piece.chunk_id, set(kept))):
            kept.pop()
        return set() if piece.part in self._best else set(kept)

    def _fits(self, name: str, more: set[int]) -> bool:
        names = {*self._taken, name}
        taken = {other: {*self._taken.get(other, ()), *(more if other == name else ())} for other in names}
        return sum(len(list(self._layouts[other].stretches(units))) for other, units in taken.items()) <= self._room
