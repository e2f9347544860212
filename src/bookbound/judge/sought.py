"""What a question asks for, as far as words can say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Self

from bookbound.words import names, numbers, terms

_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|far|fast|large|big|often|high|deep|old|heavy|wide|tall)\b"
    r"|\b(?:number|percent\w*|default|port|version|rate|size|limit|maximum|minimum|frequency|year|date|value)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Sought:
    """A question's terms, each weighed by how rare it is in the book, with the names and numbers it asks about."""

    weights: Mapping[str, float]
    names: frozenset[str]
    numbers: frozenset[str]
    quantity: bool

    @classmethod
    def by(cls, question: str, vocabulary: Mapping[str, int], chunks: int) -> Self:
        weights = {term: _rarity(vocabulary.get(term, 0), chunks) for term in terms(question)}
        return cls(weights, frozenset(names(question)), frozenset(numbers(question)), bool(_QUANTITY.search(question)))

    def coverage(self, text_terms: set[str]) -> float:
        """The share of the question's weight that these terms hold."""
        whole = sum(self.weights.values())
        return sum(weight for term, weight in self.weights.items() if term in text_terms) / whole if whole else 0.0

    def rarest(self, text_terms: set[str]) -> float:
        """Whether the rarest term is among these."""
        return float(bool(self.weights) and max(self.weights, key=self.weights.__getitem__) in text_terms)

    def named(self, text: str) -> float:
        """The share of the names and numbers asked about that the text holds; 1 where none is."""
        text = text.casefold()
        wanted = self.names | self.numbers
        found = [re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None for name in wanted]
        return sum(found) / len(found) if found else 1.0

    def quantified(self, text: str) -> float:
        """Whether a number was asked for and the text has one."""
        return float(self.quantity and bool(_DIGIT.search(text)))


def _rarity(frequency: int, chunks: int) -> float:
    return log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))
