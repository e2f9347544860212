"""A question that only names a section or a piece of code is answered by the words about it."""

from __future__ import annotations

import pytest

from bookbound.answering.reading.named_section import NAMED_PROBABILITY, prefer_named_words
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.text.sentences import split_sentences

TEXT = "Tuples hold together several objects. They cannot be changed."


def passage(section: str, text: str = TEXT, position: int = 0, name: str = "", *, is_cut: bool = False) -> Passage:
    place = Place("a.md", "/a", "Data", "Data", (section,), "a", 0, len(text))
    units = tuple(split_sentences(text))
    chunk = Chunk(name or f"{section}-{position}", text, place, position, units=units, cut_start=is_cut)
    return Passage(chunk, 0.5)


def assess(question: str, *passages: Passage, probability: float = 0.05) -> Assessment:
    read = Assessment(probability, tuple(PassageAssessment(0.1) for _ in passages))
    return prefer_named_words(question, passages, read)


@pytest.mark.parametrize(
    "question",
    ["What is a tuple?", "tuple", "Tuples", "explain tuples", "What are tuples?", "define tuple", "what's a tuple"],
)
def test_a_question_that_only_names_a_section_is_answered_by_its_first_sentence(question: str) -> None:
    found = assess(question, passage("Lists"), passage("Tuple"))
    assert found.probability == NAMED_PROBABILITY
    span = found.readings[1].spans[0]
    assert TEXT[span.start : span.end] == "Tuples hold together several objects."
    assert not found.readings[0].spans


@pytest.mark.parametrize(
    "question",
    ["How is a tuple changed?", "What is the length of a tuple?", "Why tuples?", "Which tuple?", "What is it?", "???"],
)
def test_a_question_that_asks_for_more_than_the_section_is_read_as_before(question: str) -> None:
    assert assess(question, passage("Tuple")).probability == 0.05


def test_a_question_what_something_has_is_answered_by_the_list_in_the_section_below_it() -> None:
    text = "The command is fast.\n\n- `--port`\n- `--host`"
    place = Place("a.md", "/a", "Commands", "Commands", ("serve", "Options"), "a", 0, len(text))
    options = Passage(Chunk("options", text, place, 0, units=tuple(split_sentences(text))), 0.5)
    found = assess("Which options does serve have?", passage("Options"), options)
    (span,) = found.readings[1].spans
    assert (text[span.start : span.end], found.probability) == ("- `--port`\n- `--host`", NAMED_PROBABILITY)
    assert assess("Which options does build have?", options).probability == 0.05
    assert assess("Which options does serve have?", options, probability=0.95).readings[0].spans


def test_a_list_that_a_request_names_after_its_reason_is_found_in_a_section_without_sentences() -> None:
    text = "- Bolts are tight.\n- The battery is full."
    place = Place("a.md", "/a", "Safety", "Safety", ("Pre-flight checklist",), "a", 0, len(text))
    checklist = Passage(Chunk("checklist", text, place, 0, units=tuple(split_sentences(text))), 0.5)
    found = assess("What do I do before I start? I need the pre-flight checklist", passage("Tuple"), checklist)
    (span,) = found.readings[1].spans
    assert (text[span.start : span.end], found.probability) == (text, NAMED_PROBABILITY)
    assert assess("What do I do before I start? I like the pre-flight checklist", checklist).probability == 0.05


def test_a_keyword_is_answered_by_the_section_with_its_name_even_if_another_reading_is_surer() -> None:
    passages = passage("Tuple"), passage("Caveat", "Beware of a tuple.")
    read = Assessment(0.95, (PassageAssessment(0.1), PassageAssessment(0.95, (AnswerSpan(0, 18, 0.95),))))
    assert prefer_named_words("tuple", passages, read).readings[0].spans
    assert prefer_named_words("What is a tuple?", passages, read) == read


def test_the_first_chunk_of_the_section_answers() -> None:
    found = assess("What is a tuple?", passage("Tuple", "Later words.", 3), passage("Tuple", TEXT, 2))
    assert [len(reading.spans) for reading in found.readings] == [0, 1]


def test_words_that_the_reader_found_in_the_section_are_kept_and_those_of_others_are_not() -> None:
    found = PassageAssessment(0.6, (AnswerSpan(38, 43, 0.6),))
    read = Assessment(0.3, (PassageAssessment(0.5, (AnswerSpan(0, 5, 0.5),)), found))
    assessed = prefer_named_words("What is a tuple?", [passage("Lists"), passage("Tuple")], read)
    assert [reading.spans for reading in assessed.readings] == [(), (AnswerSpan(38, 43, NAMED_PROBABILITY),)]


def test_words_in_a_list_of_the_section_stand_for_the_whole_list() -> None:
    text = "- bolts\n- cables\n- soles"
    read = Assessment(0.3, (PassageAssessment(0.6, (AnswerSpan(10, 16, 0.6),)),))
    assessed = prefer_named_words("What is in the checklist?", [passage("Checklist", text)], read)
    assert assessed.readings[0].spans == (AnswerSpan(0, len(text), NAMED_PROBABILITY),)


def test_a_section_without_a_whole_first_sentence_does_not_answer() -> None:
    assert assess("What is a tuple?", passage("Tuple", is_cut=True)).probability == 0.05


def test_a_sure_reading_is_kept() -> None:
    found = assess("What is a tuple?", passage("Tuple"), probability=0.95)
    assert found.probability == 0.95
    assert not found.readings[0].spans


def test_the_selection_is_no_section() -> None:
    assert assess("What is a tuple?", passage("Tuple", name=SELECTION_CHUNK_ID)).probability == 0.05


@pytest.mark.parametrize(("found", "start", "is_answered"), [(0.6, 0, True), (0.6, 40, False), (0.4, 0, False)])
def test_a_heading_that_says_more_counts_if_the_reader_found_the_opening_itself(
    found: float, start: int, is_answered: bool
) -> None:
    read = Assessment(0.3, (PassageAssessment(found, (AnswerSpan(start, start + 5, found),)),))
    assessed = prefer_named_words("tuple", [passage("Tuple forms")], read)
    assert assessed.probability == (NAMED_PROBABILITY if is_answered else 0.3)
    assert prefer_named_words("tuple", [passage("Forms")], read).probability == 0.3


CODE_TEXT = "A range is a sequence. For example, range(1,5,2) gives [1,3]. Set use_range to use it."


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what does range(1,5,2) give", "For example, range(1,5,2) gives [1,3]."),
        ("use_range", "Set use_range to use it."),
        ("What is `use_range`?", "Set use_range to use it."),
    ],
)
def test_a_question_that_only_names_code_is_answered_by_the_sentence_that_has_it(question: str, words: str) -> None:
    found = assess(question, passage("Loops", "Nothing."), passage("Loops", CODE_TEXT), probability=0.9)
    span = found.readings[1].spans[0]
    assert (CODE_TEXT[span.start : span.end], found.probability) == (words, 0.9)


@pytest.mark.parametrize("question", ["use_ranges", "What is the default of use_range?", "How do I set use_range?"])
def test_code_that_is_not_mentioned_or_not_all_that_is_asked_for_is_read_as_before(question: str) -> None:
    assert assess(question, passage("Loops", CODE_TEXT)).probability == 0.05


def test_a_section_with_the_name_of_the_code_is_preferred_to_a_mention() -> None:
    found = assess("use_range", passage("Loops", CODE_TEXT), passage("use_range"))
    assert [len(reading.spans) for reading in found.readings] == [0, 1]
