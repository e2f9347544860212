"""Defines a reader's question, its scope, and the passages that retrieval finds for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import InvalidInputError

SELECTION_CHUNK_ID = "selected_text"
MAX_QUESTION_CHARS, MAX_SELECTION_CHARS, MAX_PASSAGES = 2000, 10000, 20


class AnswerScope(StrEnum):
    """Where an answer may come from."""

    BOOK = "book"
    SELECTION = "selection"
    SELECTION_THEN_BOOK = "selection_then_book"


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader asks, the words they selected, and how widely to look.

    With `fall_back` the book's own words may stand in for a language model that fails.

    Outer white space is dropped, and a selection of white space alone is none; then the answer comes from the book.
    """

    text: str
    selection: str | None = None
    scope: AnswerScope = AnswerScope.BOOK
    k: int = 5
    threshold: float = 0.0
    fall_back: bool = False

    def __post_init__(self) -> None:
        selection = (self.selection or "").strip() or None
        object.__setattr__(self, "text", self.text.strip())
        object.__setattr__(self, "selection", selection)
        object.__setattr__(self, "scope", self.scope if selection else AnswerScope.BOOK)
        if not 1 <= len(self.text) <= MAX_QUESTION_CHARS:
            raise InvalidInputError(
                f"A question has 1 to {MAX_QUESTION_CHARS} characters; this one has {len(self.text)}."
            )
        if any("\ud800" <= letter <= "\udfff" for letter in f"{self.text}{selection}"):
            raise InvalidInputError("A question is text; this one holds bytes that are no characters.")
        if selection and len(selection) > MAX_SELECTION_CHARS:
            raise InvalidInputError(f"A selection has at most {MAX_SELECTION_CHARS} characters, not {len(selection)}.")
        if not 1 <= self.k <= MAX_PASSAGES:
            raise InvalidInputError(f"The number of passages is 1 to {MAX_PASSAGES}, not {self.k}.")
        if not 0 <= self.threshold <= 1:
            raise InvalidInputError(f"The threshold is a number from 0 to 1, not {self.threshold}.")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages found for a question, best first, and where the reader's selection stands in the book."""

    passages: tuple[Passage, ...]
    selection: Place | None = None
    embed_ms: float = 0.0
    search_ms: float = 0.0
