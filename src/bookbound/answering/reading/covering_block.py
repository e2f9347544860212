"""Finds the table, list, code or paragraph that answers by its words alone, where the readers are not sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bookbound.answering.reading.named_section import NAMED_PROBABILITY
from bookbound.answering.reading.question_parts import split_comparison
from bookbound.domain.chunk import Passage
from bookbound.domain.chunk_layout import ChunkLayout
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.text.exercises import is_exercise
from bookbound.text.tokens import extract_terms

MIN_READING, MIN_SHARE_OF_BEST, MIN_TERMS = 0.1, 0.9, 2
"""How probable the reading of the block's passage must be, also relative to the best one, and how much is asked."""
_WORDS_FOR_FORM = frozenset(extract_terms("example examples sample list table checklist code snippet give"))
"""Words that ask for a form; the block has it."""


def prefer_covering_block(question: str, passages: Sequence[Passage], assessment: Assessment) -> Assessment:
    """Returns the assessment, surer if the likeliest words are in a block that has every term of the question.

    The section, the sentence before the block and its column names count as words of the block.
    """
    best = max((reading.probability for reading in assessment.readings), default=0.0)
    asked = frozenset(extract_terms(question)) - _WORDS_FOR_FORM
    if assessment.probability >= NAMED_PROBABILITY or best < MIN_READING or len(asked) < MIN_TERMS:
        return assessment
    found = [
        (len(asked & own), -at, spans)
        for at, (passage, reading) in enumerate(zip(passages, assessment.readings, strict=True))
        if reading.probability >= MIN_SHARE_OF_BEST * best and not is_exercise(passage.chunk)
        for spans, own, section in _find_blocks_with_words(passage, reading)
        if asked <= own | section
    ]
    # A section names what all of its blocks are about, so the words of a block itself say more.
    count, at, spans = max(found, key=lambda each: each[:2], default=(0, 0, ()))
    return _answer_with(-at, spans, assessment) if count else assessment


def prefer_comparison_table(question: str, passages: Sequence[Passage], assessment: Assessment) -> Assessment:
    """Returns the assessment with the table alone that has a column for each side of a comparison, if there is one."""
    sides = [frozenset(extract_terms(side)) for side in split_comparison(" ".join(question.split()))]
    common = frozenset.intersection(*sides) if sides else frozenset()
    for at, passage in enumerate(passages if sides else ()):
        layout = ChunkLayout(passage.chunk)
        for row in filter(layout.names_columns, range(len(layout))):
            columns = [frozenset(extract_terms(cell)) for cell in passage.chunk.split_row(layout.units[row])]
            if all(any(_names_side(column - common, side - common) for column in columns) for side in sides):
                first, last = (layout.units[unit] for unit in (row, layout.table(row)[-1]))
                return _answer_with(at, (AnswerSpan(first.start, last.end, NAMED_PROBABILITY),), assessment)
    return assessment


def _names_side(column: frozenset[str], side: frozenset[str]) -> bool:
    """Returns whether a column is about one side of a comparison; its name may be shorter."""
    return bool(column) and column <= side and 2 * len(column) >= len(side)


def _find_blocks_with_words(
    passage: Passage, reading: PassageAssessment
) -> Iterator[tuple[tuple[AnswerSpan, ...], frozenset[str], frozenset[str]]]:
    """Yields the likely words in each block, the terms of the block with the sentence before it, and of its section."""
    layout = ChunkLayout(passage.chunk)
    section = frozenset(extract_terms(" ".join(passage.chunk.place.heading_path[-2:])))
    for block in _find_blocks(layout):
        if spans := tuple(span for span in reading.spans if _is_in_block(span, layout, block)):
            yield spans, _collect_terms(layout, block), section


def _find_blocks(layout: ChunkLayout) -> Iterator[range]:
    """Yields the tables, lists, code and paragraphs of a chunk."""
    at = 0
    while at < len(layout):
        match layout.kind(at):
            case "row":
                block = layout.table(at)
            case "item":
                block = layout.listed(at)
            case "code":
                block = range(at, at + 1)
            case "sentence":
                rest = range(at, layout.block(at).stop)
                block = range(at, next((other for other in rest if layout.kind(other) != "sentence"), rest.stop))
            case _:
                block = range(0)
        if block:
            yield block
        at = max(block.stop, at + 1)


def _is_in_block(span: AnswerSpan, layout: ChunkLayout, block: range) -> bool:
    return layout.units[block[0]].start < span.end and span.start < layout.units[block[-1]].end


def _collect_terms(layout: ChunkLayout, block: range) -> frozenset[str]:
    """Returns the terms of a block, and of the sentence and the labels before it."""
    before = block.start - 1
    while before > 0 and layout.is_label(before):
        before -= 1
    first = before if layout.kind(before) == "sentence" else block.start
    words = (layout.words(at) for at in range(first, block.stop))
    return frozenset(extract_terms(" ".join(words)))


def _answer_with(at: int, spans: tuple[AnswerSpan, ...], assessment: Assessment) -> Assessment:
    """Returns the assessment with these words alone, because others are about something else."""
    readings = [PassageAssessment(reading.probability) for reading in assessment.readings]
    scale = NAMED_PROBABILITY / spans[0].probability
    surer = tuple(replace(span, probability=span.probability * scale) for span in spans)
    readings[at] = PassageAssessment(max(readings[at].probability, NAMED_PROBABILITY), surer)
    return replace(assessment, probability=NAMED_PROBABILITY, readings=tuple(readings))
