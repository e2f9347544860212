"""Questions that ask for the same are one group, told by how near their vectors are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from bookbound.ports import Vectors

ALIKE = 0.65
"""The least cosine to a group's typical question, chosen for the embedder that ships; tests hold what it reaches."""


class Group(NamedTuple):
    """The number of the typical question, and of every member, the typical one among them."""

    typical: int
    members: tuple[int, ...]


def groups(vectors: Vectors, weights: Sequence[int], alike: float = ALIKE) -> list[Group]:
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
        found.append(Group(typical, tuple(map(int, np.flatnonzero(taken)))))
        around -= near[:, taken] @ weight[taken]
        left &= ~taken
    return found
