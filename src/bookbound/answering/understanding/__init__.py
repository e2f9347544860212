"""Turns a question into one value that says what is meant; nothing later reads the words of the question again."""

from __future__ import annotations

import re

from bookbound.answering.understanding.follow_up import can_answer_alone
from bookbound.answering.understanding.question_parts import split_comparison, split_question
from bookbound.answering.understanding.special_messages import parse_book_question, recognize_small_talk
from bookbound.domain.question import AskedName, Question, QuestionKind, QuestionPart, Understanding, Wants
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import asks_about_whole_text, extract_terms, split_sentences

_FORMS = LANGUAGE.questions
_FORM_TERMS = frozenset(extract_terms(_FORMS.form_words))
_CODE_NAME = re.compile(r"`[^`]+`|--?\w[\w-]*|(?=\S*(?:\w[_./:]{1,2}\w|\w\(|[a-z][A-Z]))\S+")
"""A word that is a name in code: an option, a path, a call, a name with a dot, an underscore or inner capitals."""


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
        wants=_find_wants(text),
        unread_parts=unread_parts,
        book_question=book_question,
        small_talk=small_talk,
        completed_from=completed_from,
    )


def understand_part(text: str, sides: tuple[frozenset[str], ...] = (), needs_book: bool = False) -> QuestionPart:
    """Returns what one part of a question asks for; what the whole question compares or needs is passed on."""
    terms = frozenset(extract_terms(text))
    points_at_text = asks_about_whole_text(text)
    return QuestionPart(text, terms, terms - _FORM_TERMS, _find_asked_name(text), sides, points_at_text, needs_book)


def _find_wants(question: str) -> Wants:
    """Returns which form of answer a question asks for."""
    searched = (compiled(pattern).search(question) for pattern in _FORMS.asks_for_list)
    listed = next((found for found in searched if found), None)
    return Wants(
        list_terms=frozenset(extract_terms(listed["things"])) if listed else frozenset(),
        code=bool(compiled(_FORMS.asks_for_code).search(question)),
        steps=bool(compiled(_FORMS.asks_how).search(question)),
        yes_or_no=bool(compiled(_FORMS.asks_yes_or_no).match(question)),
        comparison=bool(compiled(_FORMS.asks_to_compare).search(question)),
    )


def _find_asked_name(question: str) -> AskedName | None:
    """Returns the name of the only thing that a question asks about, or None if it asks for more than that.

    "What options does start have?" asks for the list of the options of start.
    """
    asked = _find_request(" ".join(question.split()))
    owned = compiled(_FORMS.asks_what_it_has).fullmatch(asked)
    found = compiled(_FORMS.names_one_thing).fullmatch(f"{owned['things']} {owned['owner']}" if owned else asked)
    name = found["name"] if found else ""
    if not (terms := frozenset(extract_terms(name))) or compiled(_FORMS.asks_something_else).search(name):
        return None
    is_code = not owned and bool(_CODE_NAME.fullmatch(name))
    return AskedName(name.strip("`") if is_code else name, terms, is_code, name == asked, bool(owned))


def _find_request(question: str) -> str:
    """Returns the sentence that requests something by its name after the reason for it, or the whole question."""
    sentences = [question[unit.start : unit.end] for unit in split_sentences(question)]
    return next((each for each in sentences if compiled(_FORMS.asks_for_named).match(each)), question)
