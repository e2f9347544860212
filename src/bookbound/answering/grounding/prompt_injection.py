"""Detects instructions in a book that address a language model instead of the reader."""

from __future__ import annotations

import re

from bookbound.domain.chunk import QuotableUnit
from bookbound.domain.judgement import Evidence

MIN_WORDS_AROUND_QUOTE = 3
"""With this many words around it, a quotation is spoken about."""
MIN_COMMAND_WORDS = 3
"""Fewer are a keyword: "Ignore rules" in a book about a linter."""
_OVERRIDE_VERB = r"\b(?:ignore|disregard|forget|override|bypass)\b"
_INSTRUCTION_NOUN = r"\b(?:rules?|instructions?|prompts?|guidelines?|orders|questions?)\b"
_MODEL_NOUN = r"\b(?:assistants?|ai|a\.i\.|llms?|chatbots?|language\s+models?)\b"
_COMMAND = (
    rf"(?:please\s+|now\s+|you\s+(?:must|should|shall|will)\s+(?:now\s+)?)?{_OVERRIDE_VERB}[^.?!\n]{{0,60}}{_INSTRUCTION_NOUN}"
    rf"|(?:you\s+are|act\s+as|pretend\s+to\s+be)\s+(?:now\s+)?(?:\w+\s+){{0,3}}{_MODEL_NOUN}"
    rf"|if\s+you\s+are\s+(?:\w+\s+){{0,3}}{_MODEL_NOUN}\s*,"
)
_ATTENTION_CALL = r"(?:\w[\w'’]*\s+){0,2}\w[\w'’]*"
# A command opens the text, or follows a few words that call for attention; a model may be named before it.
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
    """Returns whether a text gives a language model commands, instead of speaking about such commands."""
    if len(_WORD.findall(text)) < MIN_COMMAND_WORDS:
        return False
    unquoted = _QUOTED.sub(" ", text)
    return _INJECTION.match(unquoted if len(_WORD.findall(unquoted)) >= MIN_WORDS_AROUND_QUOTE else text) is not None


def drop_injected_units(piece: Evidence) -> list[QuotableUnit]:
    """Returns the units of a piece of evidence without commands to a model and the rest of their paragraphs."""
    kept: list[QuotableUnit] = []
    end, is_injected = 0, False
    for unit in piece.units:
        same_paragraph = not _PARAGRAPH.search(piece.text, end, unit.start)
        is_injected = (is_injected and same_paragraph) or is_prompt_injection(piece.text[unit.start : unit.end])
        end = unit.end
        if not is_injected:
            kept.append(unit)
    return kept
