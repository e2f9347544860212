"""The numbers of a text by their value, however they are written, each with its unit where it has one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.words import terms

NEAR, WIDEST = 3, 80
"""How many terms on each side of a number tell what it is of, and in how many characters they are looked for."""

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: i for i, word in enumerate(_SMALL)} | {word: 10 * i for i, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_KIN = {"first": "1", "second": "2", "third": "3", "half": "2", "both": "2", "twice": "2", "double": "2", "pair": "2"}
"""Words that speak of a number without being one: what holds them may be told with the number."""

_WORD = "|".join((*_SMALL, *_TENS))
_SCALE = "|".join(_SCALES)
_UNITS = {
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
_UNIT = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_FIGURE = re.compile(
    rf"""(?P<minus>(?<![^\s(\[=:$])[-−–]|\bminus\s+)?(?P<digits>(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<=[a-z_])\d+(?:\.\d+)?|\d+)(?:[\s-](?P<times>{_SCALE})\b)?
       | \b(?P<word>{_WORD})(?:[\s-](?P<ones>{"|".join(_SMALL[1:10])}))?(?:[\s-](?P<scale>{_SCALE}))?\b""",
    re.I | re.X,
)
_SPELT = re.compile(rf"\b(?:{'|'.join(word for word in _VALUES if word != 'one')})\b", re.I)
_COUNTED = re.compile(r"\s+(?:(?:at|in|on|of|the)\s+)*([a-z]{3,})", re.I)
_AFTER = re.compile(
    r"\$?[\s-]?(?P<unit>[a-zµμ]+|[%°])(?:(?:/|\s+per\s+)(?P<of>[a-zµμ]+))?"
    r"(?P<power>\^?[²³23]|\s+(?:squared|cubed))?(?![\w])",
    re.I,
)
_POWERS = {"²": "2", "³": "3", "squared": "2", "cubed": "3"}
_SEVERAL = re.compile(
    r"\b(?:any\s+number|several|many|multiple|various|numerous|most|all|both|few|some)\s+(?:of\s+)?"
    r"(?:(?:the|these|those|its|their)\s+)?([a-z]{3,})",
    re.I,
)
_SINGLE = re.compile(r"\b(?:one|1|single)\s+([a-z]{3,})", re.I)
_ARTICLE = re.compile(r"\b(?:an?|each|every|either|another|one|1|single)\s+([a-z]{3,})", re.I)
_KINDRED = re.compile(rf"\b(?:{'|'.join(_KIN)})", re.I)


def figures(text: str) -> Iterator[tuple[str, str]]:
    """Each number of a text and its unit, or "" where none is known: "1,000 ms" and "one thousand milliseconds"."""
    for found in _FIGURE.finditer(text):
        yield _value(found), _unit(_AFTER.match(text, found.end()))


def in_digits(text: str) -> str:
    """A text with its small numbers in digits, but for "one", which is an article more often than a number."""
    return _SPELT.sub(lambda found: str(_VALUES[found.group().lower()]), text)


def is_figure(term: str) -> bool:
    """Whether a term is a number."""
    return term.isdigit() or term in _SCALES


def figures_near(text: str) -> Iterator[tuple[str, set[str]]]:
    """Each number of a text by value, with the few terms around it that are neither numbers nor units."""
    for found in _FIGURE.finditer(text):
        before = [
            term for term in terms(in_digits(text[max(found.start() - WIDEST, 0) : found.start()])) if _says(term)
        ]
        after = [term for term in terms(in_digits(text[found.end() : found.end() + WIDEST])) if _says(term)]
        yield _value(found), {*before[-NEAR:], *after[:NEAR]}


def counted(text: str) -> Iterator[tuple[str, str]]:
    """Each number of a text that counts something, by value, and the term of what it counts."""
    for found in _FIGURE.finditer(text):
        thing = _COUNTED.match(text, found.end())
        if thing and thing[1].lower() not in _UNIT and (term := "".join(terms(thing[1])[:1])):
            yield _value(found), term


def one_of_several(said: str, book: str) -> bool:
    """Whether words speak of one thing where the book speaks of several, and never of one."""
    several = _things(_SEVERAL, book) | {thing for value, thing in counted(book) if value != "1"}
    return not (_things(_SINGLE, said) & several).issubset(_things(_ARTICLE, book))


def _things(amount: re.Pattern[str], text: str) -> set[str]:
    return {term for found in amount.finditer(text) for term in terms(found[1])}


def _unit(found: re.Match[str] | None) -> str:
    """A unit by its usual sign, whole: "metres per second squared" is "m/s2"."""
    if not found or found["unit"].lower() not in _UNIT:
        return ""
    per = f"/{_UNIT[found['of'].lower()]}" if (found["of"] or "").lower() in _UNIT else ""
    power = (found["power"] or "").strip(" ^").lower()
    return f"{_UNIT[found['unit'].lower()]}{per}{_POWERS.get(power, power)}"


def _says(term: str) -> bool:
    return not is_figure(term) and term not in _UNIT


def kindred(text: str) -> set[str]:
    """The numbers that other words of a text speak of: "both", "the second"."""
    return {_KIN[found.group().lower()] for found in _KINDRED.finditer(text)}


def _value(found: re.Match[str]) -> str:
    if found["digits"]:
        number = float(found["digits"].replace(",", "")) * _SCALES.get((found["times"] or "").lower(), 1)
    else:
        number = _VALUES[found["word"].lower()] + _VALUES.get((found["ones"] or "").lower(), 0)
        number *= _SCALES.get((found["scale"] or "").lower(), 1)
    return f"{-number if found['minus'] else number:.12g}"
