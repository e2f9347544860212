"""Groups unanswered questions that ask for the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bookbound.domain.ports import Embedder
from bookbound.domain.query_log_entry import QueryMode
from bookbound.evaluation import MetricsDict
from bookbound.server.report import QuestionWording

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


SIMILARITY_THRESHOLD = 0.65
"""The least cosine to the typical question of a group, chosen for the shipped embedder."""
MAX_COMPARED = 2000
"""How many wordings are compared; that takes half a minute on two cores."""
EMBED_BATCH_SIZE = 32
ProgressCallback = Callable[[str, int, int], None]


class QuestionGroup(NamedTuple):
    """The position of the typical question and those of all members."""

    typical: int
    members: tuple[int, ...]


def group_by_similarity(
    vectors: Vectors, weights: Sequence[int], threshold: float = SIMILARITY_THRESHOLD
) -> list[QuestionGroup]:
    """Puts each question into one group, the heaviest first; every member is similar to the typical question.

    The question with the most weight around it is typical and takes what is similar; then the rest is grouped.
    """
    if not len(vectors):
        return []
    similar = vectors @ vectors.T >= threshold
    np.fill_diagonal(similar, True)
    weight = np.asarray(weights, np.int64)
    around, is_free, groups = similar @ weight, np.ones(len(weight), bool), []
    while is_free.any():
        typical = int(np.where(is_free, around, -1).argmax())
        members = similar[typical] & is_free
        groups.append(QuestionGroup(typical, tuple(map(int, np.flatnonzero(members)))))
        around -= similar[:, members] @ weight[members]
        is_free &= ~members
    return groups


async def group_unanswered(
    wordings: Sequence[QuestionWording], open_embedder: Callable[[], Embedder], progress: ProgressCallback
) -> MetricsDict:
    """Groups unanswered questions, the most frequent first; questions about the book and a selection do not mix."""
    compared = wordings[:MAX_COMPARED]
    vectors = await _embed_wordings(compared, open_embedder, progress) if compared else np.empty((0, 0), np.float32)
    groups = []
    for mode in QueryMode:
        rows = [row for row, each in enumerate(compared) if each.mode is mode]
        for group in group_by_similarity(vectors[rows], [compared[row].count for row in rows]):
            members = [compared[rows[member]] for member in group.members]
            groups.append(_describe_group(compared[rows[group.typical]], members))
    return {
        "questions": sum(each.count for each in wordings),
        "compared": sum(each.count for each in compared),
        "groups": sorted(groups, key=lambda group: (-group["asked"], group["typical"])),
    }


async def _embed_wordings(
    wordings: Sequence[QuestionWording], open_embedder: Callable[[], Embedder], progress: ProgressCallback
) -> np.ndarray:
    embedder = open_embedder()
    try:
        batches = []
        for start in range(0, len(wordings), EMBED_BATCH_SIZE):
            progress("group", start, len(wordings))
            batches.append(await embedder.embed([each.text for each in wordings[start : start + EMBED_BATCH_SIZE]]))
        progress("group", len(wordings), len(wordings))
        return np.concatenate(batches)
    finally:
        await embedder.close()


def _describe_group(typical: QuestionWording, members: Sequence[QuestionWording]) -> MetricsDict:
    reasons: Counter[str] = sum((each.reasons for each in members), Counter())
    return {
        "typical": typical.text,
        "asked": reasons.total(),
        "last": max(each.last_asked for each in members).date().isoformat(),
        "mode": typical.mode.value,
        "kinds": dict(reasons.most_common()),
        "wordings": [each.text for each in members],
    }
