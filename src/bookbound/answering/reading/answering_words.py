"""Finds words that answer by their place in the book: under the name that is asked for, or among all terms asked for.

What is found is a feature of the decision, and the words that are quoted. It never decides by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from bookbound.domain.chunk import Chunk, ChunkLayout, Passage, QuotableUnit
from bookbound.domain.judgement import AnswerSpan, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID, AskedName, QuestionPart
from bookbound.text import extract_terms, is_exercise

WordsFeature = Literal["named", "covered"]
WORDS_FEATURES: tuple[WordsFeature, ...] = ("named", "covered")
# From this probability on, the reader's own words are kept.
SURE_PROBABILITY = 0.8
# How probable the reading of a section must be whose heading says more than the name.
MIN_SECTION_READING = 0.5
# How probable the reading of a block's passage must be, also relative to the best one.
MIN_BLOCK_READING = 0.1
MIN_SHARE_OF_BEST = 0.9
# A block that has the only term of a question may be about anything.
MIN_COVERED_TERMS = 2


class AnsweringWords(NamedTuple):
    """Spans of the passage with this number that answer, and the reason why they do."""

    feature: WordsFeature
    passage: int
    spans: tuple[AnswerSpan, ...]

    def apply(self, readings: Sequence[PassageAssessment], probability: float) -> tuple[PassageAssessment, ...]:
        """Returns readings with these words alone, because others are about something else."""
        changed = [PassageAssessment(reading.probability) for reading in readings]
        scale = probability / self.spans[0].probability
        spans = tuple(AnswerSpan(span.start, span.end, span.probability * scale) for span in self.spans)
        changed[self.passage] = PassageAssessment(max(changed[self.passage].probability, probability), spans)
        return tuple(changed)


def find_answering_words(
    part: QuestionPart, passages: Sequence[Passage], readings: Sequence[PassageAssessment], *, is_sure: bool
) -> AnsweringWords | None:
    """Returns the words that answer by their place; of a sure reading only if they are more than it can have found."""
    return (
        _find_comparison_table(part.sides, passages)
        or (_find_named_words(part.name, passages, readings, is_sure) if part.name else None)
        or (None if is_sure else _find_covering_block(part.content_terms, passages, readings))
    )


def _find_named_words(
    name: AskedName, passages: Sequence[Passage], readings: Sequence[PassageAssessment], is_sure: bool
) -> AnsweringWords | None:
    """Returns the words about the only name that a question has.

    "What is a tuple?" is answered by the opening of the section "Tuples", whatever its first words are, "What options
    does start have?" by the list or table in the section "Options" below "start", and "use_sim_time" by the sentence
    that has this name.
    """
    if found := _find_in_section(name, passages, readings):
        # The list of what something has is complete; a surer reading may be of one example. A mere keyword asks for the
        # section that has its name, and not for a sentence elsewhere that mentions it.
        is_keyword = name.is_keyword and _is_named(passages[found.passage].chunk, name.terms)
        return found if not is_sure or name.asks_for_list or is_keyword else None
    return _find_mention(name.text, passages, readings) if name.is_code else None


def _find_in_section(
    name: AskedName, passages: Sequence[Passage], readings: Sequence[PassageAssessment]
) -> AnsweringWords | None:
    """Returns the words of the section that has this name: those that the reader found, or else its opening.

    The headings above the section may have a part of the name. If its own heading says more than the name, the reader
    must have found the opening of the section itself.
    """
    best = max(range(len(passages)), key=lambda at: readings[at].probability)
    chunk, reading = passages[best].chunk, readings[best]
    opening = _find_opening(chunk)
    is_found = reading.probability >= MIN_SECTION_READING and bool(reading.spans)
    if is_found and name.terms < _heading_terms(chunk) and opening and _contains(opening, reading):
        return _mark("named", best, opening.start, opening.end)
    named = [at for at, passage in enumerate(passages) if _is_named(passage.chunk, name.terms)]
    if is_found and best in named and not name.asks_for_list:
        return _mark("named", best, *_find_run(chunk, reading.spans[0].start, reading.spans[0].end))
    at = min(named, key=lambda at: passages[at].chunk.position, default=None)
    if at is None:
        return None
    chunk, kinds = passages[at].chunk, ("row", "item") if name.asks_for_list else ("sentence",)
    opening = _find_opening(chunk, kinds) or _find_opening(chunk, ("item", "row"))
    return _mark("named", at, *_find_run(chunk, opening.start, opening.end)) if opening else None


def _mark(feature: WordsFeature, passage: int, start: int, end: int) -> AnsweringWords:
    return AnsweringWords(feature, passage, (AnswerSpan(start, end, 1.0),))


def _find_run(chunk: Chunk, start: int, end: int) -> tuple[int, int]:
    """Returns the whole list or table in which words begin, because the question names it, or the words."""
    for kind, run in groupby(chunk.units, lambda unit: unit.kind):
        units = list(run)
        if kind in ("item", "row") and units[0].start <= start < units[-1].end:
            return units[0].start, units[-1].end
    return start, end


def _find_mention(
    name: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]
) -> AnsweringWords | None:
    """Returns the sentence that has this name, from the most probable passage that has one."""
    mention = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    for at in sorted(range(len(passages)), key=lambda at: -readings[at].probability):
        chunk = passages[at].chunk
        stated = [unit for unit in chunk.units if unit.kind in ("sentence", "item", "row")]
        if units := [unit for unit in stated if mention.search(chunk.text, unit.start, unit.end)]:
            chosen = next((unit for unit in units if _contains(unit, readings[at])), units[0])
            return _mark("named", at, chosen.start, chosen.end)
    return None


def _contains(unit: QuotableUnit, reading: PassageAssessment) -> bool:
    """Returns whether the likeliest words of a reading begin in a unit."""
    return bool(reading.spans) and unit.start <= reading.spans[0].start < unit.end


def _is_named(chunk: Chunk, name: frozenset[str]) -> bool:
    own = _heading_terms(chunk)
    return bool(own) and own <= name <= own.union(extract_terms(" ".join(chunk.place.heading_path)))


def _heading_terms(chunk: Chunk) -> frozenset[str]:
    return frozenset(extract_terms(chunk.place.section)) if chunk.id != SELECTION_CHUNK_ID else frozenset()


def _find_opening(chunk: Chunk, kinds: Sequence[str] = ("sentence",)) -> QuotableUnit | None:
    """Returns the first sentence of a chunk, or its first unit of other kinds, unless it begins before the chunk."""
    first = next((unit for unit in chunk.units if unit.kind in kinds and unit.end - unit.start > 1), None)
    return None if first is None or (chunk.cut_start and first == chunk.units[0]) else first


def _find_covering_block(
    asked: frozenset[str], passages: Sequence[Passage], readings: Sequence[PassageAssessment]
) -> AnsweringWords | None:
    """Returns the likeliest words in the table, list, code or paragraph that has every term of the question.

    The section, the sentence before the block and its column names count as words of the block.
    """
    best = max((reading.probability for reading in readings), default=0.0)
    if best < MIN_BLOCK_READING or len(asked) < MIN_COVERED_TERMS:
        return None
    found = [
        (len(asked & own), -at, spans)
        for at, (passage, reading) in enumerate(zip(passages, readings, strict=True))
        if reading.probability >= MIN_SHARE_OF_BEST * best and not is_exercise(passage.chunk)
        for spans, own, section in _find_blocks_with_words(passage, reading)
        if asked <= own | section
    ]
    # A section names what all of its blocks are about, so the words of a block itself say more.
    count, at, spans = max(found, key=lambda each: each[:2], default=(0, 0, ()))
    return AnsweringWords("covered", -at, spans) if count else None


def _find_blocks_with_words(
    passage: Passage, reading: PassageAssessment
) -> Iterator[tuple[tuple[AnswerSpan, ...], frozenset[str], frozenset[str]]]:
    """Yields the likely words in each block, the terms of the block with the sentence before it, and of its section."""
    layout = ChunkLayout(passage.chunk)
    section = frozenset(extract_terms(" ".join(passage.chunk.place.heading_path[-2:])))
    for block in _find_blocks(layout):
        first, last = layout.units[block[0]], layout.units[block[-1]]
        if spans := tuple(span for span in reading.spans if first.start < span.end and span.start < last.end):
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


def _collect_terms(layout: ChunkLayout, block: range) -> frozenset[str]:
    """Returns the terms of a block, and of the sentence and the labels before it."""
    before = block.start - 1
    while before > 0 and layout.is_label(before):
        before -= 1
    first = before if layout.kind(before) == "sentence" else block.start
    words = (layout.words(at) for at in range(first, block.stop))
    return frozenset(extract_terms(" ".join(words)))


def _find_comparison_table(sides: Sequence[frozenset[str]], passages: Sequence[Passage]) -> AnsweringWords | None:
    """Returns the table that has a column for each side of a comparison."""
    common = frozenset.intersection(*sides) if sides else frozenset()
    for at, passage in enumerate(passages if sides else ()):
        layout = ChunkLayout(passage.chunk)
        for row in filter(layout.names_columns, range(len(layout))):
            columns = [frozenset(extract_terms(cell)) for cell in passage.chunk.split_row(layout.units[row])]
            # The name of a column may be shorter than that of the side that it is about.
            names = [column - common for column in columns]
            if all(
                any(name and name <= side and 2 * len(name) >= len(side - common) for name in names) for side in sides
            ):
                return _mark("covered", at, layout.units[row].start, layout.units[layout.table(row)[-1]].end)
    return None
