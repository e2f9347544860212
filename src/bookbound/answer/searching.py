"""The searches of one conversation with a language model, and what they have given it to read."""

from __future__ import annotations

import json
import re

from bookbound.answer import prompt
from bookbound.answer.incoming import Malformed
from bookbound.answer.numbered import Numbered
from bookbound.answer.visible import visible
from bookbound.dialogue import LONGEST_QUESTION, Question
from bookbound.ports import Search

MOST_SEARCHES = 3
FEWEST, MOST = 3, 8
"""How many passages a search gives, whatever is asked for: the fewest, and the most."""

_COUNT = re.compile(r"\s{0,9}[0-9]{1,4}\s{0,9}")


class Searching:
    """What a model may look for by itself, or `must`: the book's own search, a few times, told between marks.

    A search gives as many passages as the question asks for, or fewer where the model wants fewer.
    """

    def __init__(self, question: Question, search: Search, marks: prompt.Marks, *, must: bool = True) -> None:
        self.book, self.must = Numbered(), must
        self.most = _within(question.k, MOST)
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
        wanted = self.most if k is None else _within(k, self.most)
        try:
            retrieval, told = await self._search(query or self._question.text, wanted)
            found = list(zip(retrieval.passages, told, strict=True)) if told else []
        except Exception as trouble:
            self.trouble = trouble
            raise
        new = [(number, text) for passage, text in found if (number := self.book.add(passage))]
        if new:
            return prompt.numbered(self._marks, new)
        return prompt.NOTHING_NEW if found else prompt.NOTHING


def _arguments(arguments: str) -> tuple[str, int | None]:
    """What a model looks for, as far as a search takes it, and how many passages it wants, where it says so."""
    given = json.loads(arguments)
    query, k = given["query"], given.get("k")
    if isinstance(k, str) and _COUNT.fullmatch(k):
        k = int(k)
    if not isinstance(query, str) or not (k is None or type(k) is int):
        raise Malformed("The model searches for no words, or not for a number of passages.")
    return visible(query).strip()[:LONGEST_QUESTION].strip(), k


def _within(k: int, most: int) -> int:
    return min(max(k, FEWEST), most)
