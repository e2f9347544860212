"""Checks that a paraphrase keeps the numbers, names, identifiers and negations of its evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from bookbound.answering.grounding.alignment import SentenceAlignment
from bookbound.answering.grounding.negation_and_modality import (
    changes_modality,
    has_antonym,
    has_same_hedging,
    has_same_negation,
    keeps_quantifiers,
    reverses_sequence,
)
from bookbound.answering.grounding.quantities import (
    counts_same_things,
    has_only_known_quantities,
    reduces_several_to_one,
)
from bookbound.text.tokens import extract_identifiers, normalize_text

_CITATION_MARK = re.compile(r"[\[【(]\s*(?:passages?\s+)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*[^\]】)]{0,20}[\]】)]", re.I)


def passes_exact_checks(alignment: SentenceAlignment) -> bool:
    """Returns whether a sentence keeps the numbers, names, negation, quantifiers and modality of its evidence.

    Names may also come from the headings of the evidence.
    """
    words, nearby = (f"{alignment.supporting_text(count)}\n{alignment.headings}" for count in (0, 1))
    return (
        has_only_known_quantities(alignment.sentence, words)
        and counts_same_things(alignment.sentence, words)
        and has_only_known_letters(alignment.sentence, f"{alignment.text}\n{alignment.headings}")
        and has_only_known_names(alignment.sentence, nearby)
        and keeps_standalone_names(alignment.sentence, nearby, alignment.text)
        and all(mark in words for mark in _CITATION_MARK.findall(alignment.sentence))
        and keeps_quantifiers(alignment)
        and has_same_hedging(alignment)
        and has_same_negation(alignment)
        and not any(has_antonym(match.clause.text, match.closest.text) for match in alignment.same_topic_matches)
        and not any(
            reduces_several_to_one(match.clause.text, match.closest.text) for match in alignment.same_topic_matches
        )
        and not any(map(changes_modality, alignment.same_topic_matches))
        and not reverses_sequence(alignment)
    )


_CAPITALIZED = re.compile(r"(?<=[\w,;:)] )(?:[A-Z][\w'’-]*\w)")
_COMMON_CAPITALIZED = frozenset("It The An This That These Those In On At If When".split())
_ALLOWED_SIGNS = "°μ×≤≥−"
_NON_WORD = re.compile(r"[\W_]+")
_WORD = re.compile(r"[\w./:'’–-]+")
_SEPARATORS = re.compile(r"[./:'’–-]+")


def find_proper_names(text: str) -> set[str]:
    """Returns identifiers, options, acronyms, and words that are capitalized within a sentence."""
    return {
        name
        for name in {*extract_identifiers(text), *_CAPITALIZED.findall(text)} - _COMMON_CAPITALIZED
        if any(map(str.isalpha, name))
    }


def keeps_standalone_names(sentence: str, nearby: str, evidence: str) -> bool:
    """Returns whether a name that is a separate word in the evidence is one in the nearby text too."""
    said, here, there = (
        set(map(_strip_punctuation, _WORD.findall(normalize_text(text)))) for text in (sentence, nearby, evidence)
    )
    return said.isdisjoint(
        name
        for name in map(_strip_punctuation, map(normalize_text, find_proper_names(sentence)))
        if name in there - here
    )


def has_only_known_letters(sentence: str, evidence: str) -> bool:
    """Returns whether the evidence has every sign and foreign letter of the sentence, which may imitate a word."""
    strange = {
        char for char in normalize_text(sentence) if not char.isascii() and unicodedata.category(char)[0] in "LSN"
    }
    return strange <= {*normalize_text(evidence), *_ALLOWED_SIGNS}


def has_only_known_names(sentence: str, evidence: str) -> bool:
    """Returns whether the evidence has every name of the sentence, ignoring case, accents and punctuation."""
    wanted = {_strip_punctuation(re.sub(r"['’]s$", "", normalize_text(name))) for name in find_proper_names(sentence)}
    return all(
        name in known or name.removesuffix("s") in known
        for known in [_collect_possible_names(evidence)]
        for name in wanted
    )


def _collect_possible_names(evidence: str) -> set[str]:
    """Returns possible names: words, neighbouring parts of an identifier, and up to three words in a row."""
    words = [[part for part in _SEPARATORS.split(word) if part] for word in _WORD.findall(normalize_text(evidence))]
    inside = (_join_neighbours([_strip_punctuation(part) for part in parts], len(parts)) for parts in words)
    return {name for run in inside for name in run} | set(
        _join_neighbours([_strip_punctuation("".join(parts)) for parts in words], 3)
    )


def _join_neighbours(words: Sequence[str], most: int) -> Iterator[str]:
    """Yields neighbouring words joined, up to `most` of them."""
    for first in range(len(words)):
        for last in range(first, min(first + most, len(words))):
            yield "".join(words[first : last + 1])


def _strip_punctuation(text: str) -> str:
    return _NON_WORD.sub("", text)
