"""Leaves out what a language model says again, and notices when it does nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bookbound.answering.writers.llm.draft_sentences import DraftSentence

MAX_TIMES = 3
"""A model that says a sentence more often is in a loop, from which small models find no way out."""


class RepetitionFilter:
    """Leaves out sentences that were said before, and items and rows that the one before says; code stays.

    The same step may come twice in a list, but not at once.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._previous = ""

    @property
    def is_loop(self) -> bool:
        return max(self._counts.values(), default=0) > MAX_TIMES

    def keep_new(self, sentences: Sequence[DraftSentence]) -> list[DraftSentence]:
        """Returns the sentences that say something new; after the beginning of a loop, none."""
        return [sentence for sentence in sentences if self._is_new(sentence)]

    def _is_new(self, sentence: DraftSentence) -> bool:
        if sentence.form.kind == "code" or sentence.claim is None:
            return not self.is_loop
        words, previous = " ".join(sentence.claim.words.casefold().split()), self._previous
        is_said = words in self._counts if sentence.form.kind == "sentence" else words == previous
        self._counts[words] += 1
        self._previous = words
        return not is_said and not self.is_loop
