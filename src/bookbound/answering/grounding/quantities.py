"""Finds numbers and units in a text and compares them with those of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.languages import LANGUAGE

_WORDS = LANGUAGE.numbers
_WORD_VALUES = {word: i for i, word in enumerate(_WORDS.below_twenty)} | {
    word: 10 * i for i, word in enumerate(_WORDS.tens, 2)
}
_SCALE_PATTERN = "|".join(_WORDS.scales)
_UNIT_BY_NAME = {name: unit for unit, names in _WORDS.units.items() for name in names.split()}
_POWERS = {"²": "2", "³": "3", **_WORDS.powers}
_NUMBER = re.compile(
    rf"""(?P<minus>(?<![^\s(\[=:$])[-−–]|\b{_WORDS.minus}\s+)?
         (?P<digits>(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<=[a-z_])\d+(?:\.\d+)?|\d+)(?:[\s-](?P<times>{_SCALE_PATTERN})\b)?
       | \b(?P<word>{"|".join(_WORD_VALUES)})(?:[\s-](?P<ones>{"|".join(_WORDS.below_twenty[1:10])}))?
         (?:[\s-](?P<scale>{_SCALE_PATTERN}))?\b""",
    re.I | re.X,
)
_SPELLED_NUMBER = re.compile(rf"\b(?:{'|'.join(word for word, value in _WORD_VALUES.items() if value != 1)})\b", re.I)
_UNIT_AFTER_NUMBER = re.compile(
    rf"\$?[\s-]?(?P<unit>[a-zµμ]+|[%°])(?:(?:/|\s+{_WORDS.per}\s+)(?P<of>[a-zµμ]+))?"
    rf"(?P<power>\^?[²³23]|\s+(?:{'|'.join(_WORDS.powers)}))?(?![\w])",
    re.I,
)
_IMPLIED_NUMBER = re.compile(rf"(?<!\d[\s-])(?<!\b{_WORDS.per} )\b(?:{'|'.join(_WORDS.implied)})\b", re.I)


def find_quantities(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yields each number and its unit, or "" if it has none, and whether it is spelled: "one thousand ms"."""
    for found in _NUMBER.finditer(text):
        yield _parse_value(found), _parse_unit(_UNIT_AFTER_NUMBER.match(text, found.end())), bool(found["word"])


def convert_number_words(text: str) -> str:
    """Writes small numbers as digits, except "one", which is usually an article."""
    return _SPELLED_NUMBER.sub(lambda found: str(_WORD_VALUES[found.group().lower()]), text)


def _parse_unit(found: re.Match[str] | None) -> str:
    """Returns the sign of a unit: "metres per second squared" is "m/s2"."""
    if not found or found["unit"].lower() not in _UNIT_BY_NAME:
        return ""
    per = f"/{_UNIT_BY_NAME[found['of'].lower()]}" if (found["of"] or "").lower() in _UNIT_BY_NAME else ""
    power = (found["power"] or "").strip(" ^").lower()
    return f"{_UNIT_BY_NAME[found['unit'].lower()]}{per}{_POWERS.get(power, power)}"


def find_implied_numbers(text: str) -> set[str]:
    """Returns the numbers that other words imply: "both", "the second"."""
    return {_WORDS.implied[found.group().lower()] for found in _IMPLIED_NUMBER.finditer(text)}


def _parse_value(found: re.Match[str]) -> str:
    if found["digits"]:
        number = float(found["digits"].replace(",", "")) * _WORDS.scales.get((found["times"] or "").lower(), 1)
    else:
        number = _WORD_VALUES[found["word"].lower()] + _WORD_VALUES.get((found["ones"] or "").lower(), 0)
        number *= _WORDS.scales.get((found["scale"] or "").lower(), 1)
    return f"{-number if found['minus'] else number:.12g}"


def count_unknown_quantities(sentence: str, evidence: str) -> int:
    """Returns how many numbers of the sentence the evidence does not have, or not in the same unit if both have one.

    A spelled number up to two may be new: "one" is usually an article, and "two" may count what the evidence names.
    """
    there: dict[str, set[str]] = {}
    for value, unit, _ in find_quantities(evidence):
        there.setdefault(value, set()).add(unit)
    for value in find_implied_numbers(evidence):
        there.setdefault(value, set()).add("")
    unknown = 0
    for value, unit, is_spelled in find_quantities(sentence):
        may_be_new = is_spelled and float(value) <= 2 and not unit
        known = there.get(value, {""} if may_be_new else set())
        unknown += not known or bool(unit and known.isdisjoint({"", unit}))
    return unknown
