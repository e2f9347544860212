"""Recognizes a selection that only names something, and asks the book about it."""

from __future__ import annotations

import re
from dataclasses import replace

from bookbound.domain.question import MAX_TURNS, AnswerScope, Question, Turn
from bookbound.text.tokens import extract_terms

MAX_LABEL_WORDS = 3
MAX_LABEL_CHARS = 60
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")


def is_label(selection: str) -> bool:
    """Returns whether a selection only names something: a few words that are no sentence."""
    has_few_words = len(selection.split()) <= MAX_LABEL_WORDS and len(selection) <= MAX_LABEL_CHARS
    return has_few_words and not _SENTENCE_END.search(selection)


def can_answer_alone(question: str, selection: str) -> bool:
    """Returns whether a selection may answer without the book: a label only if it adds to words of the question."""
    asked, said = set(extract_terms(question)), set(extract_terms(selection))
    return not is_label(selection) or bool(asked & said and said - asked)


def ask_after_label(question: Question) -> Question:
    """Returns a question about a selected label as a follow-up to "What is the label?", if the book may answer."""
    label = question.selection or ""
    if question.scope is not AnswerScope.SELECTION_THEN_BOOK or not is_label(label):
        return question
    turns = (*question.conversation, Turn(f"What is {label}?"))[-MAX_TURNS:]
    return replace(question, selection=None, conversation=turns)
