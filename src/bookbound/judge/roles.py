"""Who does what to whom: a passive has the roles of its active, in another order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookbound.judge.clauses import terms

_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+)?"
    r"(?P<done>\w+ed|made|built|kept|held|sent|set|put|found|given|taken|known|shown|written|chosen|driven|fed|left|read|"
    r"run)\b",
    re.I,
)
_BY = re.compile(r"\bby\s+(?!\w+ing\b)(?P<doer>[^,;:.]+)", re.I)


def turns_passive(said: str, book: str) -> bool:
    """Whether words say what is done where the book says what does it."""
    return bool(_PASSIVE.search(said)) and not _PASSIVE.search(book)


def active(text: str) -> tuple[str, ...]:
    """The terms of a clause in the order of its active; none of a passive that does not say by what it is done."""
    passive = _PASSIVE.search(text)
    if not passive:
        return terms(text)
    by = _BY.search(text, passive.end())
    if not by:
        return ()
    patient, between, after = text[: passive.start()], text[passive.end() : by.start()], text[by.end() :]
    return terms(f"{by['doer']} {passive['done']} {patient} {between} {after}")


def recast(said: Sequence[str], book: Sequence[str]) -> bool:
    """Whether what stands around a term has changed sides: "the leg moves the hip" for "the hip moves the leg"."""
    return any(
        term == same and _ends(book[:there], said[here + 1 :]) and _ends(said[:here], book[there + 1 :])
        for here, term in enumerate(said)
        for there, same in enumerate(book)
    )


def _ends(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether words end with those that others begin with."""
    return any(before[-size:] == after[:size] for size in range(1, min(len(before), len(after)) + 1))
