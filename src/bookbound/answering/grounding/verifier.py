"""Verifies a sentence against its evidence: word for word, or with exact checks and the cross-encoder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple

from bookbound.answering.grounding.prompt_injection import drop_injected_units
from bookbound.answering.reading.cross_encoder import CrossEncoder, log_odds, logistic_probability
from bookbound.domain.judgement import Evidence, SentenceSupport
from bookbound.text.language import is_english

MAX_NEW_TERM_SHARE = 0.15
"""The share of a sentence's terms up to which they may be other than the evidence's."""
MAX_PARAPHRASE_CHARACTERS = 1000
"""The most characters of a sentence in words of its own."""


class CheckedParaphrase(NamedTuple):
    """A sentence that no check contradicts: its liberties, the words that carry it, and what to read it against."""

    liberties: dict[str, float]
    carriers: tuple[Evidence, ...]
    premises: tuple[str, ...]


class CrossEncoderVerifier:
    """Finds a sentence supported by its evidence where it is in it word for word, or follows from it.

    What follows says the same numbers, names and identifiers of the same things, and denies what the evidence denies.
    It is the surer the closer it keeps to the words it comes from. The checks know English: of what is written in
    another language, only the book's own words are supported.
    """

    def __init__(self, reader: CrossEncoder) -> None:
        self._reader = reader

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        found = await asyncio.to_thread(_check_words, sentence, evidence)
        if isinstance(found, SentenceSupport):
            return found
        weighed = await self.weighed(sentence, found)
        return SentenceSupport(logistic_probability(self._reader.constants.retold, weighed), found.carriers)

    async def weighed(self, sentence: str, checked: CheckedParaphrase) -> dict[str, float]:
        """What speaks for a sentence in words of its own: its liberties, and the odds that it is read as supported."""
        read = await asyncio.gather(*(self._reader.support(sentence, premise) for premise in checked.premises))
        return {**checked.liberties, "read": sum(map(log_odds, read)) / len(read)}


def _check_words(sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport | CheckedParaphrase:
    """All that the words alone tell: whether they are the book's, are contradicted, or must be read."""
    quoted = find_verbatim(sentence, evidence)
    return SentenceSupport(1.0, quoted) if quoted else check_paraphrase(sentence, evidence) or SentenceSupport(0.0)


def check_paraphrase(sentence: str, evidence: Sequence[Evidence]) -> CheckedParaphrase | None:
    """A sentence in words of its own beside the words that carry it; none where a check contradicts it."""
    if len(sentence) > MAX_PARAPHRASE_CHARACTERS or not all(is_english(piece.text) for piece in evidence):
        return None
    # What quotes the book never needs these.
    from bookbound.answering.grounding.alignment import SentenceAlignment, narrow_evidence
    from bookbound.answering.grounding.exact_checks import passes_exact_checks
    from bookbound.answering.grounding.word_order import changes_relations, measure_deviations

    retelling = SentenceAlignment(sentence, evidence)
    taken, carriers = measure_deviations(retelling), narrow_evidence(retelling)
    if (
        not carriers
        or taken["new"] > MAX_NEW_TERM_SHARE
        or not passes_exact_checks(retelling)
        or changes_relations(retelling)
    ):
        return None
    return CheckedParaphrase(taken, carriers, (retelling.text, "\n".join(piece.text for piece in carriers)))


_LIST_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_END_PUNCTUATION = ".:;, "


class VerbatimVerifier:
    """Finds a sentence supported where its evidence holds it word for word."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        found = find_verbatim(sentence, evidence)
        return SentenceSupport(float(bool(found)), found)


def find_verbatim(sentence: str, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The pieces of evidence that the sentence is, or whole units of them, but for white space and what ends them.

    Part of a unit may say something else than the whole: "it flies" where the book has "nobody thinks it flies".
    """
    words = _strip_list_marker(sentence)
    found = (_match_units(words, piece) for piece in evidence) if words else ()
    return tuple(piece for piece in found if piece)


def _match_units(words: str, piece: Evidence) -> Evidence | None:
    if words == _strip_list_marker(piece.text):
        return piece
    units = drop_injected_units(piece)
    for first, unit in enumerate(units):
        for last in units[first:]:
            text = _strip_list_marker(piece.text[unit.start : last.end])
            if text == words:
                return piece.narrowed(unit.start, last.end)
            if len(text) > len(words):
                break
    return None


def _strip_list_marker(text: str) -> str:
    words = " ".join(text.split())
    item = _LIST_MARKER.match(words)
    return words[item.end() if item else 0 :].rstrip(_END_PUNCTUATION)
