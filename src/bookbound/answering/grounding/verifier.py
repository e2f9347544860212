"""Verifies each sentence of a draft against the passages: word for word, as code, or with the cross-encoder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bookbound.domain.judgement import Claim, Evidence, SentenceSupport, SupportLabel
from bookbound.domain.reply import AnswerSentence
from bookbound.languages.detection import is_english
from bookbound.models.cross_encoder import CrossEncoder, log_odds, logistic_probability
from bookbound.text import drop_injected_units

if TYPE_CHECKING:
    from bookbound.answering.grounding.supporting_units import CitedEvidence

SUPPORT_THRESHOLD = 0.5
"""The constant of the fitted probability is such that sentences from here on count as supported."""
MAX_CLAIM_CHARACTERS = 1000


class CrossEncoderVerifier:
    """Labels a sentence as supported if its evidence contains it word for word, or if it follows from it.

    The cross-encoder reads a paraphrase with the pieces of evidence that share most with it, and with their units that
    do. What it reads and what can be counted say together how probable it is that the evidence supports it. The network
    knows only English, so in other languages a paraphrase is unverified.
    """

    def __init__(self, reader: CrossEncoder) -> None:
        self._reader = reader

    async def verify(self, sentence: AnswerSentence) -> SentenceSupport:
        claim = sentence.claim or Claim(sentence.text)
        if claim.asked:
            from bookbound.answering.grounding.exact_checks import contradicts_verdict

            if contradicts_verdict(sentence.text, claim):
                return SentenceSupport(SupportLabel.UNSUPPORTED)
        if quoted := await asyncio.to_thread(find_verbatim, claim.words, sentence.evidence):
            return SentenceSupport(SupportLabel.SUPPORTED, 1.0, quoted)
        # Answers that quote the book never need these modules.
        from bookbound.answering.grounding.code_lines import verify_code
        from bookbound.answering.grounding.supporting_units import CitedEvidence

        if sentence.form and sentence.form.kind == "code":
            return await asyncio.to_thread(verify_code, claim.words, sentence.evidence)
        cited = await asyncio.to_thread(CitedEvidence, " ".join(claim), sentence.evidence)
        if not cited.stretches:
            return SentenceSupport(SupportLabel.UNSUPPORTED)
        read = (claim.words, *(piece.text for piece in cited.stretches))  # other evidence may be English
        if len(claim.words) > MAX_CLAIM_CHARACTERS or not all(map(is_english, read)):
            return SentenceSupport(SupportLabel.UNVERIFIED, 0.0, cited.stretches)
        features = await self.compute_features(claim, cited)
        constants = self._reader.constants
        probability = logistic_probability(constants.paraphrase, features)
        label = (
            SupportLabel.SUPPORTED
            if probability >= SUPPORT_THRESHOLD
            else SupportLabel.UNVERIFIED
            if probability >= constants.plausible
            else SupportLabel.UNSUPPORTED
        )
        return SentenceSupport(label, probability, cited.stretches)

    async def compute_features(self, claim: Claim, cited: CitedEvidence) -> dict[str, float]:
        """Returns the log-odds that each of the two texts supports a claim, and what the claim adds to them."""
        from bookbound.answering.grounding.exact_checks import count_differences

        words = f"{claim.context} {claim.words}".strip()
        whole, context = cited.supporting_text, cited.context
        read = await self._reader.support(words, whole)
        # A short text is its own context.
        read_again = read if context == whole else await self._reader.support(words, context)
        counted = await asyncio.to_thread(count_differences, claim.words, cited)
        return {"whole": log_odds(read), "context": log_odds(read_again), **counted}


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
