"""Turns a question into one value that says what is meant; nothing later reads the words of the question again."""

from __future__ import annotations

import re

from bookbound.answering.understanding.follow_up import can_answer_alone
from bookbound.answering.understanding.question_parts import split_comparison, split_question
from bookbound.domain.question import (
    AskedName,
    BookQuestion,
    Question,
    QuestionKind,
    QuestionPart,
    SmallTalk,
    Understanding,
    Wants,
)
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import asks_about_whole_text, extract_terms, is_prompt_injection, split_sentences

MAX_BOOK_QUESTION_CHARS = 120
_FORMS = LANGUAGE.questions
_BOOK_FORMS = LANGUAGE.book_questions
_SMALL_TALK = LANGUAGE.small_talk
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
    # The sentence that requests something by its name may come after the reason for it.
    whole = " ".join(question.split())
    sentences = [whole[unit.start : unit.end] for unit in split_sentences(whole)]
    asked = next((each for each in sentences if compiled(_FORMS.asks_for_named).match(each)), whole)
    owned = compiled(_FORMS.asks_what_it_has).fullmatch(asked)
    found = compiled(_FORMS.names_one_thing).fullmatch(f"{owned['things']} {owned['owner']}" if owned else asked)
    name = found["name"] if found else ""
    if not (terms := frozenset(extract_terms(name))) or compiled(_FORMS.asks_something_else).search(name):
        return None
    is_code = not owned and bool(_CODE_NAME.fullmatch(name))
    return AskedName(name.strip("`") if is_code else name, terms, is_code, name == asked, bool(owned))


def recognize_small_talk(text: str) -> SmallTalk | None:
    """Returns the kind of a message that addresses the assistant or gives it an order, or nothing for a question."""
    text = _simplify(text, "?!.,;:~() ")
    for kind, phrases in _SMALL_TALK.phrases.items():
        if compiled(phrases).fullmatch(text):
            return kind
    rest = compiled(_SMALL_TALK.lead).sub("", text)
    # One pattern, because most messages match none.
    others = compiled("|".join(f"(?:{each})" for each in _SMALL_TALK.others))
    return "other" if others.fullmatch(rest) or is_prompt_injection(rest) else None


def parse_book_question(text: str, title: str) -> BookQuestion | None:
    """Returns what a question asks about the book with this title, or nothing for an ordinary question.

    The whole question has to ask about the book: one that asks for something in it is ordinary.
    """
    text = _simplify(text, "?!. ")
    if len(text) > MAX_BOOK_QUESTION_CHARS:
        return None
    if title:
        named = rf"(?<=\s){_BOOK_FORMS.not_before_title}[\"“]?{re.escape(title)}[\"”]?(?=\s|$)"
        text = re.sub(named, _BOOK_FORMS.this_book, text, flags=re.I)
    polite = compiled(_BOOK_FORMS.polite)
    text = polite.sub("", polite.sub("", text)).strip("?!., ")
    for topic, patterns in _BOOK_FORMS.patterns.items():
        for pattern in patterns:
            if found := compiled(pattern).fullmatch(text):
                return _read_reference(found) if topic == "chapter" else BookQuestion(topic)
    return None


def _simplify(text: str, marks: str) -> str:
    """Returns a message with single spaces and plain apostrophes, without the marks around it."""
    return " ".join(text.replace("’", "'").split()).strip(marks)


def _read_reference(found: re.Match[str]) -> BookQuestion:
    if number := found["number"]:
        value = int(number) if number.isdigit() else LANGUAGE.numbers.below_twenty.index(number.lower())
        unit = found["unit"].lower()
        return BookQuestion("chapter", "chapter" if unit.startswith("ch") else unit, value)
    if ordinal := found["ordinal"]:
        place = LANGUAGE.follow_ups.ordinals[ordinal.lower()]
        return BookQuestion("chapter", number=place + 1 if place >= 0 else place)
    return BookQuestion("chapter", name=found["name"] or found["title"])
