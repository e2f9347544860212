"""Evidence quotes are found in the index."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question
from bookbound.domain.reply import Answer
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.quote_locations import FileSpan, QuoteLocator

GREASE = "Grease it every 500 hours."


def make_question(file: str, quote: str) -> EvaluationQuestion:
    return EvaluationQuestion(7, "q", "?", True, "fact", (EvidenceQuote(file, quote),))


def find_quote(runner: asyncio.Runner, pipeline: Pipeline, source: Path, file: str, quote: str) -> list[str]:
    """The source text at each place of a quote."""
    (spans,) = runner.run(QuoteLocator(pipeline.book.index).locate(make_question(file, quote)))
    text = (source / file).read_text(encoding="utf-8")
    return [text[start:end] for _, start, end in spans]


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("It consists of a `wave generator`, a *flexspline*", "It consists of a `wave generator`, a *flexspline"),
        ("it consists of a\nwave   generator, a flexspline", "It consists of a `wave generator`, a *flexspline"),
        ("speed of a [motor](https://x.example/motor) by", 'speed of a [motor](https://x.example/motor "A motor") by'),
        ("and a circular spline.[^parts]", "and a circular spline"),
        ("| Elbow | 120 to 1 |", "Elbow | 120 to 1"),
        ("| Elbow | 120 to 1 |\n| Wrist | 50 to 1 |", "Elbow | 120 to 1 |\n| Wrist | 50 to 1"),
        ("## Ratios\n\n| Joint | Ratio |", "Joint | Ratio"),
        ("spline.\n\n## Ratios\n\n| Joint |", "spline.[^parts]\n\n## Ratios\n\n| Joint"),
        ("The wrist is |very| light. Grease it every 500 hours", "The wrist is light. Grease it every 500 hours"),
    ],
)
def test_a_quote_is_found_regardless_of_markup(
    runner: asyncio.Runner, pipeline: Pipeline, source: Path, quote: str, expected: str
) -> None:
    assert find_quote(runner, pipeline, source, "drives.md", quote) == [expected]


def test_a_repeated_quote_is_found_at_each_place(runner: asyncio.Runner, pipeline: Pipeline, source: Path) -> None:
    assert find_quote(runner, pipeline, source, "gaits.md", GREASE) == [GREASE[:-1]] * 2


@pytest.mark.parametrize(
    ("file", "quote", "field"),
    [
        ("nowhere.md", "A trot", "file"),
        ("gaits.md", "A gallop has a phase of flight.", "quote"),
        ("gaits.md", "legs pace trot side diagonal", "quote"),
        ("gaits.md", "***", "quote"),
        ("gaits.md", "Gaits", "quote"),
    ],
)
def test_evidence_that_is_not_in_the_book_is_an_error_with_line_and_field(
    runner: asyncio.Runner, pipeline: Pipeline, file: str, quote: str, field: str
) -> None:
    with pytest.raises(InvalidInputError, match=rf"^Line 7 of the question set: `evidence\[0\]\.{field}` "):
        runner.run(QuoteLocator(pipeline.book.index).locate(make_question(file, quote)))


def test_spans_overlap_within_one_file() -> None:
    span = FileSpan("a.md", 10, 20)
    assert [span.overlap(FileSpan("a.md", *ends)) for ends in ((0, 10), (0, 11), (12, 14), (15, 99), (20, 30))] == [
        0,
        1,
        2,
        5,
        0,
    ]
    assert span.overlap(FileSpan("b.md", 10, 20)) == 0


def test_a_verbatim_citation_matches_the_index_in_text_offsets_and_place(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    reply = runner.run(pipeline.ask(Question("What does a harmonic drive consist of?")))
    assert isinstance(reply, Answer)
    (citation, *_) = reply.citations
    place = citation.place
    altered = [
        replace(citation, text=citation.text + "!"),
        replace(citation, text="", start=0, end=0),
        replace(citation, start=citation.start + 1),
        replace(citation, chunk_id="another"),
        replace(citation, place=replace(place, start=place.start + 1)),
        replace(citation, place=replace(place, file="gaits.md")),
    ]
    locator = QuoteLocator(pipeline.book.index)
    assert runner.run(locator.is_verbatim(citation))
    assert [runner.run(locator.is_verbatim(each)) for each in altered] == [False] * len(altered)
