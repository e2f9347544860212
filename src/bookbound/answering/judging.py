"""Reads what a search found and judges whether it answers, in every spelling that may be meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookbound.answering.deciding.decision import decide, merge_part_readings, rank_passages
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.passage_search import PassageSearch
from bookbound.answering.reply_builder import Findings
from bookbound.answering.understanding import understand
from bookbound.answering.understanding.spelling import SpellingCorrector, phrase_keyword
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import AnswerScope, Deadline, Question, QuestionKind, Retrieval, Understanding
from bookbound.domain.reply import SEARCH_TOOL_NAME
from bookbound.domain.trace import StageClock


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
        # The outline did not tell what a question about the book asks, so it is an ordinary one.
        understanding = replace(understanding, kind=QuestionKind.QUESTION)
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
            completed_from = understanding.completed_from
            understanding = understand(replace(understanding.question, text=text), completed_from=completed_from)
        return await self.judge(understanding, await run.search.find_parts(understanding), run)

    async def judge(self, understanding: Understanding, found: Sequence[Retrieval], run: RunState) -> Findings:
        """Judges the passages that were found for each part of a question."""
        if understanding.question.scope is not AnswerScope.SELECTION:
            run.tool_calls += (SEARCH_TOOL_NAME,)
        retrieval, assessment = await read_parts(self.engine.assessor, understanding, found, run)
        return Findings(
            understanding, retrieval, decide(understanding, retrieval, assessment, self.book.operating_point)
        )


async def read_parts(
    assessor: Assessor, understanding: Understanding, found: Sequence[Retrieval], run: RunState
) -> tuple[Retrieval, Assessment]:
    """Reads the passages of each part, and returns the best passages of all parts with their readings."""
    with run.clock.measure("judge"):
        read = [
            await assessor.assess(part, each.passages, run.deadline)
            for part, each in zip(understanding.parts, found, strict=True)
        ]
    return rank_passages(understanding.question, *merge_part_readings(found, read))


def _get_probability(found: Findings) -> float:
    return found.judgement.probability
