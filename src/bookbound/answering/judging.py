"""Searches for a question, reads what is found and judges whether it answers, in every spelling that may be meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bookbound.answering.deciding.decision import decide, merge_part_readings, rank_passages
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.reply_builder import Findings
from bookbound.answering.selection import locate_selection
from bookbound.answering.understanding import understand
from bookbound.answering.understanding.spelling import SpellingCorrector, phrase_keyword
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Assessment, Judgement, RefusalReason
from bookbound.domain.ports import Assessor, Embedder, Index
from bookbound.domain.question import (
    MAX_PASSAGES,
    AnswerScope,
    Deadline,
    Question,
    Retrieval,
    Understanding,
)
from bookbound.domain.reply import SEARCH_TOOL_NAME
from bookbound.domain.trace import StageClock

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

NOTHING_FOUND = Judgement(0.0, (), (), "Poor", RefusalReason.EMPTY_RETRIEVAL)
MAX_MODEL_PASSAGES = 12
"""How many passages a language model may read if it is not sure which of them answer."""


@dataclass(slots=True)
class PassageSearch:
    """Finds the passages an answer may rest on: the selection, the best of the book, or both.

    Every text is embedded and searched once, and the selection is located once.
    """

    question: Question
    index: Index
    embedder: Embedder
    deadline: Deadline
    clock: StageClock
    _vectors: dict[str, Vectors] = field(default_factory=dict)
    _found: dict[str, Retrieval] = field(default_factory=dict)
    _selected: Chunk | None = None

    async def find(self, text: str) -> Retrieval:
        """Returns the passages for a text; of the book always `MAX_PASSAGES`, because only reading decides the best."""
        if text not in self._found:
            self._found[text] = await self._search(text)
        return self._found[text]

    async def find_parts(self, understanding: Understanding) -> list[Retrieval]:
        """Returns the passages for each part of a question."""
        return [await self.find(part.text) for part in understanding.parts]

    async def compare(self, one: str, other: str) -> float:
        """Returns the similarity of two phrases."""
        return float(await self._embed(one) @ await self._embed(other))

    async def _search(self, text: str) -> Retrieval:
        vector, scope = await self._embed(text), self.question.scope
        selected = await self._locate() if self.question.selection else None
        passages: Sequence[Passage] = ()
        if selected and scope is not AnswerScope.BOOK:
            similarity = float(vector @ await self._embed(selected.text))
            passages = (Passage(selected, max(0.0, similarity)),)
        if scope is not AnswerScope.SELECTION:
            with self.clock.measure("search"):
                passages = (*passages, *await self.index.search(text, vector, MAX_PASSAGES, self.deadline))
        scored = (replace(each, score=self.embedder.score_similarity(each.score)) for each in passages)
        return Retrieval(tuple(scored), selected.place if selected and selected.place.file else None)

    async def _locate(self) -> Chunk:
        if self._selected is None:
            with self.clock.measure("search"):
                self._selected = await locate_selection(self.question.selection or "", self.index, self.deadline)
        return self._selected

    async def _embed(self, text: str) -> Vectors:
        if text not in self._vectors:
            with self.clock.measure("embed"):
                self._vectors[text] = await self.embedder.embed_question(text, self.deadline)
        return self._vectors[text]


@dataclass(slots=True)
class RunState:
    """A question as the reader asked it, and what all steps of its answer share."""

    question: Question
    deadline: Deadline
    clock: StageClock
    search: PassageSearch
    tool_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """Judges questions about one book with one engine."""

    engine: Engine
    book: OpenBook

    async def judge_as_meant(self, understanding: Understanding, run: RunState) -> Findings:
        """Judges a question in the book's spelling; a keyword is also read as a question, and the surest one counts."""
        found = await run.search.find_parts(understanding)
        if understanding.question.selection:
            return await self.judge(understanding, found, run)
        passages = [passage for each in found for passage in each.passages]
        corrector = SpellingCorrector(self.book.index, self.engine.embedder)
        with run.clock.measure("search"):
            spellings = await corrector.correct(understanding.text, passages, run.deadline)
        judged = [await self._judge_text(text, understanding, run) for text in spellings]
        best = max(judged, key=_get_probability)
        if not best.judgement.answer_present and (asked := phrase_keyword(best.understanding.text)):
            best = max(best, await self._judge_text(asked, understanding, run), key=_get_probability)
        return best

    async def _judge_text(self, text: str, understanding: Understanding, run: RunState) -> Findings:
        """Judges a question in these words."""
        if text != understanding.text:
            understanding = understanding.with_words_of(understand(replace(understanding.question, text=text)))
        return await self.judge(understanding, await run.search.find_parts(understanding), run)

    async def judge(self, understanding: Understanding, found: Sequence[Retrieval], run: RunState) -> Findings:
        """Judges the passages that were found for each part of a question."""
        # Also if it sounds like one about the book, but the outline did not tell, or only its corrected words do.
        understanding = understanding.as_question()
        if understanding.question.scope is not AnswerScope.SELECTION:
            run.tool_calls += (SEARCH_TOOL_NAME,)
        read = await read_parts(self.engine.assessor, understanding, found, run)
        retrieval, assessment = rank_passages(*read, understanding.question.k)
        judgement = decide(understanding, retrieval, assessment, self.book.operating_point)
        candidates, _ = rank_passages(*read, max(understanding.question.k, MAX_MODEL_PASSAGES))
        return Findings(understanding, retrieval, judgement, candidates=candidates.passages)


async def read_parts(
    assessor: Assessor, understanding: Understanding, found: Sequence[Retrieval], run: RunState
) -> tuple[Retrieval, Assessment]:
    """Reads the passages of each part, and returns the passages of all parts with their readings."""
    with run.clock.measure("judge"):
        read = [
            await assessor.assess(part, each.passages, run.deadline)
            for part, each in zip(understanding.parts, found, strict=True)
        ]
    return merge_part_readings(found, read)


def _get_probability(found: Findings) -> float:
    return found.judgement.probability


class AgentSearches:
    """Everything that an agent's searches found; the judgement is that of the best search."""

    def __init__(self, question_retrieval: Retrieval) -> None:
        self._best_score = max((passage.score for passage in question_retrieval.passages), default=0.0)
        self._found: list[Findings] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def cap_scores(self, found: Retrieval) -> Retrieval:
        """Limits the scores to the best that the reader's own question reached.

        A query that copies the book is very similar to it, and that says nothing about the question.
        """
        passages = (replace(passage, score=min(passage.score, self._best_score)) for passage in found.passages)
        return replace(found, passages=tuple(passages))

    def add(self, found: Findings, *, is_withheld: bool) -> None:
        """Adds the result of a search; without anything that the agent may read, it counts as a refusal."""
        if is_withheld and found.may_answer:
            refused = replace(found.judgement, refusal=RefusalReason.LOW_RELEVANCE, is_unsure=False)
            found = replace(found, judgement=refused)
        self._found.append(found)

    def combine(self, understanding: Understanding) -> Findings:
        """Returns every passage that was found, each once."""
        passages = {passage.chunk.id: passage for each in self._found for passage in each.retrieval.passages}
        selection = next((each.retrieval.selection for each in self._found), None)
        judgements = [each.judgement for each in self._found]
        best = max(judgements, key=lambda each: (each.answer_present, each.is_unsure, each.probability), default=None)
        return Findings(understanding, Retrieval(tuple(passages.values()), selection), best or NOTHING_FOUND)
