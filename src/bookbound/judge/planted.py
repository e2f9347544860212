"""Words in a book that are meant for a language model and not for its readers."""

from __future__ import annotations

import re

from bookbound.book import Unit
from bookbound.finding import Evidence

_DISOBEY = r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b"
_ORDERS = r"\b(?:rules?|instructions?|prompts?|guidelines?|orders|questions?)\b"
_MODEL = r"\b(?:assistants?|ai|a\.i\.|llms?|chatbots?|language\s+models?)\b"
_PLANTED = re.compile(
    rf"{_DISOBEY}[^.?!\n]{{0,60}}{_ORDERS}"
    rf"|\b(?:you\s+are|act\s+as|pretend\s+to\s+be)\s+(?:now\s+)?(?:\w+\s+){{0,3}}{_MODEL}"
    rf"|\b(?:note|message|instructions?)\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?{_MODEL}"
    r"|\bsystem\s+prompt\b|^\W*(?:system|assistant)\s*:",
    re.I,
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def planted(text: str) -> bool:
    """Whether words tell a language model what to do."""
    return _PLANTED.search(text) is not None


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
