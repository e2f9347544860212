"""The two sides of a comparison."""

from __future__ import annotations

import re

LONGEST, LONGEST_SIDE = 200, 6
"""The most characters of a question that only compares two things, and the most words of the name of one."""

_SIDE, _TAIL = r"[^,;:?!]+?", r"(?P<tail>\s+(?:in|when|for|with)\s+[^,;:?!]+?)?"
_DIFFERENCE = r"diff(?:e?rences?)?|distinctions?"
_VERSUS = rf"(?P<a>{_SIDE})\s+(?:vs\.?|versus)\s+(?P<b>{_SIDE})"
_COMPARES = re.compile(r"diff|distinction|compare|contrast|\bvs\b|versus", re.I)
_COMPARISONS = (
    rf"(?:\S+\s+){{0,5}}(?:{_DIFFERENCE})\s+between\s+(?P<a>{_SIDE})\s+and\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"(?:\S+\s+){{0,3}}(?:compare|contrast)\s+(?P<a>{_SIDE})\s+(?:with|to|and|against)\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"how\s+(?:do|does|is|are)\s+(?P<a>{_SIDE})\s+(?:differ|different)\s+from\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"(?:(?:please\s+)?(?:explain|describe)\s+)?{_VERSUS}{_TAIL}"
    rf"(?:[,:?.–—-]+\s*(?:what|how)\b.*(?:{_DIFFERENCE}|differ))?[?.]*",
)
_LED = rf"(?P<lead>.+?(?:[,:–—]|\s-)\s+){_VERSUS}[?.]*"


def sides(question: str) -> list[str]:
    """The question for each of the two things that it compares and asks nothing else about; else none."""
    if len(question) > LONGEST or not _COMPARES.search(question):
        return []
    # Few questions compare anything, so the patterns are compiled for the first that does.
    if found := re.fullmatch(_LED, question, re.I):
        return _each(found, found["lead"], "")
    matches = (re.fullmatch(pattern, question, re.I) for pattern in _COMPARISONS)
    named = next((found for found in matches if found), None)
    return _each(named, "What is ", named["tail"] or "") if named else []


def _each(found: re.Match[str], before: str, after: str) -> list[str]:
    one, other = found["a"].split(), found["b"].split()
    # "static and dynamic typing", "the cost of A and B": nobody can tell which words belong to both sides.
    shared_end = len(one) == 1 < len(other) and one[0].isalpha() and one[0].islower() and other[0].islower()
    shared_start = "of" in one and "of" not in other
    if shared_end or shared_start or max(len(one), len(other)) > LONGEST_SIDE or {"vs", "versus"} & {*one, *other}:
        return []
    return [f"{before}{' '.join(side)}{after}?" for side in (one, other)]
