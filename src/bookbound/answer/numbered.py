"""Passages by the numbers that a language model knows them by, and what it writes about them as sentences."""

from __future__ import annotations

from collections.abc import Iterable

from bookbound.answer.cleaned import cleaned
from bookbound.answer.incoming import Drafted
from bookbound.answer.lettering import Lettering
from bookbound.book import Passage
from bookbound.dialogue import Sentence
from bookbound.finding import Evidence
from bookbound.sentences import sentences


class Numbered:
    """The passages that a model was given, numbered from one in the order it was given them, and what it says of them.

    What it has said once does not count again.
    """

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        self._passages: list[Passage] = []
        self._said: set[str] = set()
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

    def sentences(self, drafted: Drafted, probability: float | None = None) -> list[Sentence]:
        """The sentences of what was drafted, clean, each resting on the whole of the passages that are named.

        Numbers of none are dropped. A sentence rests on nothing where it is written in other letters or signs than its
        passages. How probably a passage answers is its score, where nobody judged.
        """
        numbers = [number for number in dict.fromkeys(drafted.passages) if 1 <= number <= len(self)]
        named = [self._passages[number - 1] for number in numbers]
        evidence = tuple(
            Evidence.of(each, 0, len(each.chunk.text), each.score if probability is None else probability)
            for each in named
        )
        book = "\n".join(each.chunk.text for each in named)
        text, lettering = cleaned(drafted.text, book), Lettering(book)
        single = [text[unit.start : unit.end] for unit in sentences(text)]
        found = [Sentence(each, () if lettering.strange(each) else evidence) for each in single]
        return [sentence for sentence in found if not self._again(sentence)]

    def _again(self, sentence: Sentence) -> bool:
        """Whether a sentence was given before; what rests on nothing was not."""
        words = " ".join(sentence.text.casefold().split())
        if words in self._said:
            return True
        if sentence.evidence:
            self._said.add(words)
        return False
