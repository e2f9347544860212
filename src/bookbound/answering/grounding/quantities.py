"""Finds numbers and units in a text and compares them with those of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_WORDS_FOR_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORD_VALUES = {word: i for i, word in enumerate(_WORDS_BELOW_TWENTY)} | {
    word: 10 * i for i, word in enumerate(_WORDS_FOR_TENS, 2)
}
_SCALE_VALUES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_IMPLIED_NUMBERS = {
    "first": "1",
    "second": "2",
    "third": "3",
    "half": "2",
    "both": "2",
    "twice": "2",
    "double": "2",
    "doubles": "2",
    "doubled": "2",
    "pair": "2",
    "pairs": "2",
}
"""Words that imply a number."""
_NUMBER_WORD_PATTERN = "|".join((*_WORDS_BELOW_TWENTY, *_WORDS_FOR_TENS))
_SCALE_PATTERN = "|".join(_SCALE_VALUES)
_UNIT_NAMES = {
    "s": "s sec secs second seconds",
    "ms": "ms millisecond milliseconds",
    "us": "us µs μs microsecond microseconds",
    "ns": "ns nanosecond nanoseconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years",
    "m": "m metre metres meter meters",
    "km": "km kilometre kilometres kilometer kilometers",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "nm": "nm nanometre nanometres nanometer nanometers",
    "inch": "inch inches",
    "foot": "foot feet ft",
    "mile": "mile miles",
    "g": "g gram grams",
    "kg": "kg kilogram kilograms",
    "mg": "mg milligram milligrams",
    "%": "% percent",
    "°": "° degree degrees deg",
    "hz": "hz hertz",
    "khz": "khz kilohertz",
    "mhz": "mhz megahertz",
    "ghz": "ghz gigahertz",
    "bit": "bit bits",
    "byte": "byte bytes",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb megabyte megabytes",
    "gb": "gb gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
    "v": "v volt volts",
    "mv": "mv millivolt millivolts",
    "a": "amp amps ampere amperes",
    "ma": "ma milliamp milliamps",
    "w": "w watt watts",
    "kw": "kw kilowatt kilowatts",
    "n": "n newton newtons",
    "j": "j joule joules",
    "pa": "pa pascal pascals",
    "kpa": "kpa kilopascal kilopascals",
}
_UNIT_BY_NAME = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_NUMBER = re.compile(
    rf"""(?P<minus>(?<![^\s(\[=:$])[-−–]|\bminus\s+)?
         (?P<digits>(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<=[a-z_])\d+(?:\.\d+)?|\d+)(?:[\s-](?P<times>{_SCALE_PATTERN})\b)?
       | \b(?P<word>{_NUMBER_WORD_PATTERN})(?:[\s-](?P<ones>{"|".join(_WORDS_BELOW_TWENTY[1:10])}))?
         (?:[\s-](?P<scale>{_SCALE_PATTERN}))?\b""",
    re.I | re.X,
)
_SPELLED_NUMBER = re.compile(rf"\b(?:{'|'.join(word for word in _WORD_VALUES if word != 'one')})\b", re.I)
_UNIT_AFTER_NUMBER = re.compile(
    r"\$?[\s-]?(?P<unit>[a-zµμ]+|[%°])(?:(?:/|\s+per\s+)(?P<of>[a-zµμ]+))?"
    r"(?P<power>\^?[²³23]|\s+(?:squared|cubed))?(?![\w])",
    re.I,
)
_POWERS = {"²": "2", "³": "3", "squared": "2", "cubed": "3"}
_IMPLIED_NUMBER_PATTERN = re.compile(rf"(?<!\d[\s-])(?<!\bper )\b(?:{'|'.join(_IMPLIED_NUMBERS)})\b", re.I)


def find_quantities(text: str) -> Iterator[tuple[str, str]]:
    """Yields each number and its unit, or "" if it has none: "1,000 ms" and "one thousand milliseconds"."""
    yield from ((value, unit) for _, value, unit in _parse_quantities(text))


def _parse_quantities(text: str) -> Iterator[tuple[re.Match[str], str, str]]:
    for found in _NUMBER.finditer(text):
        yield found, _parse_value(found), _parse_unit(_UNIT_AFTER_NUMBER.match(text, found.end()))


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
    return {_IMPLIED_NUMBERS[found.group().lower()] for found in _IMPLIED_NUMBER_PATTERN.finditer(text)}


def _parse_value(found: re.Match[str]) -> str:
    if found["digits"]:
        number = float(found["digits"].replace(",", "")) * _SCALE_VALUES.get((found["times"] or "").lower(), 1)
    else:
        number = _WORD_VALUES[found["word"].lower()] + _WORD_VALUES.get((found["ones"] or "").lower(), 0)
        number *= _SCALE_VALUES.get((found["scale"] or "").lower(), 1)
    return f"{-number if found['minus'] else number:.12g}"


def has_only_known_quantities(sentence: str, evidence: str) -> bool:
    """Returns whether the evidence has every number of the sentence, in the same unit if both have one.

    A spelled number up to two may be new: "one" is usually an article, and "two" may count what the evidence names.
    """
    there: dict[str, set[str]] = {}
    for value, unit in find_quantities(evidence):
        there.setdefault(value, set()).add(unit)
    for value in find_implied_numbers(evidence):
        there.setdefault(value, set()).add("")
    for found, value, unit in _parse_quantities(sentence):
        may_be_new = found["word"] and float(value) <= 2 and not unit
        if value not in there and not may_be_new:
            return False
        units = there.get(value, {""})
        if unit and "" not in units and unit not in units:
            return False
    return True
