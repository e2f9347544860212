"""Groups unanswered questions that ask for the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bookbound.domain.ports import Embedder
from bookbound.domain.query_log_entry import QueryMode
from bookbound.evaluation.runner import MetricsDict
from bookbound.server.report import QuestionWording

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


SIMILARITY_THRESHOLD = 0.65
"""The least cosine to a group's typical question, chosen for the embedder that ships; tests hold what it reaches."""


class QuestionGroup(NamedTuple):
    """The number of the typical question, and of every member, the typical one among them."""

    typical: int
    members: tuple[int, ...]


def group_by_similarity(
    vectors: Vectors, weights: Sequence[int], alike: float = SIMILARITY_THRESHOLD
) -> list[QuestionGroup]:
    """Each question in one group, the heaviest group first; every member is alike to the typical question.

    The question with the most like it, by weight, is typical and takes them along; so on with what is left.
    """
    if not len(vectors):
        return []
    near = vectors @ vectors.T >= alike
    np.fill_diagonal(near, True)
    weight = np.asarray(weights, np.int64)
    around, left, found = near @ weight, np.ones(len(weight), bool), []
    while left.any():
        typical = int(np.where(left, around, -1).argmax())
        taken = near[typical] & left
        found.append(QuestionGroup(typical, tuple(map(int, np.flatnonzero(taken)))))
        around -= near[:, taken] @ weight[taken]
        left &= ~taken
    return found


MAX_COMPARED = 2000
"""How many wordings are compared; on two cores that takes half a minute."""
EMBED_BATCH_SIZE = 32
ProgressCallback = Callable[[str, int, int], None]


async def group_unanswered(
    wordings: Sequence[QuestionWording], embedder: Callable[[], Embedder], progress: ProgressCallback
) -> MetricsDict:
    """Groups of refused questions, the most asked first; none is of questions to the book and to a selection."""
    compared = wordings[:MAX_COMPARED]
    vectors = await _embed_wordings(compared, embedder, progress) if compared else np.empty((0, 0), np.float32)
    found = []
    for mode in QueryMode:
        held = [number for number, each in enumerate(compared) if each.mode is mode]
        for group in group_by_similarity(vectors[held], [compared[number].asked for number in held]):
            members = [compared[held[number]] for number in group.members]
            found.append(_describe_group(compared[held[group.typical]], members))
    return {
        "questions": sum(each.asked for each in wordings),
        "compared": sum(each.asked for each in compared),
        "groups": sorted(found, key=lambda group: (-group["asked"], group["typical"])),
    }


async def _embed_wordings(
    wordings: Sequence[QuestionWording], embedder: Callable[[], Embedder], progress: ProgressCallback
) -> np.ndarray:
    opened = embedder()
    try:
        rows = []
        for start in range(0, len(wordings), EMBED_BATCH_SIZE):
            progress("group", start, len(wordings))
            rows.append(await opened.embed([each.text for each in wordings[start : start + EMBED_BATCH_SIZE]]))
        progress("group", len(wordings), len(wordings))
        return np.concatenate(rows)
    finally:
        await opened.close()


def _describe_group(typical: QuestionWording, members: Sequence[QuestionWording]) -> MetricsDict:
    kinds: Counter[str] = sum((each.kinds for each in members), Counter())
    return {
        "typical": typical.text,
        "asked": kinds.total(),
        "last": max(each.last for each in members).date().isoformat(),
        "mode": typical.mode.value,
        "kinds": dict(kinds.most_common()),
        "wordings": [each.text for each in members],
    }
