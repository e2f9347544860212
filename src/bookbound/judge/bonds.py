"""What binds a clause: by what it must or may, when, why, and how far it holds."""

from __future__ import annotations

import re
from itertools import pairwise

from bookbound.judge.retold import Match, Retelling

_NOT = r"(?:\s+(?:not|never|no\s+longer)\b|n['’]t\b)"
_MAY = r"(?:may|might|can|could)"
# What opens a clause, or the rest of it, tells whether it is a reason, a result, a term or none of them.
_OPENINGS = (
    r"(?:because|since)\b(?!\s+of\s+this)",
    r"(?:and\s+)?(?:so|therefore|thus|hence)\b(?!\s+(?:far|long|much|many))",
    r"(?:until|till)\b",
    r"(?:unless|except)\b",
    r"(?:although|though|even)\b",
    r"before\b",
    r"after\b",
)
# Of the words of each row, those of one cell are no words for those of another.
_RIVALS = [
    [re.compile(rf"\b(?:{cell})", re.I) for cell in row]
    for row in (
        (
            rf"(?:must|shall|ha(?:s|ve)\s+to|needs?\s+to|(?:is|are)\s+required)\b(?!{_NOT})|requir\w+",
            rf"{_MAY}\b(?!{_NOT})|allow\w*|permit\w*|optional\w*|possible|possibly|usually|often|sometimes|perhaps",
            rf"(?:{_MAY}|must|shall){_NOT}|cannot\b|forbid\w*|forbidden|prohibit\w*|impossible|prevent\w*|avoid\w*|unable",
        ),
        (
            r"until\b|till\b|up\s+to\b",
            r"unless\b|except\b",
            r"(?:when(?:ever)?|if|once|where(?:ver)?|while|as\s+(?:soon|long)\s+as)\b",
            r"whether\s+or\s+not\b|regardless\b|even\s+(?:if|when|though)\b|although\b|despite\b",
        ),
        tuple(f"^{opening}" for opening in _OPENINGS),
        tuple(rf",\s{opening}" for opening in _OPENINGS),
        (
            r"at\s+least\b|no\s+(?:less|fewer)\s+than\b|minimum\b|or\s+more\b",
            r"at\s+most\b|no\s+more\s+than\b|maximum\b|or\s+(?:less|fewer)\b|up\s+to\b",
        ),
    )
]
_THEN = re.compile(r"\W*(?:and\s+)?(?:then|afterwards?|finally|next|later)\b", re.I)
_IF = re.compile(r"\W*(?:if|when|once|whenever)\b", re.I)


def loosed(match: Match) -> bool:
    """Whether a clause is bound by another word than the closest clause of the book: "until" for "when"."""
    around = " ".join(clause.text for clause in match.carriers)
    return any(
        _cells(match.clause.text, row) - _cells(around, row)
        and _cells(match.closest.text, row) - _cells(match.clause.text, row)
        for row in _RIVALS
    )


def _cells(text: str, row: list[re.Pattern[str]]) -> set[int]:
    return {number for number, cell in enumerate(row) if cell.search(text)}


def out_of_turn(retelling: Retelling) -> bool:
    """Whether a sentence lets follow what the book says first."""
    order = {id(clause): number for number, clause in enumerate(retelling.book)}
    return any(
        _THEN.match(after.clause.text)
        and not _IF.match(before.clause.text)
        and any(
            {*before.told} <= {*clause.terms}
            for clause in retelling.book[order[id(after.closest)] + 1 :]
            if _THEN.match(clause.text) and (clause.piece, clause.unit) == (after.closest.piece, after.closest.unit)
        )
        for before, after in pairwise(match for match in retelling.matches if match.carriers)
    )
