"""Where in a row of word pieces an answer probably starts and ends."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST, LONGEST, LEAST = 4, 60, 0.02
_JOINED = frozenset({"Mn", "Mc", "Me", "Cf", "Sk"})


class Stretch(NamedTuple):
    """Word pieces `first` to `last`, and their share of all that might be the answer."""

    first: int
    last: int
    share: float


def stretches(start: NDArray[np.float32], end: NDArray[np.float32], words: Sequence[int | None]) -> list[Stretch]:
    """The likeliest answers in whole words, none touching another, best first.

    The share of a stretch is that of every answer that overlaps it: they differ in where they begin and stop.
    """
    pairs = np.outer(_shares(start), _shares(end))
    pairs = np.tril(np.triu(pairs), LONGEST - 1)
    whole = pairs.sum()
    found: list[Stretch] = []
    while whole and len(found) < MOST:
        first, last = map(int, np.unravel_index(pairs.argmax(), pairs.shape))
        while first and words[first - 1] == words[first]:
            first -= 1
        while last + 1 < len(words) and words[last + 1] == words[last]:
            last += 1
        overlapping = pairs[: last + 1, first:]
        share = float(overlapping.sum() / whole)
        if share < LEAST:
            break
        overlapping[:] = 0
        found.append(Stretch(first, last, share))
    return sorted(found, key=lambda stretch: -stretch.share)


def characters(text: str, start: int, end: int) -> tuple[int, int]:
    """The same characters with the marks that belong to the last one, which word pieces leave out."""
    while end < len(text) and unicodedata.category(text[end]) in _JOINED:
        end += 1
    return start, end


def _shares(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    odds = np.exp(logits.astype(np.float64) - logits.max())
    shares: NDArray[np.float64] = odds / odds.sum()
    return shares
