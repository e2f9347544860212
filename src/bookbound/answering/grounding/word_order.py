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
    extract_clause_terms,
    order_as_active,
    swaps_sides,
    turns_active_into_passive,
)
from bookbound.answering.grounding.exact_checks import find_proper_names
from bookbound.answering.grounding.quantities import is_number_term

MIN_ORDERED_TERMS = 4
"""The order of fewer terms means nothing."""
_THAN = re.compile(r"\bthan\b", re.I)
_CONDITION_START = re.compile(r"\W*(?:if|when|once|the\s+(?:\w+er|more|less))\b", re.I)
_COORDINATION = re.compile(r"\W*(?:and|but|while|whereas|although|though|or)\b", re.I)
_DEPENDENT_START = re.compile(r"\W*(?:so|if|when|until)\b", re.I)


def measure_deviations(alignment: SentenceAlignment) -> dict[str, float]:
    """Returns the shares of terms that deviate from the evidence.

    new: the evidence lacks them. misplaced: only the supporting clauses lack them. apart: the cost of joining these
    clauses. turned: these clauses have them in another order.
    """
    length = max(sum(len(match.clause.terms) for match in alignment.matches), 1)
    return {
        "new": sum(len(match.new_terms) for match in alignment.matches) / length,
        "misplaced": sum(len(match.misplaced_terms) for match in alignment.matches) / length,
        "apart": sum(match.joining_cost for match in alignment.matches) / length,
        "turned": sum(map(_count_reordered_terms, alignment.matches)) / length,
    }


def changes_relations(alignment: SentenceAlignment) -> bool:
    """Returns whether a sentence says of one thing what the book says of another, judged by the order of terms."""
    return (
        any(
            _substitutes_term(match, alignment) or replaces_term(match) or _reverses_order(match)
            for match in alignment.matches
        )
        or _crosses_clauses(alignment)
        or _joins_unrelated_clauses(alignment)
        or _reverses_comparison(alignment)
        or _exchanges_names(alignment)
    )


def _count_reordered_terms(match: ClauseMatch) -> int:
    """Counts the terms of a clause that have another order in the book, in the active or the passive."""
    sentence_terms = [term for term in _order_by_role(match) if term not in match.misplaced_terms]
    context = [term for each in match.supporting for term in each.context_terms]
    return len(sentence_terms) - common_subsequence_length(
        sentence_terms, [*context, *(term for each in match.supporting for term in each.terms)]
    )


def _order_by_role(match: ClauseMatch) -> Sequence[str]:
    """Returns the known terms of a clause, in active order if only the book is active."""
    if not turns_active_into_passive(match.clause.text, " ".join(each.text for each in match.supporting)):
        return match.known_terms
    return [term for term in match.use_book_terms(order_as_active(match.clause.text)) if term in match.known_terms]


def _reverses_order(match: ClauseMatch) -> bool:
    """Returns whether most terms of a clause have another order, or its agent and its object have changed places."""
    if _count_reordered_terms(match) and swaps_sides(tuple(_order_by_role(match)), match.closest.terms):
        return True
    return len(match.known_terms) >= MIN_ORDERED_TERMS and _count_reordered_terms(match) > len(match.known_terms) / 2


def _substitutes_term(match: ClauseMatch, alignment: SentenceAlignment) -> bool:
    """Returns whether a misplaced term replaces another.

    It is a name or another subject; or the only difference from a clause of the book; or the book says it of something
    else in parallel words.
    """
    if not match.supporting:
        return False
    if _misplaces_name(match) or _changes_subject(match):
        return True
    sentence_terms, book = Counter(match.known_terms), Counter(match.closest.terms)
    if not book - sentence_terms:
        return False
    if (sentence_terms - book).total() == (book - sentence_terms).total() == 1 < (sentence_terms & book).total():
        return any(term in match.misplaced_terms or is_number_term(term) for term in sentence_terms - book)
    parallel = [
        clause
        for clause in alignment.evidence_clauses
        if clause is match.closest or are_parallel(clause, match.closest)
    ]
    return not {*match.misplaced_terms}.isdisjoint(term for clause in parallel for term in clause.terms)


def _changes_subject(match: ClauseMatch) -> bool:
    return bool(match.known_terms) and match.known_terms[0] in match.misplaced_terms


def _misplaces_name(match: ClauseMatch) -> bool:
    """Returns whether the supporting units lack a name of the clause, or have it in another unit than the rest."""
    last = match.supporting[-1]
    gathered = last.unit != match.supporting[0].unit and not last.refers_back
    named = {term for name in find_proper_names(match.clause.text) for term in extract_clause_terms(name)}
    unit = {
        term
        for each in match.supporting
        if each.unit == match.closest.unit
        for term in (*each.terms, *each.context_terms)
    }
    return not named.isdisjoint(match.misplaced_terms) or (gathered and not named & {*match.known_terms} <= unit)


def _reverses_comparison(alignment: SentenceAlignment) -> bool:
    """Returns whether the sides of a "than" are exchanged."""
    *before, after = (set(extract_clause_terms(words)) for words in _THAN.split(alignment.sentence, maxsplit=1))
    if not before:
        return False
    for unit in filter(_THAN.search, alignment.supporting_text().split("\n")):
        less, more = (set(extract_clause_terms(words)) for words in _THAN.split(unit, maxsplit=1))
        if (before[0] & more) - less and (after & less) - more:
            return True
    return False


