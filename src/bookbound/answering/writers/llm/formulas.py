"""Writes the formulas of a language model's text as plain signs, where the book does not have them in TeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

_SIGNS: Mapping[str, str] = {
    "times": "×",
    "cdot": "·",
    "div": "÷",
    "pm": "±",
    "approx": "≈",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "to": "→",
    "rightarrow": "→",
    "circ": "°",
    "%": "%",
    "_": "_",
    ",": " ",
    ";": " ",
    "quad": " ",
    "left": "",
    "right": "",
}
# Every repetition is bounded: a model may write anything. Code stays as it is.
_FORMULA = re.compile(
    r"`[^`\n]+`"
    r"|\\\((?P<inline>.{1,400}?)\\\)"
    r"|\\\[(?P<display>.{1,400}?)\\\]"
    r"|\$\$(?P<dollars>[^$]{1,400})\$\$"
    r"|\$(?=\S)(?P<dollar>[^$\n]{1,200})(?<=\S)\$(?!\w)",
    re.S,
)
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]{1,80})\}\{([^{}]{1,80})\}")
_STYLED = re.compile(r"\\(?:text|mathrm|mathbf|mathit|operatorname)\{([^{}]{0,80})\}")
_SCRIPT = re.compile(r"(?<=[_^])\{([^{}\s]{1,40})\}")
_DEGREE = re.compile(r"\^\{?\\circ\}?")
_SIMPLER_FORMS = ((_FRACTION, r"\1 / \2"), (_STYLED, r"\1"), (_DEGREE, "°"), (_SCRIPT, r"\1"))
_COMMAND = re.compile(r"\\([A-Za-z]{1,20}|[%_,;])")


def spell_formulas(text: str, book: str) -> str:
    """Returns a text whose formulas have no marks around them, and signs and Greek letters for the commands of TeX.

    A formula, or a command, that the book has so stays as it is.
    """

    def spell(found: re.Match[str]) -> str:
        formula = next((words for words in found.groupdict().values() if words), "")
        if not formula or found[0] in book:
            return found[0]
        return formula.strip() if formula.strip() in book else _spell_formula(formula.strip(), book)

    return _FORMULA.sub(spell, text) if "$" in text or "\\" in text else text


def _spell_formula(formula: str, book: str) -> str:
    for pattern, simpler in _SIMPLER_FORMS:
        formula = _replace_unknown(pattern, simpler, formula, book)
    return _COMMAND.sub(lambda found: found[0] if found[0] in book else _spell_command(found[1], found[0]), formula)


def _replace_unknown(pattern: re.Pattern[str], simpler: str, formula: str, book: str) -> str:
    return pattern.sub(lambda found: found[0] if found[0] in book else found.expand(simpler), formula)


def _spell_command(name: str, command: str) -> str:
    size = "CAPITAL" if name[:1].isupper() else "SMALL"
    try:
        return _SIGNS[name] if name in _SIGNS else unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:
        return command
