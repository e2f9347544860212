"""The questions that readers could not get answered, those that ask for the same together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bookbound.entry import Mode
from bookbound.measure.figures import Plain
from bookbound.ports import Embedder
from bookbound.report.likeness import groups
from bookbound.report.tally import Wording

MOST = 2000
"""How many wordings are compared; on two cores that takes half a minute."""
SLICE = 32
Progress = Callable[[str, int, int], None]


async def unanswered(wordings: Sequence[Wording], embedder: Callable[[], Embedder], progress: Progress) -> Plain:
    """Groups of refused questions, the most asked first; none is of questions to the book and to a selection."""
    compared = wordings[:MOST]
    vectors = await _vectors(compared, embedder, progress) if compared else np.empty((0, 0), np.float32)
    found = []
    for mode in Mode:
        held = [number for number, each in enumerate(compared) if each.mode is mode]
        for group in groups(vectors[held], [compared[number].asked for number in held]):
            members = [compared[held[number]] for number in group.members]
            found.append(_told(compared[held[group.typical]], members))
    return {
        "questions": sum(each.asked for each in wordings),
        "compared": sum(each.asked for each in compared),
        "groups": sorted(found, key=lambda group: (-group["asked"], group["typical"])),
    }


async def _vectors(wordings: Sequence[Wording], embedder: Callable[[], Embedder], progress: Progress) -> np.ndarray:
    opened = embedder()
    try:
        rows = []
        for start in range(0, len(wordings), SLICE):
            progress("group", start, len(wordings))
            rows.append(await opened.embed([each.text for each in wordings[start : start + SLICE]]))
        progress("group", len(wordings), len(wordings))
        return np.concatenate(rows)
    finally:
        await opened.close()


def _told(typical: Wording, members: Sequence[Wording]) -> Plain:
    kinds: Counter[str] = sum((each.kinds for each in members), Counter())
    return {
        "typical": typical.text,
        "asked": kinds.total(),
        "last": max(each.last for each in members).date().isoformat(),
        "mode": typical.mode.value,
        "kinds": dict(kinds.most_common()),
        "wordings": [each.text for each in members],
    }
