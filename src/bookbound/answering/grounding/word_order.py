"""Checks that a sentence relates its terms in the same way as its evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, pairwise

from bookbound.answering.grounding.alignment import ClauseMatch, SentenceAlignment, replaces_term
from bookbound.answering.grounding.clauses import (
    Clause,
    are_parallel,
    extract_terms,
    order_as_active,
    swaps_sides,
    turns_active_into_passive,
)
from bookbound.answering.grounding.exact_checks import find_proper_names
from bookbound.answering.grounding.quantities import is_number_term

MIN_ORDERED_TERMS = 4
"""How many terms a clause has at least for their order to say something."""
_THAN = re.compile(r"\bthan\b", re.I)
_CONDITION_START = re.compile(r"\W*(?:if|when|once|the\s+(?:\w+er|more|less))\b", re.I)
_COORDINATION = re.compile(r"\W*(?:and|but|while|whereas|although|though|or)\b", re.I)
_DEPENDENT_START = re.compile(r"\W*(?:so|if|when|until)\b", re.I)


def measure_deviations(retelling: SentenceAlignment) -> dict[str, float]:
    """What share of its terms a sentence treats freely.

    new: the evidence has them nowhere. misplaced: the words that carry their clause lack them. apart: how far those
    words must be gathered. turned: they stand in another order there.
    """
    length = max(sum(len(match.clause.terms) for match in retelling.matches), 1)
    return {
        "new": sum(len(match.new) for match in retelling.matches) / length,
        "misplaced": sum(len(match.elsewhere) for match in retelling.matches) / length,
        "apart": sum(match.apart for match in retelling.matches) / length,
        "turned": sum(map(_count_reordered_terms, retelling.matches)) / length,
    }


def changes_relations(retelling: SentenceAlignment) -> bool:
    """Whether a sentence says of one thing what the book says of another, as far as the order of its terms tells."""
    return (
        any(
            _substitutes_term(match, retelling) or replaces_term(match) or _reverses_order(match)
            for match in retelling.matches
        )
        or _crosses_clauses(retelling)
        or _joins_unrelated_clauses(retelling)
        or _reverses_comparison(retelling)
        or _exchanges_names(retelling)
    )


def _count_reordered_terms(match: ClauseMatch) -> int:
    """How many terms of a clause stand in another order where they come from, be it said as active or passive."""
    told = [term for term in _order_by_role(match) if term not in match.elsewhere]
    carried = [term for each in match.carriers for term in each.carried]
    return len(told) - common_subsequence_length(
        told, [*carried, *(term for each in match.carriers for term in each.terms)]
    )


def _order_by_role(match: ClauseMatch) -> Sequence[str]:
    """The terms of a clause that the book has, in the order of the active where only the book has that."""
    if not turns_active_into_passive(match.clause.text, " ".join(each.text for each in match.carriers)):
        return match.told
    return [term for term in match.retold(order_as_active(match.clause.text)) if term in match.told]


def _reverses_order(match: ClauseMatch) -> bool:
    """Whether a clause has most of its terms in another order: "the loss of torque" for "the torque of a loss".

    Or the one who does something has changed places with what it is done to.
    """
    if _count_reordered_terms(match) and swaps_sides(tuple(_order_by_role(match)), match.closest.terms):
        return True
    return len(match.told) >= MIN_ORDERED_TERMS and _count_reordered_terms(match) > len(match.told) / 2


def _substitutes_term(match: ClauseMatch, retelling: SentenceAlignment) -> bool:
    """Whether a misplaced term takes the place of another.

    It is a name, or the subject where the book has another; or the book says all but one of a clause's terms in one of
    its own, which has another there; or it says the term of something else in the like words, or once where the
    sentence says it twice.
    """
    if not match.carriers:
        return False
    if _misplaces_name(match) or _changes_subject(match):
        return True
    told, book = Counter(match.told), Counter(match.closest.terms)
    if not book - told:
        return False
    if (told - book).total() == (book - told).total() == 1 < (told & book).total():
        return any(term in match.elsewhere or is_number_term(term) for term in told - book)
    likes = [clause for clause in retelling.book if clause is match.closest or are_parallel(clause, match.closest)]
    return not {*match.elsewhere}.isdisjoint(term for clause in likes for term in clause.terms)


def _changes_subject(match: ClauseMatch) -> bool:
    """Whether a clause begins with a term that the words which carry it lack."""
    return bool(match.told) and match.told[0] in match.elsewhere


def _misplaces_name(match: ClauseMatch) -> bool:
    """Whether a name of the clause stands in none of the units that carry it, or in another one than all the rest."""
    last = match.carriers[-1]
    gathered = last.unit != match.carriers[0].unit and not last.back
    named = {term for name in find_proper_names(match.clause.text) for term in extract_terms(name)}
    unit = {term for each in match.carriers if each.unit == match.closest.unit for term in (*each.terms, *each.carried)}
    return not named.isdisjoint(match.elsewhere) or (gathered and not named & {*match.told} <= unit)


def _reverses_comparison(retelling: SentenceAlignment) -> bool:
    """Whether a comparison has on each side of its "than" what the book has on the other."""
    *before, after = (set(extract_terms(words)) for words in _THAN.split(retelling.sentence, maxsplit=1))
    if not before:
        return False
    for unit in filter(_THAN.search, retelling.around().split("\n")):
        less, more = (set(extract_terms(words)) for words in _THAN.split(unit, maxsplit=1))
        if (before[0] & more) - less and (after & less) - more:
            return True
    return False


def _crosses_clauses(retelling: SentenceAlignment) -> bool:
    """Whether two clauses say each what the book says of the other."""
    placed = [match for match in retelling.matches if match.carriers]
    return any(
        not {*one.elsewhere}.isdisjoint(other.closest.terms) and not {*other.elsewhere}.isdisjoint(one.closest.terms)
        for one, other in combinations(placed, 2)
    )


def _joins_unrelated_clauses(retelling: SentenceAlignment) -> bool:
    """Whether a clause depends on one before it that another passage has, or another place that says the like."""
    placed = [match for match in retelling.matches if match.carriers]
    if any(
        before.closest.piece != after.closest.piece and not _COORDINATION.match(after.clause.text)
        for before, after in pairwise(placed)
    ):
        return True
    return any(
        (_CONDITION_START.match(before.clause.text) or _DEPENDENT_START.match(after.clause.text))
        and (before.closest.piece, before.closest.unit) != (after.closest.piece, after.closest.unit)
        and are_parallel(_widen_to_unit(before.closest, retelling), _widen_to_unit(after.closest, retelling))
        for before, after in pairwise(placed)
    )


def _widen_to_unit(clause: Clause, retelling: SentenceAlignment) -> Clause:
    """All that the unit of a clause says."""
    found = [each.terms for each in retelling.book if (each.piece, each.unit) == (clause.piece, clause.unit)]
    return clause._replace(terms=tuple(chain(*found)))


def _exchanges_names(retelling: SentenceAlignment) -> bool:
    """Whether two names must change places for the terms to stand in the book's order."""
    told = [_order_by_role(match) for match in retelling.matches]
    units: dict[tuple[int, int], list[str]] = {}
    for clause in retelling.book:
        units.setdefault((clause.piece, clause.unit), [*clause.carried]).extend(clause.terms)
    stretches = [*units.values(), *([*one, *other] for one, other in pairwise(units.values()))]
    return has_exchanged_names(retelling.sentence, told, stretches)


