"""Words that answer by their place: under the name that is asked for, or in a block with all terms asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.answering.reading.answering_words import AnsweringWords, find_answering_words
from bookbound.answering.understanding import understand
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.judgement import AnswerSpan, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID, Question
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book
from bookbound.text import split_sentences

TEXT = "Tuples hold together several objects. They cannot be changed."
UNSURE = PassageAssessment(0.05)


def passage(section: str, text: str = TEXT, position: int = 0, name: str = "", *, is_cut: bool = False) -> Passage:
    place = Place("a.md", "/a", "Data", "Data", (section,), "a", 0, len(text))
    units = tuple(split_sentences(text))
    chunk = Chunk(name or f"{section}-{position}", text, place, position, units=units, cut_start=is_cut)
    return Passage(chunk, 0.5)


def find(
    question: str, *passages: Passage, readings: tuple[PassageAssessment, ...] = (), is_sure: bool = False
) -> AnsweringWords | None:
    (part, *_) = understand(Question(question)).parts
    return find_answering_words(part, passages, readings or (UNSURE,) * len(passages), is_sure=is_sure)


def find_text(question: str, *passages: Passage, is_sure: bool = False) -> tuple[int, str] | None:
    found = find(question, *passages, is_sure=is_sure)
    if found is None:
        return None
    (span,) = found.spans
    return found.passage, passages[found.passage].chunk.text[span.start : span.end]


@pytest.mark.parametrize(
    "question",
    ["What is a tuple?", "tuple", "Tuples", "explain tuples", "What are tuples?", "define tuple", "what's a tuple"],
)
def test_a_question_that_only_names_a_section_is_answered_by_its_first_sentence(question: str) -> None:
    assert find_text(question, passage("Lists"), passage("Tuple")) == (1, "Tuples hold together several objects.")


@pytest.mark.parametrize(
    "question",
    ["How is a tuple changed?", "What is the length of a tuple?", "Why tuples?", "Which tuple?", "What is it?", "???"],
)
def test_a_question_that_asks_for_more_than_the_section_has_no_words_by_place(question: str) -> None:
    assert find(question, passage("Tuple")) is None


def test_a_question_what_something_has_is_answered_by_the_list_in_the_section_below_it() -> None:
    text = "The command is fast.\n\n- `--port`\n- `--host`"
    place = Place("a.md", "/a", "Commands", "Commands", ("serve", "Options"), "a", 0, len(text))
    options = Passage(Chunk("options", text, place, 0, units=tuple(split_sentences(text))), 0.5)
    whole = "- `--port`\n- `--host`"
    assert find_text("Which options does serve have?", passage("Options"), options) == (1, whole)
    assert find("Which options does build have?", options) is None
    assert find_text("Which options does serve have?", options, is_sure=True) == (0, whole)


def test_a_list_that_a_request_names_after_its_reason_is_found_in_a_section_without_sentences() -> None:
    text = "- Bolts are tight.\n- The battery is full."
    place = Place("a.md", "/a", "Safety", "Safety", ("Pre-flight checklist",), "a", 0, len(text))
    checklist = Passage(Chunk("checklist", text, place, 0, units=tuple(split_sentences(text))), 0.5)
    asked = "What do I do before I start? I need the pre-flight checklist"
    assert find_text(asked, passage("Tuple"), checklist) == (1, text)
    assert find(asked.replace("need", "like"), checklist) is None


def test_of_a_sure_reading_only_a_keyword_is_answered_by_the_section_with_its_name() -> None:
    passages = passage("Tuple"), passage("Caveat", "Beware of a tuple.")
    assert find("tuple", *passages, is_sure=True)
    assert find("What is a tuple?", *passages, is_sure=True) is None


def test_the_first_chunk_of_the_section_answers() -> None:
    found = find("What is a tuple?", passage("Tuple", "Later words.", 3), passage("Tuple", TEXT, 2))
    assert found is not None
    assert (found.feature, found.passage) == ("named", 1)


def test_words_that_the_reader_found_in_the_section_are_kept() -> None:
    read = PassageAssessment(0.5, (AnswerSpan(0, 5, 0.5),)), PassageAssessment(0.6, (AnswerSpan(38, 43, 0.6),))
    found = find("What is a tuple?", passage("Lists"), passage("Tuple"), readings=read)
    assert found is not None
    assert (found.passage, found.spans[0].start, found.spans[0].end) == (1, 38, 43)


def test_words_in_a_list_of_the_section_are_the_whole_list() -> None:
    text = "- bolts\n- cables\n- soles"
    read = (PassageAssessment(0.6, (AnswerSpan(10, 16, 0.6),)),)
    found = find("What is in the checklist?", passage("Checklist", text), readings=read)
    assert found is not None
    assert (found.spans[0].start, found.spans[0].end) == (0, len(text))


def test_a_section_without_a_whole_first_sentence_does_not_answer() -> None:
    assert find("What is a tuple?", passage("Tuple", is_cut=True)) is None


def test_the_selection_is_no_section() -> None:
    assert find("What is a tuple?", passage("Tuple", name=SELECTION_CHUNK_ID)) is None


@pytest.mark.parametrize(("reading", "start", "is_found"), [(0.6, 0, True), (0.6, 40, False), (0.4, 0, False)])
def test_a_heading_that_says_more_counts_if_the_reader_found_the_opening_itself(
    reading: float, start: int, is_found: bool
) -> None:
    read = (PassageAssessment(reading, (AnswerSpan(start, start + 5, reading),)),)
    assert bool(find("tuple", passage("Tuple forms"), readings=read)) is is_found
    assert find("tuple", passage("Forms"), readings=read) is None


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
    passages = passage("Loops", "Nothing."), passage("Loops", CODE_TEXT)
    assert find_text(question, *passages, is_sure=True) == (1, words)


@pytest.mark.parametrize("question", ["use_ranges", "What is the default of use_range?", "How do I set use_range?"])
def test_code_that_is_not_mentioned_or_not_all_that_is_asked_for_has_no_words_by_place(question: str) -> None:
    assert find(question, passage("Loops", CODE_TEXT)) is None


def test_a_section_with_the_name_of_the_code_is_preferred_to_a_mention() -> None:
    found = find("use_range", passage("Loops", CODE_TEXT), passage("use_range"))
    assert found is not None
    assert (found.feature, found.passage) == ("named", 1)


TABLE = """# Bitmasks

