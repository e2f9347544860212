"""The searches of one conversation with a language model, and what they have given it to read."""

from __future__ import annotations

import json

from bookbound.answer import prompt
from bookbound.answer.incoming import Malformed
from bookbound.answer.numbered import Numbered
from bookbound.answer.visible import visible
from bookbound.dialogue import LONGEST_QUESTION, Question
from bookbound.ports import Search

MOST_SEARCHES = 3
FEWEST, USUAL, MOST = 3, 5, 8
"""How many passages a search gives: the fewest, what is usual, and the most."""


class Searching:
    """What a model may look for by itself: the book's own search, a few times, told between marks."""

    def __init__(self, question: Question, search: Search, marks: prompt.Marks) -> None:
        self.book = Numbered()
        self.trouble: Exception | None = None
        self._question, self._search, self._marks = question, search, marks
        self._times = 0

    @property
    def more(self) -> bool:
        """Whether there may be another search."""
        return self._times < MOST_SEARCHES

    @property
    def over(self) -> bool:
        """It was searched, and nothing was given to read: there is nothing to answer from."""
        return self._times > 0 and not len(self.book)

    async def asked(self, arguments: str) -> str:
        """What a search for these arguments, in JSON, gives the model to read."""
        if not self.more:
            return prompt.ENOUGH
        self._times += 1
        query, k = _arguments(arguments)
        try:
            retrieval, told = await self._search(query or self._question.text, k)
            found = list(zip(retrieval.passages, told, strict=True)) if told else []
        except Exception as trouble:
            self.trouble = trouble
            raise
        new = [(number, text) for passage, text in found if (number := self.book.add(passage))]
        if new:
            return prompt.numbered(self._marks, new)
        return prompt.NOTHING_NEW if found else prompt.NOTHING


def _arguments(arguments: str) -> tuple[str, int]:
    """What a model looks for, as far as a search takes it, and how many passages it gets."""
    given = json.loads(arguments)
    query, k = given["query"], given.get("k", USUAL)
    if not isinstance(query, str) or type(k) is not int:
        raise Malformed("The model searches for no words, or not for a number of passages.")
    return visible(query).strip()[:LONGEST_QUESTION].strip(), min(max(k, FEWEST), MOST)
