"""What no paraphrase may change: numbers and their units, names, identifiers, and whether a thing is denied."""

from __future__ import annotations

import re

from bookbound.judge.figures import figures, kindred
from bookbound.sentences import sentences
from bookbound.words import fold, names, terms

ALIKE = 0.6
"""The share of a sentence's terms from which on it speaks of the same as another."""

_PROPER = re.compile(r"(?<=[\w,;:)] )(?:[A-Z][\w'’-]*\w)")
_ORDINARY = frozenset("It The An This That These Those In On At If When".split())
_NEGATION = r"not(?!\s+(?:just|only|merely))|never|no|none|nor|neither|nothing|cannot|can['’]t|\w+n['’]t|without"
_DENIES = re.compile(rf"\b(?:{_NEGATION})\b", re.I)
# Words that may stand for a negation in a paraphrase: "unnecessary" for "not needed", "lacks" for "has no".
_MAY_DENY = re.compile(
    rf"\b(?:{_NEGATION}|un\w{{3,}}|non\w*|dis\w{{3,}}|impossible|off|fails?|failed|lacks?|lacking|instead|rather|"
    r"except|avoid\w*|stop\w*|prevent\w*|prohibit\w*|forbid\w*|ignor\w*|skip\w*|remov\w*|only|hardly|rarely|few|"
    r"little|absent|absence|refus\w*|reject\w*)\b",
    re.I,
)
_LETTERS = re.compile(r"[\W_]+")


def agrees(sentence: str, evidence: str, headings: str = "") -> bool:
    """Whether a sentence has no number, name or identifier but the evidence's, and denies what the evidence denies.

    Names may also be those of the headings over it.
    """
    return (
        same_figures(sentence, f"{evidence}\n{headings}")
        and same_names(sentence, f"{evidence}\n{headings}")
        and same_denial(sentence, evidence)
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
    return True


def same_names(sentence: str, evidence: str) -> bool:
    """Whether the evidence has every name and identifier of the sentence, but for case, accents and punctuation."""
    words = fold(evidence)
    squeezed = _LETTERS.sub("", words)
    wanted = {*names(sentence), *_PROPER.findall(sentence)} - _ORDINARY
    return all(_named(name, words, squeezed) for name in wanted if any(map(str.isalpha, name)))


def _named(name: str, words: str, squeezed: str) -> bool:
    name = re.sub(r"['’]s$", "", fold(name))
    letters = _LETTERS.sub("", name)
    if len(letters) < 3:
        return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", words) is not None
    return letters in squeezed or letters.removesuffix("s") in squeezed


def same_denial(sentence: str, evidence: str) -> bool:
    """Whether no sentence of the evidence says the same with a negation more or less."""
    wanted = set(terms(sentence))
    best, closest = 0.0, ""
    for _, start, end in sentences(evidence):
        held = set(terms(evidence[start:end]))
        alike = len(wanted & held) / len(wanted) if wanted else 0.0
        if alike > best:
            best, closest = alike, evidence[start:end]
    if best < ALIKE:
        return True
    if _DENIES.search(sentence):
        return bool(_MAY_DENY.search(closest))
    return not _DENIES.search(closest) or bool(_MAY_DENY.search(sentence))
