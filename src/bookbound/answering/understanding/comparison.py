"""Splits a question that compares two things into one question for each."""

from __future__ import annotations

import re

MAX_COMPARISON_CHARACTERS, MAX_SIDE_WORDS = 200, 6
_SIDE, _TAIL = r"[^,;:?!]+?", r"(?P<tail>\s+(?:in|when|for|with)\s+[^,;:?!]+?)?"
_DIFFERENCE = r"diff(?:e?rences?)?|distinctions?"
_VERSUS = rf"(?P<a>{_SIDE})\s+(?:vs\.?|versus)\s+(?P<b>{_SIDE})"
_MAY_COMPARE = re.compile(r"diff|distinction|compare|contrast|\bvs\b|versus", re.I)
_COMPARISONS = (
    rf"(?:\S+\s+){{0,5}}(?:{_DIFFERENCE})\s+between\s+(?P<a>{_SIDE})\s+and\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"(?:\S+\s+){{0,3}}(?:compare|contrast)\s+(?P<a>{_SIDE})\s+(?:with|to|and|against)\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"how\s+(?:do|does|is|are)\s+(?P<a>{_SIDE})\s+(?:differ|different)\s+from\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
    rf"(?:(?:please\s+)?(?:explain|describe)\s+)?{_VERSUS}{_TAIL}"
    rf"(?:[,:?.–—-]+\s*(?:what|how)\b.*(?:{_DIFFERENCE}|differ))?[?.]*",
)
_COMPARISON_AFTER_LEAD = rf"(?P<lead>.+?(?:[,:–—]|\s-)\s+){_VERSUS}[?.]*"
_QUESTION_ABOUT_BOTH = (
    rf"{_VERSUS}\s*(?P<asked>[,:–—-]\s+(?:what|how|why|when|where)\b.*\b(?:they|them|both|each)\b.*?)[?.]*"
)


def split_comparison(question: str) -> list[str]:
    """Returns one question for each side if a question only compares two things, else nothing."""
    if len(question) > MAX_COMPARISON_CHARACTERS or not _MAY_COMPARE.search(question):
        return []
    # Few questions compare, so these patterns are compiled on demand.
    if found := re.fullmatch(_COMPARISON_AFTER_LEAD, question, re.I):
        return _ask_about_each(found, found["lead"], "")
    if found := re.fullmatch(_QUESTION_ABOUT_BOTH, question, re.I):
        return _ask_about_each(found, "", found["asked"])
    matches = (re.fullmatch(pattern, question, re.I) for pattern in _COMPARISONS)
    named = next((found for found in matches if found), None)
    return _ask_about_each(named, "What is ", named["tail"] or "") if named else []


def _ask_about_each(found: re.Match[str], before: str, after: str) -> list[str]:
    one, other = found["a"].split(), found["b"].split()
    # In "static and dynamic typing" or "the cost of A and B" some words belong to both sides.
    first, second = ([word for word in side if word.casefold() not in ("a", "an", "the")] for side in (one, other))
    shared_end = len(first) == 1 < len(second) and first[0].isalpha() and first[0].islower() and second[0].islower()
    shared_start = "of" in one and "of" not in other
    if shared_end or shared_start or max(len(one), len(other)) > MAX_SIDE_WORDS or {"vs", "versus"} & {*one, *other}:
        return []
    return [f"{before}{' '.join(side)}{after}?" for side in (one, other)]
