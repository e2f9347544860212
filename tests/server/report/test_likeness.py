"""Questions that ask for the same come together, and others stay apart."""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.server.report.question_groups import QuestionGroup, group_by_similarity

# Some questions in several wordings each, and some that nobody else asks.
ALIKE: list[list[str]] = json.loads((Path(__file__).parent / "alike.json").read_text())


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    async def embedded() -> np.ndarray:
        embedder = OnnxEmbedder()
        try:
            return await embedder.embed([words for same in ALIKE for words in same])
        finally:
            await embedder.close()

    return asyncio.run(embedded())


def test_wordings_of_one_question_are_grouped_and_other_questions_are_not(vectors: np.ndarray) -> None:
    true = [number for number, same in enumerate(ALIKE) for _ in same]
    found = {
        member: number
        for number, group in enumerate(group_by_similarity(vectors, [1] * len(true)))
        for member in group.members
    }
    pairs = list(combinations(range(len(true)), 2))
    together = [(one, two) for one, two in pairs if found[one] == found[two]]
    right = sum(true[one] == true[two] for one, two in together)
    assert right / len(together) >= 0.95
    assert right / sum(true[one] == true[two] for one, two in pairs) >= 0.75


def line(*degrees: float) -> np.ndarray:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_the_typical_question_is_the_one_with_the_most_like_it() -> None:
    assert group_by_similarity(line(0, 20, 40, 170), [1, 1, 1, 1], alike=0.9) == [
        QuestionGroup(1, (0, 1, 2)),
        QuestionGroup(3, (3,)),
    ]


def test_what_is_asked_often_weighs_more() -> None:
    assert group_by_similarity(line(0, 20, 40, 60), [1, 1, 1, 9], alike=0.9) == [
        QuestionGroup(2, (1, 2, 3)),
        QuestionGroup(0, (0,)),
    ]
    assert [group.typical for group in group_by_similarity(line(0, 90), [1, 2], alike=0.9)] == [1, 0]


def test_what_is_taken_already_counts_for_nobody_else() -> None:
    found = group_by_similarity(line(-20, 0, 5, 20, 45, 120, 121), [10, 1, 1, 1, 1, 1, 1], alike=0.9)
    assert found == [QuestionGroup(1, (0, 1, 2, 3)), QuestionGroup(5, (5, 6)), QuestionGroup(4, (4,))]


def test_no_chain_of_likeness_makes_a_group() -> None:
    found = group_by_similarity(line(*range(0, 180, 15)), [1] * 12, alike=0.9)
    assert all(len(group.members) <= 3 for group in found)
    assert sorted(member for group in found for member in group.members) == list(range(12))


def test_nothing_has_no_groups_and_a_question_is_like_itself() -> None:
    assert group_by_similarity(np.empty((0, 384), np.float32), []) == []
    assert group_by_similarity(np.zeros((2, 3), np.float32), [1, 1]) == [QuestionGroup(0, (0,)), QuestionGroup(1, (1,))]