MAX_NAME_TERMS, MAX_NAME_TERMS_IN_CLAUSE = 3, 2
"""The most terms of a name that may be exchanged for another, between clauses and within one."""
MAX_SENTENCE_TERMS = 24
"""The most terms of a sentence whose every exchange is tried."""
MAX_COMPARED_STRETCHES = 3
"""In how many stretches of the book an exchange is looked for."""
MIN_ORDERED_SHARE = 0.9
"""The share of its terms that stand in the book's order once a sentence is put right."""
_MOVABLE_CLAUSE = re.compile(
    r"\b(?:because|since|so|if|when|whenever|once|although|though|after|before|until|unless)\b"
    r"|^(?:For|In|With|At|On|By|To|From|Under|Instead)\b"
)


def common_subsequence_length(told: Iterable[str], book: Sequence[str]) -> int:
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


def has_exchanged_names(sentence: str, told: Sequence[Sequence[str]], book: Sequence[Sequence[str]]) -> bool:
    """Whether the terms of a sentence stand in the book's order only once two names have changed places.

    `told` has the terms of each clause, `book` those of each stretch. A clause that says when or why may stand first or
    last, and one term may always be out of place.
    """
    starts = range(len(told)) if _MOVABLE_CLAUSE.search(sentence) else (0,)
    orders = [list(chain(*told[at:], *told[:at])) for at in starts]
    words = list(chain(*told))
    found = [
        (max((common_subsequence_length(order, stretch) for order in orders), default=0), stretch) for stretch in book
    ]
    found.sort(key=lambda each: -each[0])
    before = found[0][0] if found else len(words)
    if before >= len(words) - 1 or len(words) > MAX_SENTENCE_TERMS:
        return False
    likely = [stretch for _, stretch in found[:MAX_COMPARED_STRETCHES]]
    after = max(
        (common_subsequence_length(each, stretch) for stretch in likely for each in _iterate_exchanges(told)), default=0
    )
    return after > before + 1 and after >= MIN_ORDERED_SHARE * len(words)


def _iterate_exchanges(clauses: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The terms with two names exchanged that do not touch: what touches is a list or a turn of phrase.

    Within a clause, phrases may stand in any order, and only single terms are exchanged.
    """
    told = list(chain(*clauses))
    clause = [number for number, terms in enumerate(clauses) for _ in terms]
    size = len(told)
    for a in range(size):
        for c in range(a + 2, size):
            longest = MAX_NAME_TERMS if clause[a] != clause[c] else MAX_NAME_TERMS_IN_CLAUSE
            for b in range(a + 1, min(a + longest, c - 1) + 1):
                for d in range(c + 1, min(c + longest, size) + 1):
                    yield [*told[:a], *told[c:d], *told[b:c], *told[a:b], *told[d:]]
