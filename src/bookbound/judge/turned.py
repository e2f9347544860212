"""Whether two texts say their terms in the same order, and whether one has two names exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

LONGEST_NAME, SHORTEST_NAME = 3, 2
"""The most terms of a name that may be exchanged for another, between clauses and within one."""

LONGEST = 24
"""The most terms of a sentence whose every exchange is tried."""

LIKELIEST = 3
"""In how many stretches of the book an exchange is looked for."""

ALMOST = 0.9
"""The share of its terms that stand in the book's order once a sentence is put right."""

_MOVABLE = re.compile(
    r"\b(?:because|since|so|if|when|whenever|once|although|though|after|before|until|unless)\b"
    r"|^(?:For|In|With|At|On|By|To|From|Under|Instead)\b"
)


def in_order(told: Iterable[str], book: Sequence[str]) -> int:
    """How many terms two texts have in the same order: the length of their longest common subsequence."""
    places: dict[str, int] = {}
    for at, term in enumerate(book):
        places[term] = places.get(term, 0) | 1 << at
    whole = (1 << len(book)) - 1
    free = whole
    for term in told:
        taken = free & places.get(term, 0)
        free = ((free + taken) | (free - taken)) & whole
    return len(book) - free.bit_count()


def exchanged(sentence: str, told: Sequence[Sequence[str]], book: Sequence[Sequence[str]]) -> bool:
    """Whether the terms of a sentence stand in the book's order only once two names have changed places.

    `told` has the terms of each clause, `book` those of each stretch. A clause that says when or why may stand first or
    last, and one term may always be out of place.
    """
    starts = range(len(told)) if _MOVABLE.search(sentence) else (0,)
    orders = [list(chain(*told[at:], *told[:at])) for at in starts]
    words = list(chain(*told))
    found = [(max((in_order(order, stretch) for order in orders), default=0), stretch) for stretch in book]
    found.sort(key=lambda each: -each[0])
    before = found[0][0] if found else len(words)
    if before >= len(words) - 1 or len(words) > LONGEST:
        return False
    likely = [stretch for _, stretch in found[:LIKELIEST]]
    after = max((in_order(each, stretch) for stretch in likely for each in _exchanges(told)), default=0)
    return after > before + 1 and after >= ALMOST * len(words)


def _exchanges(clauses: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The terms with two names exchanged that do not touch: what touches is a list or a turn of phrase.

    Within a clause, phrases may stand in any order, and only single terms are exchanged.
    """
    told = list(chain(*clauses))
    clause = [number for number, terms in enumerate(clauses) for _ in terms]
    size = len(told)
    for a in range(size):
        for c in range(a + 2, size):
            longest = LONGEST_NAME if clause[a] != clause[c] else SHORTEST_NAME
            for b in range(a + 1, min(a + longest, c - 1) + 1):
                for d in range(c + 1, min(c + longest, size) + 1):
                    yield [*told[:a], *told[c:d], *told[b:c], *told[a:b], *told[d:]]
