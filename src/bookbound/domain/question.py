"""Defines a reader's question, its deadline, how it is understood, and the passages that retrieval finds for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from numbers import Integral, Real
from time import monotonic
from typing import Literal, NamedTuple

from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.manifest import DEFAULT_LANGUAGE

SmallTalk = Literal["greeting", "thanks", "farewell", "other"]
BookTopic = Literal["subject", "audience", "author", "citation", "contents", "questions", "chapter"]
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
    `conversation`, the earlier turns, oldest first. A language model writes at most `max_sentences` if that is not 0,
    and `hides_unverified` is for interfaces that cannot mark a sentence as unverified.
    """

    text: str
    selection: str | None = None
    scope: AnswerScope = AnswerScope.BOOK
    k: int = 5
    threshold: float = 0.0
    allow_fallback: bool = False
    conversation: tuple[Turn, ...] = field(default=(), repr=False)
    max_sentences: int = 0
    hides_unverified: bool = False

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


class QuestionKind(StrEnum):
    """What a message is, which decides what replies to it."""

    QUESTION = "question"
    ABOUT_BOOK = "about_book"
    SMALL_TALK = "small_talk"
    OTHER_LANGUAGE = "other_language"  # and nobody can translate it


@dataclass(frozen=True, slots=True)
class BookQuestion:
    """What a reader asks about the book; a chapter is named by its number, which is -1 for the last, or its title."""

    topic: BookTopic
    unit: str = "chapter"
    number: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class AskedName:
    """The name of the only thing that a question asks about: "tuple" of "What is a tuple?".

    `is_keyword`: the question is nothing but the name. `asks_for_list`: it asks for all that the thing has.
    """

    text: str
    terms: frozenset[str]
    is_code: bool = False
    is_keyword: bool = False
    asks_for_list: bool = False


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One thing that a question asks, in words that are understood alone.

    `content_terms` are the terms without those that ask for a form, such as "example". If the whole question compares
    two things, `sides` are their terms. `points_at_text`: it means a whole text, as "Explain this". `needs_book`: the
    selection is a mere label that cannot answer.
    """

    text: str
    terms: frozenset[str]
    content_terms: frozenset[str] = frozenset()
    name: AskedName | None = None
    sides: tuple[frozenset[str], ...] = ()
    points_at_text: bool = False
    needs_book: bool = False


@dataclass(frozen=True, slots=True)
class Wants:
    """The form of answer that a question asks for; `list_terms` name the things of which it wants a list."""

    list_terms: frozenset[str] = frozenset()
    code: bool = False
    steps: bool = False
    yes_or_no: bool = False
    comparison: bool = False


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a reader means: the question in the words that are meant, and all that is read from these words.

    `unread_parts` counts the last parts of a question with too many of them. `completed_from` are the reader's own
    words if the conversation completed them, or if they were translated. `reader_language` is the reader's, if it is
    another one than the book's.
    """

    question: Question
    kind: QuestionKind
    parts: tuple[QuestionPart, ...]
    terms: frozenset[str]
    wants: Wants = Wants()
    unread_parts: int = 0
    book_question: BookQuestion | None = None
    small_talk: SmallTalk | None = None
    completed_from: str = ""
    book_language: str = DEFAULT_LANGUAGE
    reader_language: str = ""

    @property
    def text(self) -> str:
        return self.question.text

    def with_words_of(self, other: Understanding) -> Understanding:
        """Returns what other words for the same question mean, with what is known about its reader."""
        return replace(
            other,
            completed_from=self.completed_from,
            book_language=self.book_language,
            reader_language=self.reader_language,
        )

    def as_question(self) -> Understanding:
        """Returns an ordinary question, for which passages are read, whatever its words sound like."""
        return replace(self, kind=QuestionKind.QUESTION, book_question=None, small_talk=None)