def _crosses_clauses(alignment: SentenceAlignment) -> bool:
    """Returns whether two clauses have exchanged their terms."""
    placed = [match for match in alignment.matches if match.supporting]
    return any(
        not {*one.misplaced_terms}.isdisjoint(other.closest.terms)
        and not {*other.misplaced_terms}.isdisjoint(one.closest.terms)
        for one, other in combinations(placed, 2)
    )


def _joins_unrelated_clauses(alignment: SentenceAlignment) -> bool:
    """Returns whether a clause depends on one that comes from another passage or from a parallel statement."""
    placed = [match for match in alignment.matches if match.supporting]
    if any(
        before.closest.piece != after.closest.piece and not _COORDINATION.match(after.clause.text)
        for before, after in pairwise(placed)
    ):
        return True
    return any(
        (_CONDITION_START.match(before.clause.text) or _DEPENDENT_START.match(after.clause.text))
        and (before.closest.piece, before.closest.unit) != (after.closest.piece, after.closest.unit)
        and are_parallel(_widen_to_unit(before.closest, alignment), _widen_to_unit(after.closest, alignment))
        for before, after in pairwise(placed)
    )


def _widen_to_unit(clause: Clause, alignment: SentenceAlignment) -> Clause:
    found = [
        each.terms for each in alignment.evidence_clauses if (each.piece, each.unit) == (clause.piece, clause.unit)
    ]
    return clause._replace(terms=tuple(chain(*found)))


def _exchanges_names(alignment: SentenceAlignment) -> bool:
    """Returns whether the terms have the order of the book only after two names are exchanged."""
    sentence_terms = [_order_by_role(match) for match in alignment.matches]
    units: dict[tuple[int, int], list[str]] = {}
    for clause in alignment.evidence_clauses:
        units.setdefault((clause.piece, clause.unit), [*clause.context_terms]).extend(clause.terms)
    stretches = [*units.values(), *([*one, *other] for one, other in pairwise(units.values()))]
    return has_exchanged_names(alignment.sentence, sentence_terms, stretches)


MAX_NAME_TERMS, MAX_NAME_TERMS_IN_CLAUSE = 3, 2
MAX_SENTENCE_TERMS = 24
"""Longer sentences are not checked for exchanges."""
MAX_COMPARED_STRETCHES = 3
MIN_ORDERED_SHARE = 0.9
"""The share of terms that must be in the order of the book after an exchange."""
_MOVABLE_CLAUSE = re.compile(
    r"\b(?:because|since|so|if|when|whenever|once|although|though|after|before|until|unless)\b"
    r"|^(?:For|In|With|At|On|By|To|From|Under|Instead)\b"
)


def common_subsequence_length(sentence_terms: Iterable[str], book: Sequence[str]) -> int:
    """Returns the length of the longest common subsequence of two lists of terms."""
    places: dict[str, int] = {}
    for at, term in enumerate(book):
        places[term] = places.get(term, 0) | 1 << at
    whole = (1 << len(book)) - 1
    free = whole
    for term in sentence_terms:
        taken = free & places.get(term, 0)
        free = ((free + taken) | (free - taken)) & whole
    return len(book) - free.bit_count()


def has_exchanged_names(sentence: str, terms: Sequence[Sequence[str]], book: Sequence[Sequence[str]]) -> bool:
    """Returns whether the terms of each clause have the order of a stretch of the book only after an exchange.

    An adverbial clause may come first or last, and one term may always be out of order.
    """
    starts = range(len(terms)) if _MOVABLE_CLAUSE.search(sentence) else (0,)
    orders = [list(chain(*terms[at:], *terms[:at])) for at in starts]
    words = list(chain(*terms))
    found = [
        (max((common_subsequence_length(order, stretch) for order in orders), default=0), stretch) for stretch in book
    ]
    found.sort(key=lambda each: -each[0])
    before = found[0][0] if found else len(words)
    if before >= len(words) - 1 or len(words) > MAX_SENTENCE_TERMS:
        return False
    likely = [stretch for _, stretch in found[:MAX_COMPARED_STRETCHES]]
    after = max(
        (common_subsequence_length(each, stretch) for stretch in likely for each in _iterate_exchanges(terms)),
        default=0,
    )
    return after > before + 1 and after >= MIN_ORDERED_SHARE * len(words)


def _iterate_exchanges(clauses: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yields the terms with two names exchanged that are not adjacent, because adjacent ones are a list or a phrase."""
    terms = list(chain(*clauses))
    clause = [number for number, own in enumerate(clauses) for _ in own]
    size = len(terms)
    for a in range(size):
        for c in range(a + 2, size):
            longest = MAX_NAME_TERMS if clause[a] != clause[c] else MAX_NAME_TERMS_IN_CLAUSE
            for b in range(a + 1, min(a + longest, c - 1) + 1):
                for d in range(c + 1, min(c + longest, size) + 1):
                    yield [*terms[:a], *terms[c:d], *terms[b:c], *terms[a:b], *terms[d:]]
