"""Whether a clause denies what the book denies, and goes no further than the book goes."""

from __future__ import annotations

import re

from bookbound.judge.clauses import Clause, terms
from bookbound.judge.retold import Match, Retelling

_NEGATION = r"not(?!\s+(?:just|only|merely))|never|no|none|nor|neither|nothing|cannot|can['’]t|\w+n['’]t|without"
_DENIES = re.compile(
    rf"\b(?:{_NEGATION}|avoid\w*|prevent\w*|prohibit\w*|forbid\w*|fail\w*|lack\w*|refus\w*|reject\w*|unable|"
    r"impossible|hardly|rarely|seldom|badly)\b",
    re.I,
)
# Words that may deny too, in a paraphrase: "unnecessary" for "not needed".
_MAY_DENY = re.compile(
    r"\b(?:un\w{3,}|non\w*|dis\w{3,}|off|instead|rather|except|stop\w*|ignor\w*|skip\w*|remov\w*|only|few|little|"
    r"absent|absence)\b",
    re.I,
)
# Words that let nothing out, each with those of the book that it may stand for.
_WHOLLY = [
    (re.compile(rf"\b(?:{said})\b", re.I), re.compile(rf"\b(?:{meant})\b", re.I))
    for said, meant in (
        (
            r"all|every|everything|always|entirely|completely|whenever",
            r"all|every\w*|each|any\w*|always|whole|entire\w*|complete\w*|wherever|whenever|never|no|none|both|full\w*",
        ),
        (r"never|none|nothing|nobody", r"never|no|none|nothing|nobody|not|cannot|without|\w+n['’]t|nor|neither"),
        (r"only|solely|exclusively|exactly", r"only|sole\w*|alone|just|exclusive\w*|exact\w*|merely|nothing|no|one"),
        (
            r"best|(?<!at )most|worst|(?<!at )least|fastest|largest|smallest",
            r"\w+est|most|least|worst|maxim\w*|minim\w*|optimal\w*",
        ),
    )
]
_ALWAYS = re.compile(r"\b(?:always|never)\b", re.I)
_EVER = re.compile(r"\b(?:always|never|cannot|no|every|each|all|any|none)\b", re.I)
_MUST = re.compile(r"\b(?:must|need\w*|requir\w*|ha(?:s|ve)\s+to|shall|cannot|guarante\w*|never|always|only)\b", re.I)
_MAY = re.compile(
    r"\b(?:(?:may|might|can|could)(?!\s+not\b)|usually|often|sometimes|rarely|optional\w*|typically|possible)\b", re.I
)


def same_denial(retelling: Retelling) -> bool:
    """Whether the clauses of a sentence deny what those of the book deny that carry them, and nothing else."""
    denies, around = bool(_DENIES.search(retelling.sentence)), retelling.around()
    if denies and not _DENIES.search(around) and not _MAY_DENY.search(around):
        return False
    bare = {term for match in retelling.matches for term in {*match.clause.terms} - _denied(match.clause)}
    return all(_same_denial(match, denies, bare) for match in retelling.close)


def _same_denial(match: Match, denies: bool, bare: set[str]) -> bool:
    book = "\n".join(clause.text for clause in match.carriers)
    here, there = len(_DENIES.findall(match.clause.text)), len(_DENIES.findall(book))
    closest = len(_DENIES.findall(match.closest.text))
    whole = {*match.closest.terms} <= {*match.told}
    dropped = closest > here and (whole or not denies)
    if (here > there or dropped) and _softly(match.clause.text) == _softly(book):
        return False
    denied = {term for clause in match.carriers for term in _denied(clause)}
    kept = {term for clause in match.carriers for term in clause.terms} - denied
    return not (_denied(match.clause) & kept and denied & bare)


def _softly(text: str) -> set[str]:
    """The words of a text that may deny something without a negation."""
    return {found.lower() for found in _MAY_DENY.findall(text)}


def _denied(clause: Clause) -> set[str]:
    """The terms right after a negation."""
    found = (terms(clause.text[negation.end() :])[:1] for negation in _DENIES.finditer(clause.text))
    return {term for each in found for term in each}


def as_far(retelling: Retelling) -> bool:
    """Whether words that hold for everything, or by all means, stand for such words of the book."""
    said, book = retelling.sentence, retelling.around()
    if re.search(r"\b(?:must|guarante\w*)\b", said, re.I) and _MAY.search(book) and not _MUST.search(book):
        return False
    if any(_ALWAYS.search(match.clause.text) and not _EVER.search(match.closest.text) for match in retelling.close):
        return False
    return all(meant.search(book) for wholly, meant in _WHOLLY if wholly.search(said))
