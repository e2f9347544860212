"""Detects instructions in a book that address a language model instead of the reader."""

from __future__ import annotations

import re

from bookbound.domain.chunk import QuotableUnit
from bookbound.domain.judgement import Evidence

MIN_WORDS_AROUND_QUOTE = 3
"""So many words beside a quotation speak about what it says."""
_OVERRIDE_VERB = r"\b(?:ignore|disregard|forget|override|bypass)\b"
_INSTRUCTION_NOUN = r"\b(?:rules?|instructions?|prompts?|guidelines?|orders|questions?)\b"
_MODEL_NOUN = r"\b(?:assistants?|ai|a\.i\.|llms?|chatbots?|language\s+models?)\b"
_COMMAND = (
    rf"(?:please\s+|now\s+|you\s+(?:must|should|shall|will)\s+(?:now\s+)?)?{_OVERRIDE_VERB}[^.?!\n]{{0,60}}{_INSTRUCTION_NOUN}"
    rf"|(?:you\s+are|act\s+as|pretend\s+to\s+be)\s+(?:now\s+)?(?:\w+\s+){{0,3}}{_MODEL_NOUN}"
    rf"|if\s+you\s+are\s+(?:\w+\s+){{0,3}}{_MODEL_NOUN}\s*,"
)
_ATTENTION_CALL = r"(?:\w[\w'’]*\s+){0,2}\w[\w'’]*"
# An order opens what is said, or follows a few words that call for attention; a model may be named in front of it.
_INJECTION = re.compile(
    rf"\W*(?:(?:{_ATTENTION_CALL}[:,]\W*)?(?:{_COMMAND})"
    rf"|{_ATTENTION_CALL}:\W*{_MODEL_NOUN}\s+\w+\s+(?:{_COMMAND})"
    rf"|(?:\w+\s+){{0,2}}(?:to|for)\s+(?:\w+\s+)?{_MODEL_NOUN}[^:.?!\n]{{0,40}}:"
    r"|(?-i:SYSTEM)\s*:)",
    re.I,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`|(?<!\w)[‘'][^’'\n]{0,300}[’'](?!\w)"
)
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def is_prompt_injection(text: str) -> bool:
    """Whether words tell a language model what to do, instead of speaking about such words."""
    beside = _QUOTED.sub(" ", text)
    return _INJECTION.match(beside if len(_WORD.findall(beside)) >= MIN_WORDS_AROUND_QUOTE else text) is not None


def drop_injected_units(piece: Evidence) -> list[QuotableUnit]:
    """The units of a piece of evidence that speak to readers; an instruction takes the rest of its paragraph along."""
    kept: list[QuotableUnit] = []
    end, told = 0, False
    for unit in piece.units:
        goes_on = told and not _PARAGRAPH.search(piece.text, end, unit.start)
        told = goes_on or is_prompt_injection(piece.text[unit.start : unit.end])
        end = unit.end
        if not told:
            kept.append(unit)
    return kept
