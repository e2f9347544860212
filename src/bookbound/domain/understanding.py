"""Defines how a question is understood: its kind, its parts, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from bookbound.domain.question import Question

SmallTalk = Literal["greeting", "thanks", "farewell", "other"]
BookTopic = Literal["subject", "audience", "author", "citation", "contents", "questions", "chapter"]


class QuestionKind(StrEnum):
    """What a message is, which decides what replies to it."""

    QUESTION = "question"
    ABOUT_BOOK = "about_book"
    SMALL_TALK = "small_talk"


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
    words if the conversation completed them.
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

    @property
    def text(self) -> str:
        return self.question.text
