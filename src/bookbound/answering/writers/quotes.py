"""Answers in the book's own words."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Sequence

from bookbound.answering.writers.chunk_layout import ChunkLayout
from bookbound.answering.writers.context_expansion import expand_to_context, introduces_next_unit
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence, TokenUsage
from bookbound.text.tokens import extract_terms

# Where several things are asked for, the list that holds one of them may be the answer.
_LIST_QUESTIONS = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:what|which)\s+(?P<things>(?:\S+\s+){0,3}\w*[^\Ws]s)\s+"
        r"(?:are|were|do|does|did|don['’]t|can|can['’]t|could|may|must|should|will|would|have|need|make|exist|belong)\b",
        r"\bhow\s+many\s+(?P<things>.+?)\s+(?:are|were)\s+there\b",
        r"\b(?:what\s+(?:are|were)|list|enumerate|name\s+the|rank|all\s+the)\b(?P<things>.*)",
        r"\b(?P<things>(?:steps|stages|phases|kinds|types|sorts)\b.*)",
    )
]


class QuoteWriter:
    """Quotes the words that answer, with what they need to be understood, each with its citation.

    The best passage speaks first; another speaks too where the question has several parts or it says something new.
    """

    name, reads = "quotes", False

    async def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[AnswerSentence | TokenUsage]:
        # The statement that this is only part of the answer, or may be none, is a sentence too.
        room = MAX_ANSWER_SENTENCES - (judgement.partial or not judgement.sure)
        excerpt = Excerpt(question.text, passages, room, _find_list_terms(question.text))
        for piece in _order_by_part(judgement.evidence):
            excerpt.add(piece)
        excerpt.widen()
        for evidence in excerpt.in_order():
            yield AnswerSentence(evidence.text, (evidence,))


def _find_list_terms(question: str) -> set[str]:
    """The terms of what a question asks a list of, if it does."""
    found = next((found for pattern in _LIST_QUESTIONS if (found := pattern.search(question))), None)
    return set(extract_terms(found["things"])) if found else set()


def _order_by_part(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The best for each part, in the order asked, then the rest, best first."""
    best = {piece.part: piece for piece in reversed(evidence)}
    first = [best[part] for part in sorted(best)]
    return [*first, *(piece for piece in evidence if piece not in first)]


MIN_SHARE_SAME_PASSAGE, MIN_SHARE_OTHER_PASSAGE, MIN_NEW_TERM_SHARE = 0.1, 0.3, 0.3
"""How probable words are at least, measured by the best: of a passage in use, of another; and how much is new there."""
PROSE_KINDS = ("sentence", "item")
MAX_QUOTED_PASSAGES, MIN_QUOTED_UNITS = 3, 4
"""How many passages speak at most, and how many units of the best one an answer is short without."""


class Excerpt:
    """Units of passages, each with the evidence it was taken for, in no more stretches than there is room for."""

    def __init__(self, question: str, passages: Sequence[Passage], room: int, listed: set[str]) -> None:
        self._passages = {passage.chunk.id: passage for passage in passages}
        self._layouts = {passage.chunk.id: ChunkLayout(passage.chunk) for passage in passages}
        self._room, self._listed, self._asked = room, listed, set(extract_terms(question))
        self._taken: dict[str, dict[int, Evidence]] = {}
        self._best: dict[int, float] = {}

    def add(self, piece: Evidence) -> None:
        """Take the words of a piece and what they need, where they are not said yet, say something new, and fit."""
        if not (layout := self._layouts.get(piece.chunk_id)):
            return
        core, needed = expand_to_context(layout, piece.start, piece.end, self._listed)
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
        if len(self._best) != 1 or not taken or any(self._layouts[name].kind(at) not in PROSE_KINDS for at in taken):
            return  # parts have their own words each, and code and rows their own company
        layout, best = self._layouts[name], max(taken.values(), key=lambda piece: piece.probability)
        held = [at for at, piece in taken.items() if piece is best]
        for at in [*self._beside(layout, max(held), 1), *self._beside(layout, min(held), -1)]:
            if sum(map(len, self._taken.values())) < MIN_QUOTED_UNITS and not self._said(name, at):
                taken[at] = best

    def _beside(self, layout: ChunkLayout, at: int, step: int) -> Iterator[int]:
        """The plain units that stand in one block with a unit, going from it up or down the page."""
        while layout.kind(at) in PROSE_KINDS and layout.follows(at if step < 0 else at + 1):
            at += step
            if layout.kind(at) not in PROSE_KINDS or introduces_next_unit(layout, at):
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

    def _adds(self, piece: Evidence, layout: ChunkLayout, core: set[int]) -> bool:
        """Whether a further piece for a part is nearly as probable as the best, and no paraphrase of what was said."""
        said = self._asked.union(
            *(extract_terms(self._layouts[name].words(at)) for name, taken in self._taken.items() for at in taken)
        )
        here = piece.chunk_id in self._taken
        if len(self._taken) + (not here) > MAX_QUOTED_PASSAGES or not set(extract_terms(piece.text)) - said:
            return False
        own = set().union(*(extract_terms(layout.words(at)) for at in core)) - self._asked
        enough = here or len(own - said) >= MIN_NEW_TERM_SHARE * len(own)
        return (
            enough
            and piece.probability
            >= (MIN_SHARE_SAME_PASSAGE if here else MIN_SHARE_OTHER_PASSAGE) * self._best[piece.part]
        )

    def _fitting(self, piece: Evidence, core: set[int], needed: set[int]) -> set[int]:
        """All of it where there is room; else nothing, but of the best for a part as much as can be."""
        if self._fits(piece.chunk_id, core | needed):
            return core | needed
        layout, kept = self._layouts[piece.chunk_id], sorted(core)
        while kept and (introduces_next_unit(layout, kept[-1]) or not self._fits(piece.chunk_id, set(kept))):
            kept.pop()
        return set() if piece.part in self._best else set(kept)

    def _fits(self, name: str, more: set[int]) -> bool:
        names = {*self._taken, name}
        taken = {other: {*self._taken.get(other, ()), *(more if other == name else ())} for other in names}
        return sum(len(list(self._layouts[other].stretches(units))) for other, units in taken.items()) <= self._room
