"""Questions that ask for the same come together, and others stay apart."""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from bookbound.embed.onnx import OnnxEmbedder
from bookbound.report.likeness import Group, groups

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
        member: number for number, group in enumerate(groups(vectors, [1] * len(true))) for member in group.members
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
    assert groups(line(0, 20, 40, 170), [1, 1, 1, 1], alike=0.9) == [Group(1, (0, 1, 2)), Group(3, (3,))]


def test_what_is_asked_often_weighs_more() -> None:
    assert groups(line(0, 20, 40, 60), [1, 1, 1, 9], alike=0.9) == [Group(2, (1, 2, 3)), Group(0, (0,))]
    assert [group.typical for group in groups(line(0, 90), [1, 2], alike=0.9)] == [1, 0]


def test_what_is_taken_already_counts_for_nobody_else() -> None:
    found = groups(line(-20, 0, 5, 20, 45, 120, 121), [10, 1, 1, 1, 1, 1, 1], alike=0.9)
    assert found == [Group(1, (0, 1, 2, 3)), Group(5, (5, 6)), Group(4, (4,))]


def test_no_chain_of_likeness_makes_a_group() -> None:
    found = groups(line(*range(0, 180, 15)), [1] * 12, alike=0.9)
    assert all(len(group.members) <= 3 for group in found)
    assert sorted(member for group in found for member in group.members) == list(range(12))


def test_nothing_has_no_groups_and_a_question_is_like_itself() -> None:
    assert groups(np.empty((0, 384), np.float32), []) == []
    assert groups(np.zeros((2, 3), np.float32), [1, 1]) == [Group(0, (0,)), Group(1, (1,))]
