"""Finds where the evidence quotes of a question set are in the index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bookbound.answering.selection import iterate_page_texts
from bookbound.answering.writers.quotes.neighbour_chunks import join_chunk
from bookbound.domain.chunk import Chunk
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import Index
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote, build_line_error

_WORD = re.compile(r"[^\W_]+")
# For an inexact match, such as of a quote whose markup the reader of the source drops.
MIN_MATCHED_WORD_SHARE = 0.75  # of the quote's words, in order
MAX_MATCH_LENGTH_RATIO = 1.5  # of the match to the quote, so that words far apart are no match
HIDDEN_MARKUP = re.compile(
    r"<!--.*?-->|\{/\*.*?\*/\}"  # comments
    r"|\]\([^()]*(?:\([^()]*\)[^()]*)*\)|\]\[[^\]]*\]|\[\^[^\]\s]+\]"  # link targets and footnote marks
    r"|<[^<>]*>_?_?|:[\w:+-]+:(?=`)"  # tags, and the roles and targets of reStructuredText
    r"|&\w+;|\{#[\w-]+\}|(?m:^\s*(?:```|~~~|:::|\.\. )[^\n]*$)",  # entities, anchors, the lines around a block
    re.DOTALL,
)
"""Markup whose letters a reader does not see."""


class FileSpan(NamedTuple):
    """Characters `start` to `end` of a source file."""

    file: str
    start: int
    end: int

    def overlap(self, other: FileSpan) -> int:
        """The number of common characters."""
        return max(0, min(self.end, other.end) - max(self.start, other.start)) if self.file == other.file else 0


QuoteSpans = tuple[FileSpan, ...]
"""Every place of a quote; if a file repeats it, a citation of any place counts."""


class QuoteLocator:
    """Finds quotes and checks citations in an index; each file is read once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._texts: dict[str, _IndexedText] = {}

    async def locate(self, item: EvaluationQuestion) -> list[QuoteSpans]:
        """The places of each evidence quote of a question; a quote that is not found is an error."""
        located = []
        for number, quote in enumerate(item.evidence):
            text = await self._read(quote.file)
            if not text.chunks:
                raise build_line_error(item.line, f"`evidence[{number}].file` is not in this book.")
            spans = tuple(text.find(quote))
            if not spans:
                raise build_line_error(item.line, f"`evidence[{number}].quote` is not in its file of this book.")
            located.append(spans)
        return located

    async def is_verbatim(self, citation: Evidence) -> bool:
        """Whether the index has the words of a citation at its offsets, and these belong to its place.

        The chunk of a citation may be joined with the neighbours in which it goes on.
        """
        place, ends = citation.place, (citation.start, citation.end)
        chunks = (await self._read(place.file)).chunks
        chunk = chunks.get(citation.chunk_id)
        if chunk is None or not citation.text:
            return False
        joined, _ = join_chunk(chunk, [*chunks.values()])
        return any(
            each.text[slice(*ends)] == citation.text and each.source_span(*ends) == (place.start, place.end)
            for each in (chunk, joined)
        )

    async def _read(self, file: str) -> _IndexedText:
        if file not in self._texts:
            self._texts[file] = _IndexedText(await self._index.chunks(file))
        return self._texts[file]


class _IndexedText:
    """A file as its chunks and headings have it: its words, and for each letter the chunk and offset."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self._sources: list[tuple[Chunk, int] | None] = []
        self._words: list[str] = []
        self._word_ends: list[tuple[int, int]] = []
        for text, chunk in iterate_page_texts(chunks):
            for word in _split_words(text):
                self._words.append("".join(letter for _, letter in word))
                self._word_ends.append((len(self._sources), len(self._sources) + len(word)))
                self._sources += [(chunk, i) if chunk else None for i, _ in word]
        self._letters = "".join(self._words)

    def find(self, quote: EvidenceQuote) -> Iterator[FileSpan]:
        """Every place with the letters of a quote, with or without markup; else the place of most of its words."""
        visible = HIDDEN_MARKUP.sub(" ", quote.text)
        matches = [*self._find_exactly(quote.text)] or [*self._find_exactly(visible)] or [*self._find_nearly(visible)]
        for start, end in matches:
            if sources := [source for source in self._sources[start:end] if source]:
                (first, i), (last, j) = sources[0], sources[-1]
                yield FileSpan(quote.file, first.source_span(i, i + 1)[0], last.source_span(j, j + 1)[1])

    def _find_exactly(self, quote: str) -> Iterator[tuple[int, int]]:
        letters = "".join(letter for word in _split_words(quote) for _, letter in word)
        start = self._letters.find(letters) if letters else -1
        while start >= 0:
            yield start, start + len(letters)
            start = self._letters.find(letters, start + 1)

    def _find_nearly(self, quote: str) -> Iterator[tuple[int, int]]:
        words = ["".join(letter for _, letter in word) for word in _split_words(quote)]
        matcher = SequenceMatcher(None, words, self._words, autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        if not blocks or sum(block.size for block in blocks) < MIN_MATCHED_WORD_SHARE * len(words):
            return
        first, end = blocks[0].b, blocks[-1].b + blocks[-1].size
        if end - first <= MAX_MATCH_LENGTH_RATIO * len(words):
            yield self._word_ends[first][0], self._word_ends[end - 1][1]


def _split_words(text: str) -> Iterator[list[tuple[int, str]]]:
    """The words of a text as lower-case letters with their offsets."""
    for word in _WORD.finditer(text):
        letters = [(word.start() + i, letter.lower()) for i, letter in enumerate(word[0])]
        if single := [(i, lower) for i, lower in letters if len(lower) == 1]:
            yield single
