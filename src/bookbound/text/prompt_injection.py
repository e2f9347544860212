"""Detects instructions in a book that address a language model instead of the reader."""

from __future__ import annotations

import re

from bookbound.domain.chunk import QuotableUnit
from bookbound.domain.judgement import Evidence
from bookbound.languages import LANGUAGE, compiled

MIN_WORDS_AROUND_QUOTE = 3
"""With this many words around it, a quotation is spoken about."""
MIN_COMMAND_WORDS = 3
"""Fewer are a keyword: "Ignore rules" in a book about a linter."""
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
    read = unquoted if len(_WORD.findall(unquoted)) >= MIN_WORDS_AROUND_QUOTE else text
    return compiled(LANGUAGE.models.prompt_injection).match(read) is not None


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
