"""Whether a word stands where the book has another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from bookbound.judge.retold import Match


def replaced(match: Match) -> bool:
    """Whether a clause leaves out a term of the closest clause of the book, and says in its place one that is new.

    A word more or a word less is another thing: what is left in place holds the sentence to the book.
    """
    if not match.new or not match.carriers:
        return False
    new, less = {*match.new}, Counter(match.closest.terms) - Counter(match.told)
    return any(
        not new.isdisjoint(here) and _left_out(there, match.told, less)
        for here, there in _gaps(match.retold(match.clause.terms), match.closest.terms)
    )


def _left_out(there: Sequence[str], told: Sequence[str], less: Counter[str]) -> bool:
    """Whether the terms of a place of the book are said nowhere, or the only one is said less often."""
    return any(term not in told for term in there) or (len(there) == 1 and less[there[0]] > 0)


def _gaps(said: Sequence[str], book: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """What two texts have between the terms they share: each stretch of the one beside that of the other."""
    here = there = 0
    for at, beside, size in SequenceMatcher(None, said, book, autojunk=False).get_matching_blocks():
        yield said[here:at], book[there:beside]
        here, there = at + size, beside + size
