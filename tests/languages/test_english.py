"""Every language fills the port: its patterns compile, and its lists are in the form that the code compares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from bookbound.languages import LANGUAGE, detection
from bookbound.languages.english import ENGLISH
from bookbound.languages.language import ClaimForms, Language, SentenceMarks

# Names keep their capitals; everything else is compared in lower case.
WITH_CAPITALS = {(SentenceMarks, "personal_titles"), (ClaimForms, "capitalized_words")}
LANGUAGES = [ENGLISH]


def walk(value: Any) -> Iterator[tuple[type, str, Any]]:
    """Yields every member of every group of a language, with its group and name."""
    for field in fields(value):
        member = getattr(value, field.name)
        if is_dataclass(member):
            yield from walk(member)
        else:
            yield type(value), field.name, member


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_every_member_has_a_value_and_every_text_is_a_pattern(language: Language) -> None:
    for _, name, member in walk(language):
        assert member, name
        members = member.values() if isinstance(member, Mapping) else [member]
        for texts in members:
            for text in texts if isinstance(texts, tuple) else [texts]:
                if isinstance(text, str):
                    re.compile(text, re.I)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_word_lists_are_in_the_case_in_which_words_are_compared(language: Language) -> None:
    for group, name, member in walk(language):
        if isinstance(member, frozenset) and (group, name) not in WITH_CAPITALS:
            assert member == {word.casefold() for word in member}, name


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_patterns_have_the_groups_that_the_code_reads(language: Language) -> None:
    asked, follow_ups = language.questions, language.follow_ups
    groups = {
        language.quotes.inner_reference: {"noun", "thing"},
        asked.names_one_thing: {"name"},
        asked.asks_what_it_has: {"things", "owner"},
        asked.conjunction: {"mark", "bare"},
        asked.compares_after_lead: {"lead", "a", "b"},
        asked.asks_about_both: {"asked", "a", "b"},
        follow_ups.ordinal: {"ordinal"},
        follow_ups.ordinal_phrase: {"ordinal"},
        follow_ups.kind_of_one: {"kind", "one"},
        follow_ups.pronoun: {"plural", "singular", "that", "last", "one"},
        follow_ups.which: {"one"},
        **{key: {"things"} for key in asked.asks_for_list},
        **{key: {"a", "b", "tail"} for key in asked.comparisons},
        **{key: {"unit", "number", "ordinal", "name", "title"} for key in language.book_questions.patterns["chapter"]},
    }
    for pattern, names in groups.items():
        assert names <= set(re.compile(pattern).groupindex), pattern
    numbered = {language.claims.plural_name: 1, follow_ups.bare_question: 1, language.phrases.between: 2}
    for pattern, count in numbered.items():
        assert re.compile(pattern).groups == count, pattern


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_number_words_are_complete(language: Language) -> None:
    assert (len(language.numbers.below_twenty), len(language.numbers.tens)) == (20, 8)


def test_the_language_of_the_networks_can_be_detected() -> None:
    assert LANGUAGE.name in detection.FUNCTION_WORDS
