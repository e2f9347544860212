"""Passages by the numbers that a language model knows them by, and what it writes about them as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bookbound.answer.incoming import Drafted
from bookbound.answer.visible import visible
from bookbound.book import Passage
from bookbound.dialogue import Sentence
from bookbound.finding import Evidence

# Every repetition is bounded: a model may write anything.
_GAP = r"\s{0,3}"
_NUMBERS = rf"\d{{1,3}}(?:{_GAP}(?:,|;|and|&|[-–]){_GAP}\d{{1,3}}){{0,9}}"
_BRACKETED = rf"[\[【](?:passages?\s)?{_GAP}{_NUMBERS}(?:†[^\]】]{{0,40}})?[\]】]"  # [1], [passages 1 and 2], 【1†a】
_NAMED = rf"[(（](?:see |cf\. |from |source: )?passages?\s{_GAP}{_NUMBERS}[)）]"  # (passage 2), (see passages 1, 2)
_MARKS = re.compile(rf"(?P<before>\S{{0,24}}?)(?P<marks>(?:{_GAP}(?:{_BRACKETED}|{_NAMED}))+)", re.I)


class Numbered:
    """The passages that a model was given, numbered from one in the order it was given them."""

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        self._passages: list[Passage] = []
        for passage in passages:
            self.add(passage)

    def add(self, passage: Passage) -> int | None:
        """The number of a passage that is new; none where it has one already."""
        if any(passage.chunk.id == known.chunk.id for known in self._passages):
            return None
        self._passages.append(passage)
        return len(self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def text(self) -> str:
        return "\n".join(passage.chunk.text for passage in self._passages)

    def sentence(self, drafted: Drafted, probability: float | None = None) -> Sentence:
        """What was drafted, clean, resting on the whole of the passages it names; numbers of none are dropped.

        How probably a passage answers is its score, where nobody judged.
        """
        named = [number for number in dict.fromkeys(drafted.passages) if 1 <= number <= len(self)]
        evidence = []
        for passage in (self._passages[number - 1] for number in named):
            chance = passage.score if probability is None else probability
            evidence.append(Evidence.of(passage, 0, len(passage.chunk.text), chance))
        return Sentence(cleaned(drafted.text, self.text), tuple(evidence))


def cleaned(text: str, book: str) -> str:
    """A model's sentence without the marks that point at passages; what stands so in the book is the book's own."""

    def kept(found: re.Match[str]) -> str:
        marks = found["marks"].strip()
        own = (found["before"] and found.group() in book) or ("," in marks and marks in book)
        return found.group() if own else found["before"]

    return _MARKS.sub(kept, visible(text)).strip()
