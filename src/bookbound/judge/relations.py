"""Whether a sentence relates the terms of the book as the book does: what it adds, gathers, and turns around."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations, pairwise

from bookbound.judge.clauses import Clause, parallel, terms
from bookbound.judge.figures import is_figure
from bookbound.judge.names import proper_names
from bookbound.judge.replaced import replaced
from bookbound.judge.retold import Match, Retelling
from bookbound.judge.roles import active, recast, turns_passive
from bookbound.judge.turned import exchanged, in_order

SEVERAL = 4
"""How many terms a clause has at least for their order to say something."""

_THAN = re.compile(r"\bthan\b", re.I)
_LEADS = re.compile(r"\W*(?:if|when|once|the\s+(?:\w+er|more|less))\b", re.I)
_BESIDES = re.compile(r"\W*(?:and|but|while|whereas|although|though|or)\b", re.I)
_FOLLOWS = re.compile(r"\W*(?:so|if|when|until)\b", re.I)


def liberties(retelling: Retelling) -> dict[str, float]:
    """What share of its terms a sentence treats freely.

    new: the evidence has them nowhere. misplaced: the words that carry their clause lack them. apart: how far those
    words must be gathered. turned: they stand in another order there.
    """
    length = max(sum(len(match.clause.terms) for match in retelling.matches), 1)
    return {
        "new": sum(len(match.new) for match in retelling.matches) / length,
        "misplaced": sum(len(match.elsewhere) for match in retelling.matches) / length,
        "apart": sum(match.apart for match in retelling.matches) / length,
        "turned": sum(map(_turned, retelling.matches)) / length,
    }


def wrongly_related(retelling: Retelling) -> bool:
    """Whether a sentence says of one thing what the book says of another, as far as the order of its terms tells."""
    return (
        any(_substituted(match, retelling) or replaced(match) or _reversed(match) for match in retelling.matches)
        or _crossed(retelling)
        or _scattered(retelling)
        or _compared(retelling)
        or _exchanged(retelling)
    )


def _turned(match: Match) -> int:
    """How many terms of a clause stand in another order where they come from, be it said as active or passive."""
    told = [term for term in _in_roles(match) if term not in match.elsewhere]
    carried = [term for each in match.carriers for term in each.carried]
    return len(told) - in_order(told, [*carried, *(term for each in match.carriers for term in each.terms)])


def _in_roles(match: Match) -> Sequence[str]:
    """The terms of a clause that the book has, in the order of the active where only the book has that."""
    if not turns_passive(match.clause.text, " ".join(each.text for each in match.carriers)):
        return match.told
    return [term for term in match.retold(active(match.clause.text)) if term in match.told]


def _reversed(match: Match) -> bool:
    """Whether a clause has most of its terms in another order: "the loss of torque" for "the torque of a loss".

    Or the one who does something has changed places with what it is done to.
    """
    if _turned(match) and recast(tuple(_in_roles(match)), match.closest.terms):
        return True
    return len(match.told) >= SEVERAL and _turned(match) > len(match.told) / 2


def _substituted(match: Match, retelling: Retelling) -> bool:
    """Whether a misplaced term takes the place of another.

    It is a name, or the subject where the book has another; or the book says all but one of a clause's terms in one of
    its own, which has another there; or it says the term of something else in the like words, or once where the
    sentence says it twice.
    """
    if not match.carriers:
        return False
    if _strange_name(match) or _other_subject(match):
        return True
    told, book = Counter(match.told), Counter(match.closest.terms)
    if not book - told:
        return False
    if (told - book).total() == (book - told).total() == 1 < (told & book).total():
        return any(term in match.elsewhere or is_figure(term) for term in told - book)
    likes = [clause for clause in retelling.book if clause is match.closest or parallel(clause, match.closest)]
    return not {*match.elsewhere}.isdisjoint(term for clause in likes for term in clause.terms)


def _other_subject(match: Match) -> bool:
    """Whether a clause begins with a term that the words which carry it lack."""
    return bool(match.told) and match.told[0] in match.elsewhere


def _strange_name(match: Match) -> bool:
    """Whether a name of the clause stands in none of the units that carry it, or in another one than all the rest."""
    last = match.carriers[-1]
    gathered = last.unit != match.carriers[0].unit and not last.back
    named = {term for name in proper_names(match.clause.text) for term in terms(name)}
    unit = {term for each in match.carriers if each.unit == match.closest.unit for term in (*each.terms, *each.carried)}
    return not named.isdisjoint(match.elsewhere) or (gathered and not named & {*match.told} <= unit)


def _compared(retelling: Retelling) -> bool:
    """Whether a comparison has on each side of its "than" what the book has on the other."""
    *before, after = (set(terms(words)) for words in _THAN.split(retelling.sentence, maxsplit=1))
    if not before:
        return False
    for unit in filter(_THAN.search, retelling.around().split("\n")):
        less, more = (set(terms(words)) for words in _THAN.split(unit, maxsplit=1))
        if (before[0] & more) - less and (after & less) - more:
            return True
    return False


def _crossed(retelling: Retelling) -> bool:
    """Whether two clauses say each what the book says of the other."""
    placed = [match for match in retelling.matches if match.carriers]
    return any(
        not {*one.elsewhere}.isdisjoint(other.closest.terms) and not {*other.elsewhere}.isdisjoint(one.closest.terms)
        for one, other in combinations(placed, 2)
    )


def _scattered(retelling: Retelling) -> bool:
    """Whether a clause depends on one before it that another passage has, or another place that says the like."""
    placed = [match for match in retelling.matches if match.carriers]
    if any(
        before.closest.piece != after.closest.piece and not _BESIDES.match(after.clause.text)
        for before, after in pairwise(placed)
    ):
        return True
    return any(
        (_LEADS.match(before.clause.text) or _FOLLOWS.match(after.clause.text))
        and (before.closest.piece, before.closest.unit) != (after.closest.piece, after.closest.unit)
        and parallel(_whole(before.closest, retelling), _whole(after.closest, retelling))
        for before, after in pairwise(placed)
    )


def _whole(clause: Clause, retelling: Retelling) -> Clause:
    """All that the unit of a clause says."""
    found = [each.terms for each in retelling.book if (each.piece, each.unit) == (clause.piece, clause.unit)]
    return clause._replace(terms=tuple(chain(*found)))


def _exchanged(retelling: Retelling) -> bool:
    """Whether two names must change places for the terms to stand in the book's order."""
    told = [_in_roles(match) for match in retelling.matches]
    units: dict[tuple[int, int], list[str]] = {}
    for clause in retelling.book:
        units.setdefault((clause.piece, clause.unit), [*clause.carried]).extend(clause.terms)
    stretches = [*units.values(), *([*one, *other] for one, other in pairwise(units.values()))]
    return exchanged(retelling.sentence, told, stretches)
