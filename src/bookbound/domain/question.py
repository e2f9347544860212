"""Defines a reader's question, its deadline, and the passages that retrieval finds for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from numbers import Integral, Real
from time import monotonic
from typing import NamedTuple

from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import InvalidInputError

SELECTION_CHUNK_ID = "selected_text"
# The widest limits of the contracts, each of which checks its own.
MAX_QUESTION_CHARS, MAX_SELECTION_CHARS, MAX_PASSAGES = 2000, 10000, 20
MAX_TURNS, MAX_TURN_ANSWER_CHARS = 10, 10000
# What a terminal reads as a command, such as for a colour, and control characters except white space.
_CONTROLS = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")


class AnswerScope(StrEnum):
    """Where an answer may come from."""

    BOOK = "book"
    SELECTION = "selection"
    SELECTION_THEN_BOOK = "selection_then_book"


class Turn(NamedTuple):
    """An earlier question of a conversation, and the text of the reply to it."""

    question: str
    answer: str = ""

    def check(self) -> None:
        """Raises an error if a text is too long or not valid."""
        for text in self:
            _check_is_text("A conversation", text)
        if not 1 <= len(self.question) <= MAX_QUESTION_CHARS or len(self.answer) > MAX_TURN_ANSWER_CHARS:
            raise InvalidInputError(
                f"A turn of a conversation must have a question of 1 to {MAX_QUESTION_CHARS} characters and an answer"
                f" of at most {MAX_TURN_ANSWER_CHARS}."
            )
        _check_characters("A conversation", self.question + self.answer)


@dataclass(frozen=True, slots=True)
class Question:
    """A reader's question with the selected text, its scope and the limits of the search.

    Outer white space and control characters are removed. Without selected text the scope is the book. With
    `allow_fallback` the answer quotes the book if the language model fails. A follow-up is completed from
    `conversation`, the earlier turns, oldest first.
    """

    text: str
    selection: str | None = None
    scope: AnswerScope = AnswerScope.BOOK
    k: int = 5
    threshold: float = 0.0
    allow_fallback: bool = False
    conversation: tuple[Turn, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _check_is_text("A question", self.text)
        _check_is_text("A selection", self.selection or "")
        selection = (self.selection or "").strip() or None
        object.__setattr__(self, "text", _CONTROLS.sub("", self.text).strip())
        object.__setattr__(self, "selection", selection)
        object.__setattr__(self, "scope", self.scope if selection else AnswerScope.BOOK)
        if not 1 <= len(self.text) <= MAX_QUESTION_CHARS:
            message = f"A question must have 1 to {MAX_QUESTION_CHARS} characters; this one has {len(self.text)}."
            raise InvalidInputError(message)
        _check_characters("A question", f"{self.text}{selection}")
        if selection and len(selection) > MAX_SELECTION_CHARS:
            message = f"A selection must have at most {MAX_SELECTION_CHARS} characters; this one has {len(selection)}."
            raise InvalidInputError(message)
        if not (isinstance(self.k, Integral) and 1 <= self.k <= MAX_PASSAGES):
            raise InvalidInputError(f"The number of passages must be 1 to {MAX_PASSAGES}, not {self.k!r}.")
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold <= 1):
            raise InvalidInputError(f"The threshold must be a number from 0 to 1, not {self.threshold!r}.")
        if len(self.conversation) > MAX_TURNS:
            message = f"A conversation must have at most {MAX_TURNS} turns, not {len(self.conversation)}."
            raise InvalidInputError(f"{message} Send the last ones.")
        for turn in self.conversation:
            turn.check()


def _check_is_text(subject: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{subject} must be text, not {type(value).__name__}.")


def _check_characters(subject: str, text: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInputError(f"{subject} must be valid text; this one contains bytes that are not characters.")


@dataclass(frozen=True, slots=True)
class CompletedQuestion:
    """A follow-up as it was understood from the conversation."""

    text: str


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which all work for one question must end."""

    moment: float = inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(monotonic() + seconds)

    def limit(self, seconds: float) -> float:
        """Returns `seconds`, or the time that is left if that is less."""
        return min(seconds, self.moment - monotonic())

    @property
    def has_passed(self) -> bool:
        return monotonic() >= self.moment


NO_DEADLINE = Deadline()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages found for a question, best first, and the place of the reader's selection in the book."""

    passages: tuple[Passage, ...]
    selection: Place | None = None
