"""Words that say the opposite of each other."""

from __future__ import annotations

import re

_PAIRS = (
    ("more greater", "less fewer"),
    ("high higher", "low lower"),
    ("large larger big bigger", "small smaller tiny little"),
    ("long longer", "short shorter"),
    ("fast faster quick quickly", "slow slower slowly"),
    (
        "increase increases increased increasing improves grow grows raise raises rise rises gain gains",
        "decrease decreases decreased decreasing reduce reduces reduced shrink shrinks lower lowers drop drops",
    ),
    ("same equal identical", "different"),
    ("easy easily easier", "hard difficult harder"),
    ("better best", "worse worst"),
    ("first before earlier sooner", "last after afterwards later"),
    ("inside within", "outside beyond"),
    ("above over", "below under"),
    ("many most", "few"),
    ("accept accepts accepted", "reject rejects rejected refuse refuses refused"),
    (
        "allow allows allowed enable enables permit permits",
        "forbid forbids disable disables prevent prevents prohibits",
    ),
    ("ascending", "descending"),
    ("local", "global"),
    ("internal", "external"),
    ("static", "dynamic"),
    ("maximum maximal maximise maximize", "minimum minimal minimise minimize"),
    ("start starts begin begins", "stop stops end ends"),
    ("push pushes", "pull pulls"),
    ("true", "false"),
    ("permanent", "temporary"),
    ("novel new unfamiliar", "old familiar"),
    ("overestimation", "underestimation"),
    ("hot warm", "cold cool"),
    ("strong", "weak"),
    ("wide", "narrow"),
    ("all every", "some several few"),
    ("half", "third"),
    ("half third", "quarter"),
)
_SIDES = [tuple(frozenset(words.split()) for words in pair) for pair in _PAIRS]
_WORD = re.compile(r"[a-z]+")


def opposed(said: str, book: str) -> bool:
    """Whether one text has a word where the other has one that says the opposite."""
    here, there = ({*_WORD.findall(text.lower())} for text in (said, book))
    return any(
        here & one and not there & one and (there & other) - here
        for pair in _SIDES
        for one, other in (pair, pair[::-1])
    )
