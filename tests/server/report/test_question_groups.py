"""Questions that ask for the same thing are grouped, and others are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from bookbound.domain.trace import QueryMode
from bookbound.evaluation import MetricsDict
from bookbound.models.onnx import OnnxEmbedder
from bookbound.server.report import QuestionWording, report_builder
from bookbound.server.report.report_builder import QuestionGroup, VectorCache, group_by_similarity, group_unanswered

# Each list has the wordings of one question.
SIMILAR_QUESTIONS: list[list[str]] = json.loads((Path(__file__).parent / "similar_questions.json").read_text())


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    async def embed() -> np.ndarray:
        embedder = OnnxEmbedder()
        try:
            return await embedder.embed([text for wordings in SIMILAR_QUESTIONS for text in wordings])
        finally:
            await embedder.close()

    return asyncio.run(embed())


def test_wordings_of_one_question_are_grouped_and_other_questions_are_not(vectors: np.ndarray) -> None:
    expected = [number for number, wordings in enumerate(SIMILAR_QUESTIONS) for _ in wordings]
    actual = {
        member: number
        for number, group in enumerate(group_by_similarity(vectors, [1] * len(expected)))
        for member in group.members
    }
    pairs = list(combinations(range(len(expected)), 2))
    together = [(one, two) for one, two in pairs if actual[one] == actual[two]]
    right = sum(expected[one] == expected[two] for one, two in together)
    assert right / len(together) >= 0.95
    assert right / sum(expected[one] == expected[two] for one, two in pairs) >= 0.75


class CountingEmbedder(OnnxEmbedder):
    embedded: ClassVar[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded.extend(texts)
        return await super().embed(texts)


def test_later_reports_embed_only_what_is_new_and_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_builder, "MAX_COMPARED", 3)
    monkeypatch.setattr(report_builder, "CACHED_REPORTS", 1)
    cache: VectorCache = {}

    def group(*texts: str) -> MetricsDict:
        wordings = [QuestionWording(text, QueryMode.BOOK, datetime(2027, 3, 1, tzinfo=UTC)) for text in texts]
        for each in wordings:
            each.reasons["low_relevance"] += 1
        return asyncio.run(group_unanswered(wordings, CountingEmbedder, lambda *_: None, cache))

    group("How much does it weigh?", "Who wrote it?")
    found = group("Who wrote it?", "What is its weight?", "How heavy is it?")
    assert CountingEmbedder.embedded == [
        "How much does it weigh?",
        "Who wrote it?",
        "What is its weight?",
        "How heavy is it?",
    ]
    assert [each["asked"] for each in found["groups"]] == [2, 1]
    assert len(cache) == 3
    group("Who wrote it?")
    group("How heavy is it?", "What is its weight?")
    assert len(CountingEmbedder.embedded) == 4
    group("How much does it weigh?")
    assert CountingEmbedder.embedded[4:] == ["How much does it weigh?"]


def make_vectors(*degrees: float) -> np.ndarray:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_the_typical_question_has_the_most_similar_ones() -> None:
    assert group_by_similarity(make_vectors(0, 20, 40, 170), [1, 1, 1, 1], threshold=0.9) == [
        QuestionGroup(1, (0, 1, 2)),
        QuestionGroup(3, (3,)),
    ]


def test_frequent_questions_weigh_more() -> None:
    assert group_by_similarity(make_vectors(0, 20, 40, 60), [1, 1, 1, 9], threshold=0.9) == [
        QuestionGroup(2, (1, 2, 3)),
        QuestionGroup(0, (0,)),
    ]
    assert [group.typical for group in group_by_similarity(make_vectors(0, 90), [1, 2], threshold=0.9)] == [1, 0]


def test_a_grouped_question_does_not_count_for_other_groups() -> None:
    found = group_by_similarity(make_vectors(-20, 0, 5, 20, 45, 120, 121), [10, 1, 1, 1, 1, 1, 1], threshold=0.9)
    assert found == [QuestionGroup(1, (0, 1, 2, 3)), QuestionGroup(5, (5, 6)), QuestionGroup(4, (4,))]


def test_a_chain_of_similar_questions_is_not_one_group() -> None:
    found = group_by_similarity(make_vectors(*range(0, 180, 15)), [1] * 12, threshold=0.9)
    assert all(len(group.members) <= 3 for group in found)
    assert sorted(member for group in found for member in group.members) == list(range(12))


def test_no_questions_have_no_groups_and_a_question_is_similar_to_itself() -> None:
    assert group_by_similarity(np.empty((0, 384), np.float32), []) == []
    assert group_by_similarity(np.zeros((2, 3), np.float32), [1, 1]) == [QuestionGroup(0, (0,)), QuestionGroup(1, (1,))]
