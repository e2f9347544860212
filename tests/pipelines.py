"""Changes parts of an open pipeline for a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import NO_DEADLINE, Deadline


class RememberingAssessor:
    """Has each question and its passages read once, because tests ask the same questions and reading takes long."""

    def __init__(self, assessor: Assessor) -> None:
        self._assessor = assessor
        self._known: dict[tuple[str, tuple[Passage, ...]], Assessment] = {}

    async def assess(self, question: str, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE) -> Assessment:
        key = question, tuple(passages)
        if key not in self._known:
            self._known[key] = await self._assessor.assess(question, passages, deadline)
        return self._known[key]


def with_engine(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other models or services."""
    return replace(pipeline, engine=replace(pipeline.engine, **changes))


def with_point(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other thresholds."""
    point = replace(pipeline.book.operating_point, **changes)
    return replace(pipeline, book=replace(pipeline.book, operating_point=point))
