"""Words in a book that are meant for a language model and not for its readers."""

from __future__ import annotations

import re

from bookbound.book import Unit
from bookbound.finding import Evidence

SPEAKING = 3
"""So many words beside a quotation speak about what it says."""

_DISOBEY = r"\b(?:ignore|disregard|forget|override|bypass)\b"
_ORDERS = r"\b(?:rules?|instructions?|prompts?|guidelines?|orders|questions?)\b"
_MODEL = r"\b(?:assistants?|ai|a\.i\.|llms?|chatbots?|language\s+models?)\b"
_COMMAND = (
    rf"(?:please\s+|now\s+|you\s+(?:must|should|shall|will)\s+(?:now\s+)?)?{_DISOBEY}[^.?!\n]{{0,60}}{_ORDERS}"
    rf"|(?:you\s+are|act\s+as|pretend\s+to\s+be)\s+(?:now\s+)?(?:\w+\s+){{0,3}}{_MODEL}"
    rf"|if\s+you\s+are\s+(?:\w+\s+){{0,3}}{_MODEL}\s*,"
)
_CALL = r"(?:\w[\w'’]*\s+){0,2}\w[\w'’]*"
# An order opens what is said, or follows a few words that call for attention; a model may be named in front of it.
_PLANTED = re.compile(
    rf"\W*(?:(?:{_CALL}[:,]\W*)?(?:{_COMMAND})"
    rf"|{_CALL}:\W*{_MODEL}\s+\w+\s+(?:{_COMMAND})"
    rf"|(?:\w+\s+){{0,2}}(?:to|for)\s+(?:\w+\s+)?{_MODEL}[^:.?!\n]{{0,40}}:"
    r"|(?-i:SYSTEM)\s*:)",
    re.I,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`|(?<!\w)[‘'][^’'\n]{0,300}[’'](?!\w)"
)
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def planted(text: str) -> bool:
    """Whether words tell a language model what to do, instead of speaking about such words."""
    beside = _QUOTED.sub(" ", text)
    return _PLANTED.match(beside if len(_WORD.findall(beside)) >= SPEAKING else text) is not None


def sober(piece: Evidence) -> list[Unit]:
    """The units of a piece of evidence that speak to readers; an instruction takes the rest of its paragraph along."""
    kept: list[Unit] = []
    end, told = 0, False
    for unit in piece.units:
        goes_on = told and not _PARAGRAPH.search(piece.text, end, unit.start)
        told = goes_on or planted(piece.text[unit.start : unit.end])
        end = unit.end
        if not told:
            kept.append(unit)
    return kept
