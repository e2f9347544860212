"""Changes parts of an open pipeline for a test, and saves repeated readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import NO_DEADLINE, Deadline, QuestionPart
from bookbound.models.onnx import OnnxNetwork


class RememberingAssessor:
    """Has each question and its passages read once, because tests ask the same questions and reading takes long."""

    def __init__(self, assessor: Assessor) -> None:
        self._assessor = assessor
        self._known: dict[tuple[QuestionPart, tuple[Passage, ...]], Assessment] = {}

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        key = part, tuple(passages)
        if key not in self._known:
            self._known[key] = await self._assessor.assess(part, passages, deadline)
        return self._known[key]


@contextmanager
def remember_readings() -> Iterator[None]:
    """Has every network read each row of tokens once, for tests that ask the same questions in different ways."""
    read, known = OnnxNetwork.read, dict[object, Mapping[str, NDArray[np.float32]]]()

    def read_once(self: OnnxNetwork, ids: Sequence[int], **inputs: Sequence[int]) -> Mapping[str, NDArray[np.float32]]:
        key = self, tuple(ids), *((name, tuple(values)) for name, values in inputs.items())
        if key not in known:
            known[key] = read(self, ids, **inputs)
        return {name: values.copy() for name, values in known[key].items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnnxNetwork, "read", read_once)
        yield


def with_engine(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other models or services."""
    return replace(pipeline, engine=replace(pipeline.engine, **changes))


def with_point(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other thresholds."""
    point = replace(pipeline.book.operating_point, **changes)
    return replace(pipeline, book=replace(pipeline.book, operating_point=point))
