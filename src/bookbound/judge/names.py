"""The names and identifiers of a text, which admit no paraphrase."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from bookbound.words import fold, names

_PROPER = re.compile(r"(?<=[\w,;:)] )(?:[A-Z][\w'’-]*\w)")
_ORDINARY = frozenset("It The An This That These Those In On At If When".split())
_MEASURES = "°μ×≤≥−"
_BESIDES = re.compile(r"[\W_]+")
_WORD = re.compile(r"[\w./:'’–-]+")
_PARTS = re.compile(r"[./:'’–-]+")


def proper_names(text: str) -> set[str]:
    """Identifiers, options, acronyms, and words that are written large within a sentence."""
    return {name for name in {*names(text), *_PROPER.findall(text)} - _ORDINARY if any(map(str.isalpha, name))}


def same_bearers(sentence: str, carriers: str, evidence: str) -> bool:
    """Whether a name that is a word of its own in the evidence is one in the words that carry the sentence."""
    said, here, there = (set(map(_letters, _WORD.findall(fold(text)))) for text in (sentence, carriers, evidence))
    return said.isdisjoint(name for name in map(_letters, map(fold, proper_names(sentence))) if name in there - here)


def same_letters(sentence: str, evidence: str) -> bool:
    """Whether the evidence has every sign and foreign letter of the sentence: a word may be written to deceive."""
    strange = {char for char in fold(sentence) if not char.isascii() and unicodedata.category(char)[0] in "LSN"}
    return strange <= {*fold(evidence), *_MEASURES}


def same_names(sentence: str, evidence: str) -> bool:
    """Whether the evidence has every name and identifier of the sentence, but for case, accents and punctuation."""
    wanted = {_letters(re.sub(r"['’]s$", "", fold(name))) for name in proper_names(sentence)}
    return all(name in known or name.removesuffix("s") in known for known in [_named(evidence)] for name in wanted)


def _named(evidence: str) -> set[str]:
    """What something may be called by: a word, neighbouring parts of an identifier, up to three words in a row."""
    words = [[part for part in _PARTS.split(word) if part] for word in _WORD.findall(fold(evidence))]
    inside = (_runs([_letters(part) for part in parts], len(parts)) for parts in words)
    return {name for run in inside for name in run} | set(_runs([_letters("".join(parts)) for parts in words], 3))


def _runs(words: Sequence[str], most: int) -> Iterator[str]:
    """Neighbouring words as one, up to so many of them."""
    for first in range(len(words)):
        for last in range(first, min(first + most, len(words))):
            yield "".join(words[first : last + 1])


def _letters(text: str) -> str:
    return _BESIDES.sub("", text)
