"""Pieces packed into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from bookbound.split.pieces import Piece


def packed(pieces: Sequence[Piece], sizes: Sequence[int], most: int, target: float) -> list[tuple[int, int]]:
    """The pieces as consecutive groups of at most `most` tokens: the groups that cost least in all.

    A group costs the square of how far it is from the target, and the bond that it breaks at its start.
    """
    target = max(1.0, target)
    costs = [0.0, *(inf for _ in pieces)]
    starts = [0] * len(costs)
    for end in range(1, len(costs)):
        size = 0
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > most and start < end - 1:
                break
            parting = pieces[start].bond if start else 0.0
            cost = costs[start] + parting + (size / target - 1) ** 2
            if cost < costs[end]:
                costs[end], starts[end] = cost, start
    groups = []
    end = len(pieces)
    while end:
        groups.append((starts[end], end))
        end = starts[end]
    return groups[::-1]
