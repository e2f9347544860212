"""Groups unanswered questions that ask for the same thing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bookbound.domain.ports import Embedder
from bookbound.domain.trace import QueryMode
from bookbound.evaluation import MetricsDict
from bookbound.server.report import QuestionWording

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


SIMILARITY_THRESHOLD = 0.65
"""The least cosine to the typical question of a group, chosen for the shipped embedder."""
MAX_COMPARED = 2000
"""How many wordings are compared; that takes half a minute on two cores."""
CACHED_REPORTS = 4
"""So many of the largest reports fit into the cache, because authors look at several books and periods."""
EMBED_BATCH_SIZE = 32
ProgressCallback = Callable[[str, int, int], None]
VectorCache = dict[bytes, np.ndarray]
"""The vectors of questions by the hash of their text, which may be deleted from the log at any time."""


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
    wordings: Sequence[QuestionWording],
    open_embedder: Callable[[], Embedder],
    progress: ProgressCallback,
    cache: VectorCache | None = None,
) -> MetricsDict:
    """Groups unanswered questions, the most frequent first; questions about the book and a selection do not mix."""
    compared = wordings[:MAX_COMPARED]
    texts = [each.text for each in compared]
    vectors = await _embed_texts(texts, open_embedder, progress, {} if cache is None else cache)
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


async def _embed_texts(
    texts: Sequence[str], open_embedder: Callable[[], Embedder], progress: ProgressCallback, cache: VectorCache
) -> np.ndarray:
    """Returns the vectors of the texts, and keeps those of several reports in the cache."""
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    missing = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in cache]
    if missing:
        embedder = open_embedder()
        try:
            for start in range(0, len(missing), EMBED_BATCH_SIZE):
                progress("group", start, len(missing))
                batch = missing[start : start + EMBED_BATCH_SIZE]
                vectors = await embedder.embed([text for _, text in batch])
                cache.update(zip((key for key, _ in batch), vectors, strict=True))
            progress("group", len(missing), len(missing))
        finally:
            await embedder.close()
    for key in keys:
        cache[key] = cache.pop(key)  # the cache begins with those that no report has needed for longest
    for key in list(cache)[: -CACHED_REPORTS * MAX_COMPARED]:
        del cache[key]
    return np.stack([cache[key] for key in keys]) if keys else np.empty((0, 0), np.float32)


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