Each entity needs a number.

| entity | category | bitmask |
|---|---|---|
| sun | 0000 | 0000 |
| player | 0001 | 1110 |
"""
CODE = """# Sequence

You can give a third argument for the slice, which is the step:

```python
shoplist[::2]
```

Steps may be negative.
"""
LIST = """# Command line

The sections below are about the commands:

- mdbook init
- mdbook build
"""
FindInPage = Callable[[str, str, str], AnsweringWords | None]


def split(folder: Path, page: str) -> Chunk:
    (folder / "a.md").write_text(page)
    (chunk,) = split_page(parse_book(folder).pages[0], lambda text: len(text.split()), 400)
    return chunk


@pytest.fixture
def find_in_page(tmp_path: Path) -> FindInPage:
    """Finds words on a page in which the reader found some words and was not sure."""

    def find_words(page: str, question: str, words: str) -> AnsweringWords | None:
        chunk = split(tmp_path, page)
        span = AnswerSpan(start := chunk.text.index(words), start + len(words), 0.3)
        return find(question, Passage(chunk, 0.6), readings=(PassageAssessment(0.3, (span,)),))

    return find_words


@pytest.mark.parametrize(
    ("page", "question", "words"),
    [
        (TABLE, "which category and bitmask does each entity get?", "sun"),
        (CODE, "example of slicing with a step", "shoplist"),
        (LIST, "which commands does mdbook have?", "mdbook init"),
        (CODE, "may steps be negative?", "Steps"),
    ],
    ids=["table", "code", "list", "paragraph"],
)
def test_a_block_with_every_word_of_the_question_answers(
    find_in_page: FindInPage, page: str, question: str, words: str
) -> None:
    found = find_in_page(page, question, words)
    assert found is not None
    assert found.feature == "covered"


@pytest.mark.parametrize(
    ("page", "question", "words"),
    [
        (TABLE, "which category and colour does each entity get?", "sun"),
        (TABLE, "which category and bitmask does each entity get?", "needs"),
        (TABLE, "bitmask", "sun"),
        (CODE.replace("Sequence", "Exercises"), "example of slicing with a step", "shoplist"),
    ],
    ids=["a word is missing", "the words are elsewhere", "one word", "an exercise"],
)
def test_another_block_does_not_cover_the_question(
    find_in_page: FindInPage, page: str, question: str, words: str
) -> None:
    found = find_in_page(page, question, words)
    assert found is None or found.feature != "covered"


def test_the_block_with_more_words_of_its_own_answers(tmp_path: Path) -> None:
    chunk = split(
        tmp_path,
        "# While loops\n\nPrint it:\n\n```\nprint(one)\n```\n\nLoop:\n\n```\nwhile one: print(one)\n```\n",
    )
    spans = [
        AnswerSpan(start := chunk.text.index(words), start + len(words), chance)
        for words, chance in (("print(one)", 0.2), ("while one: print(one)", 0.1))
    ]
    read = (PassageAssessment(0.3, tuple(spans)),)
    found = find("print one with a while loop", Passage(chunk, 0.6), readings=read)
    assert found is not None
    (span,) = found.spans
    assert chunk.text[span.start : span.end] == "while one: print(one)"


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("strain wave gear vs quasi-direct drive", True),
        ("What is the difference between a strain wave and a quasi-direct drive?", True),
        ("strain wave gear vs planetary gear", False),
        ("What is the ratio of a strain wave gear?", False),
    ],
)
def test_a_table_with_a_column_for_each_side_answers_a_comparison(
    tmp_path: Path, question: str, is_found: bool
) -> None:
    page = "# Gears\n\n| | Strain wave | Quasi-direct drive |\n|---|---|---|\n| Ratio | 100:1 | 6:1 |\n"
    chunk = split(tmp_path, page)
    found = find(question, Passage(chunk, 0.6), is_sure=True)
    assert (found is not None) == is_found
    if found:
        (span,) = found.spans
        assert (found.feature, chunk.text[span.start : span.end].count("\n")) == ("covered", 1)


def test_a_column_that_both_sides_share_compares_nothing(tmp_path: Path) -> None:
    chunk = split(tmp_path, "# Docs\n\n| Path | Version |\n|---|---|\n| a | 1 |\n")
    assert find("current version vs latest version", Passage(chunk, 0.6)) is None


def test_found_words_stand_alone_with_the_probability_of_the_question() -> None:
    read = PassageAssessment(0.5, (AnswerSpan(0, 5, 0.5),)), PassageAssessment(0.1)
    words = AnsweringWords("covered", 1, (AnswerSpan(2, 4, 0.1), AnswerSpan(6, 8, 0.05)))
    first, second = words.apply(read, 0.6)
    assert (first.probability, first.spans) == (0.5, ())
    assert (second.probability, [span.probability for span in second.spans]) == (0.6, [0.6, 0.3])
