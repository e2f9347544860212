"""Recognizes messages that no passage answers: small talk, and questions about the book itself."""

from __future__ import annotations

import re

from bookbound.domain.question import BookQuestion, SmallTalk
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import is_prompt_injection

MAX_BOOK_QUESTION_CHARS = 120
_BOOK_FORMS = LANGUAGE.book_questions
_SMALL_TALK = LANGUAGE.small_talk


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
