"""A table, list, code or paragraph that has every word of the question answers it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.answering.reading.covering_block import prefer_comparison_table, prefer_covering_block
from bookbound.answering.reading.named_section import NAMED_PROBABILITY
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

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
Assess = Callable[[str, str, str], Assessment]


@pytest.fixture
def assess(tmp_path: Path) -> Assess:
    """Assesses a question on a page in which the reader found some words and was not sure."""

    def assess(page: str, question: str, words: str, reading: float = 0.3, probability: float = 0.2) -> Assessment:
        (tmp_path / "a.md").write_text(page)
        (chunk,) = split_page(parse_book(tmp_path).pages[0], lambda text: len(text.split()), 400)
        span = AnswerSpan(start := chunk.text.index(words), start + len(words), reading)
        read = Assessment(probability, (PassageAssessment(reading, (span,)),))
        return prefer_covering_block(question, [Passage(chunk, 0.6)], read)

    return assess


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
def test_a_block_with_every_word_of_the_question_answers(assess: Assess, page: str, question: str, words: str) -> None:
    found = assess(page, question, words)
    assert found.probability == found.readings[0].probability == NAMED_PROBABILITY
    (span,) = found.readings[0].spans
    assert span.probability == pytest.approx(NAMED_PROBABILITY)


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
def test_another_question_is_read_as_before(assess: Assess, page: str, question: str, words: str) -> None:
    assert assess(page, question, words).probability == 0.2


def test_the_block_with_more_words_of_its_own_answers(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# While loops\n\nPrint it:\n\n```\nprint(one)\n```\n\nLoop:\n\n```\nwhile one: print(one)\n```\n"
    )
    (chunk,) = split_page(parse_book(tmp_path).pages[0], lambda text: len(text.split()), 400)
    spans = tuple(
        _mark(chunk, words, chance) for words, chance in (("print(one)", 0.2), ("while one: print(one)", 0.1))
    )
    read = Assessment(0.2, (PassageAssessment(0.3, spans),))
    found = prefer_covering_block("print one with a while loop", [Passage(chunk, 0.6)], read)
    (span,) = found.readings[0].spans
    assert chunk.text[span.start : span.end] == "while one: print(one)"


def _mark(chunk: Chunk, words: str, chance: float) -> AnswerSpan:
    return AnswerSpan(start := chunk.text.index(words), start + len(words), chance)


COMPARED = """# Gears

| | Strain wave | Quasi-direct drive |
|---|---|---|
| Ratio | 100:1 | 6:1 |
"""


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("strain wave gear vs quasi-direct drive", True),
        ("What is the difference between a strain wave and a quasi-direct drive?", True),
        ("strain wave gear vs planetary gear", False),
        ("What is the ratio of a strain wave gear?", False),
    ],
)
def test_a_table_with_a_column_for_each_side_answers_a_comparison(
    tmp_path: Path, question: str, is_answered: bool
) -> None:
    (tmp_path / "a.md").write_text(COMPARED)
    (chunk,) = split_page(parse_book(tmp_path).pages[0], lambda text: len(text.split()), 400)
    read = Assessment(0.2, (PassageAssessment(0.1),))
    found = prefer_comparison_table(question, [Passage(chunk, 0.6)], read)
    assert (found != read) == is_answered
    if is_answered:
        (span,) = found.readings[0].spans
        assert (found.probability, chunk.text[span.start : span.end].count("\n")) == (NAMED_PROBABILITY, 1)


def test_a_column_that_both_sides_share_compares_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Docs\n\n| Path | Version |\n|---|---|\n| a | 1 |\n")
    (chunk,) = split_page(parse_book(tmp_path).pages[0], lambda text: len(text.split()), 400)
    read = Assessment(0.2, (PassageAssessment(0.1),))
    assert prefer_comparison_table("current version vs latest version", [Passage(chunk, 0.6)], read) is read
