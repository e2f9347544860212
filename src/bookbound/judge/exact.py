"""What no paraphrase may change: numbers and their units, names, identifiers, how far a thing goes, and denials."""

from __future__ import annotations

import re

from bookbound.judge.avowed import avows
from bookbound.judge.bonds import loosed, out_of_turn
from bookbound.judge.extent import as_far, same_denial
from bookbound.judge.figures import counted, figures, figures_near, kindred, one_of_several
from bookbound.judge.names import same_bearers, same_letters, same_names
from bookbound.judge.opposites import opposed
from bookbound.judge.retold import Retelling
from bookbound.words import terms

_MARK = re.compile(r"[\[【(]\s*(?:passages?\s+)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*[^\]】)]{0,20}[\]】)]", re.I)


def agrees(retelling: Retelling) -> bool:
    """Whether a sentence has no number, name or identifier but its evidence's, and says it of no more and no less.

    Names may also be those of the headings over the evidence.
    """
    words, beside = (f"{retelling.around(beside)}\n{retelling.headings}" for beside in (0, 1))
    return (
        same_figures(retelling.sentence, words)
        and bound_figures(retelling.sentence, words)
        and same_letters(retelling.sentence, f"{retelling.text}\n{retelling.headings}")
        and same_names(retelling.sentence, beside)
        and same_bearers(retelling.sentence, beside, retelling.text)
        and all(mark in words for mark in _MARK.findall(retelling.sentence))
        and as_far(retelling)
        and avows(retelling)
        and same_denial(retelling)
        and not any(opposed(match.clause.text, match.closest.text) for match in retelling.close)
        and not any(one_of_several(match.clause.text, match.closest.text) for match in retelling.close)
        and not any(map(loosed, retelling.close))
        and not out_of_turn(retelling)
    )


def same_figures(sentence: str, evidence: str) -> bool:
    """Whether the evidence has every number of the sentence, in the same unit where both say one."""
    there: dict[str, set[str]] = {}
    for value, unit in figures(evidence):
        there.setdefault(value, set()).add(unit)
    for value in kindred(evidence):
        there.setdefault(value, set()).add("")
    for value, unit in figures(sentence):
        # "one" is an article more often than a number.
        if value != "1" and value not in there:
            return False
        units = there.get(value, {""})
        if unit and "" not in units and unit not in units:
            return False
    known = {*terms(evidence)}
    return all(thing in known or "" in there.get(value, {""}) for value, thing in counted(sentence))


def bound_figures(sentence: str, evidence: str) -> bool:
    """Whether each number counts what it counts in the evidence, and stands near a word that it stands near there."""
    there: dict[str, set[str]] = {}
    for value, near in figures_near(evidence):
        there.setdefault(value, set()).update(near)
    counts = set(counted(evidence))
    things = {thing for _, thing in counts}
    if any(thing in things and (value, thing) not in counts for value, thing in counted(sentence) if value != "1"):
        return False
    near_here = ((value, near) for value, near in figures_near(sentence) if value != "1" and value in there)
    return all(not near or not there[value] or near & there[value] for value, near in near_here)
