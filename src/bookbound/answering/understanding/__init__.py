"""Turns a question into one value that says what is meant; nothing later reads the words of the question again."""

from __future__ import annotations

from bookbound.answering.understanding.book_questions import parse_book_question
from bookbound.answering.understanding.comparison import split_comparison
from bookbound.answering.understanding.question_parts import split_question
from bookbound.answering.understanding.selected_label import can_answer_alone
from bookbound.answering.understanding.small_talk import recognize_small_talk
from bookbound.answering.understanding.wants import find_asked_name, find_wants
from bookbound.domain.question import Question
from bookbound.domain.understanding import QuestionKind, QuestionPart, Understanding
from bookbound.text.tokens import asks_about_whole_text, extract_terms

_FORM_TERMS = frozenset(extract_terms("example examples sample list table checklist code snippet give"))
"""Words that ask for a form of answer and not for something in it."""


def understand(question: Question, title: str = "", *, completed_from: str = "") -> Understanding:
    """Returns what a question means by itself, to readers of a book with this title.

    `completed_from` are the reader's own words if the question was completed before.
    """
    text = question.text
    # A question about a selection is about nothing else.
    book_question = None if question.selection else parse_book_question(text, title)
    small_talk = None if question.selection or book_question else recognize_small_talk(text)
    other = QuestionKind.SMALL_TALK if small_talk else QuestionKind.QUESTION
    parts, unread_parts = split_question(text)
    needs_book = bool(question.selection) and not can_answer_alone(text, question.selection or "")
    sides = tuple(frozenset(extract_terms(side)) for side in split_comparison(" ".join(text.split())))
    return Understanding(
        question=question,
        kind=QuestionKind.ABOUT_BOOK if book_question else other,
        parts=tuple(understand_part(part, sides, needs_book) for part in parts),
        terms=frozenset(extract_terms(text)),
        wants=find_wants(text),
        unread_parts=unread_parts,
        book_question=book_question,
        small_talk=small_talk,
        completed_from=completed_from,
    )


def understand_part(text: str, sides: tuple[frozenset[str], ...] = (), needs_book: bool = False) -> QuestionPart:
    """Returns what one part of a question asks for; what the whole question compares or needs is passed on."""
    terms = frozenset(extract_terms(text))
    points_at_text = asks_about_whole_text(text)
    return QuestionPart(text, terms, terms - _FORM_TERMS, find_asked_name(text), sides, points_at_text, needs_book)
