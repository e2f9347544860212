"""Verifies each sentence of a draft against its evidence: word for word, or with exact checks and the cross-encoder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple

from bookbound.domain.judgement import Evidence, SentenceSupport
from bookbound.languages.detection import is_english
from bookbound.models.cross_encoder import CrossEncoder, log_odds, logistic_probability
from bookbound.text import drop_injected_units

MAX_PARAPHRASE_CHARACTERS = 1000


class CheckedParaphrase(NamedTuple):
    """A sentence that passes the exact checks: the evidence that supports it, and the two texts to read it with.

    `quantifiers` counts those that the sentence adds, such as "all" or "at least".
    """

    evidence: tuple[Evidence, ...]
    whole: str
    context: str
    quantifiers: int


class CrossEncoderVerifier:
    """Supports a sentence that its evidence contains word for word, or that follows from it.

    A paraphrase must pass the exact checks, and the cross-encoder reads it with the pieces of evidence that support it,
    and with their units that do. The network knows only English, so in other languages only the book's own words are
    supported.
    """

    def __init__(self, reader: CrossEncoder) -> None:
        self._reader = reader

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        if quoted := await asyncio.to_thread(find_verbatim, sentence, evidence):
            return SentenceSupport(1.0, quoted)
        checked = await asyncio.to_thread(check_paraphrase, sentence, evidence)
        if not checked:
            return SentenceSupport(0.0)
        features = await self.compute_features(sentence, checked)
        return SentenceSupport(logistic_probability(self._reader.constants.paraphrase, features), checked.evidence)

    async def compute_features(self, sentence: str, checked: CheckedParaphrase) -> dict[str, float]:
        """Returns the log-odds that each of the two texts supports a paraphrase, and how many quantifiers it adds."""
        whole = await self._reader.support(sentence, checked.whole)
        # A short text is its own context.
        context = whole if checked.context == checked.whole else await self._reader.support(sentence, checked.context)
        return {"whole": log_odds(whole), "context": log_odds(context), "quantifiers": checked.quantifiers}


def check_paraphrase(sentence: str, evidence: Sequence[Evidence]) -> CheckedParaphrase | None:
    """Returns a paraphrase with the evidence that supports it, or None if it fails a check."""
    if len(sentence) > MAX_PARAPHRASE_CHARACTERS or not all(is_english(piece.text) for piece in evidence):
        return None
    # Answers that quote the book never need these modules.
    from bookbound.answering.grounding.exact_checks import count_added_quantifiers, passes_exact_checks
    from bookbound.answering.grounding.supporting_units import CitedEvidence

    cited = CitedEvidence(sentence, evidence)
    if not cited.stretches or not passes_exact_checks(sentence, cited):
        return None
    whole = cited.supporting_text
    return CheckedParaphrase(cited.stretches, whole, cited.context, count_added_quantifiers(sentence, whole))


_LIST_MARKER = re.compile(r"(?:[-*+•]|(?P<number>\d{1,3})[.)])\s+")
_END_PUNCTUATION = ".:;, "


def find_verbatim(sentence: str, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Returns the evidence that equals the sentence, or the whole units that do, up to white space and end marks.

    Part of a unit may mean something else than the whole: "it flies" in "nobody thinks it flies".
    """
    wanted = _ListItem.parse(sentence)
    found = (_match_units(wanted, piece) for piece in evidence) if wanted.words else ()
    return tuple(piece for piece in found if piece)


def _match_units(wanted: _ListItem, piece: Evidence) -> Evidence | None:
    units = drop_injected_units(piece)
    if len(units) == len(piece.units) and wanted.is_in(_ListItem.parse(piece.text)):
        return piece
    for first, unit in enumerate(units):
        for last in units[first:]:
            item = _ListItem.parse(piece.text[unit.start : last.end])
            if wanted.is_in(item):
                return piece.narrow(unit.start, last.end)
            if len(item.words) > len(wanted.words):
                break
    return None


class _ListItem(NamedTuple):
    """The words of a text without white space and end marks, and its number or bullet if it is an item of a list."""

    marker: str
    words: str

    @classmethod
    def parse(cls, text: str) -> _ListItem:
        words = " ".join(text.split())
        found = _LIST_MARKER.match(words)
        marker = (found["number"] or "-") if found else ""
        return cls(marker, words[found.end() if found else 0 :].rstrip(_END_PUNCTUATION))

    def is_in(self, other: _ListItem) -> bool:
        """Whether the other has the same words, and the same marker if this one has any: steps keep their numbers."""
        return self.words == other.words and self.marker in ("", other.marker)
