"""Finds where the evidence quotes of a question set are in the index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bookbound.answering.retrieve.selection import iterate_page_texts
from bookbound.domain.chunk import Chunk
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import Index
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote, build_line_error

_WORD = re.compile(r"[^\W_]+")
CharacterSource = tuple[Chunk, int] | None
MIN_MATCHED_WORD_SHARE, MAX_MATCH_LENGTH_RATIO = 0.75, 1.5
"""The share of a quote's words that must stand in order, and how much longer than the quote their stretch may be."""
HIDDEN_MARKUP = re.compile(
    r"<!--.*?-->|\{/\*.*?\*/\}"  # comments
    r"|\]\([^()]*(?:\([^()]*\)[^()]*)*\)|\]\[[^\]]*\]|\[\^[^\]\s]+\]"  # where links lead, and the marks of notes
    r"|<[^<>]*>_?_?|:[\w:+-]+:(?=`)"  # tags, and the roles and targets of reStructuredText
    r"|&\w+;|\{#[\w-]+\}|(?m:^\s*(?:```|~~~|:::|\.\. )[^\n]*$)",  # entities, anchors, the lines around a block
    re.DOTALL,
)
"""Markup whose letters a reader does not see."""


class FileSpan(NamedTuple):
    """Characters `start` to `end` of a file of the source."""

    file: str
    start: int
    end: int

    def shared(self, other: FileSpan) -> int:
        """How many characters both have."""
        return max(0, min(self.end, other.end) - max(self.start, other.start)) if self.file == other.file else 0


QuoteSpans = tuple[FileSpan, ...]
"""Every place where a quote stands: some stand in a file more than once, and each is as good as another."""


class QuoteLocator:
    """Looks quotes and citations up in an index; each file is read once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._texts: dict[str, _IndexedText] = {}

    async def of(self, item: EvaluationQuestion) -> tuple[QuoteSpans, ...]:
        """Where each piece of a question's evidence stands; one that does not is told with its line."""
        return tuple([await self._stands(item.line, i, quote) for i, quote in enumerate(item.evidence)])

    async def is_verbatim(self, citation: Evidence) -> bool:
        """Whether the words of a citation are those of the index at its offsets, and these those of its place."""
        place, ends = citation.place, (citation.start, citation.end)
        chunk = (await self._text(place.file)).chunks.get(citation.chunk_id)
        return (
            chunk is not None
            and bool(citation.text)
            and chunk.text[slice(*ends)] == citation.text
            and chunk.span(*ends) == (place.start, place.end)
        )

    async def _stands(self, line: int, number: int, quote: EvidenceQuote) -> QuoteSpans:
        text = await self._text(quote.file)
        if not text.chunks:
            raise build_line_error(line, f"`evidence[{number}].file` is not in this book.")
        stands = tuple(text.stands(quote))
        if not stands:
            raise build_line_error(line, f"`evidence[{number}].quote` does not stand in its file of this book.")
        return stands

    async def _text(self, file: str) -> _IndexedText:
        if file not in self._texts:
            self._texts[file] = _IndexedText(await self._index.chunks(file))
        return self._texts[file]


class _IndexedText:
    """A file as its chunks have it, with the headings between them: letters, each with where it stands, and words."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self._letters, self._at = "", list[CharacterSource]()
        self._words, self._ends = list[str](), list[tuple[int, int]]()
        for text, chunk in iterate_page_texts(chunks):
            for word in _split_words(text):
                letters = "".join(letter for _, letter in word)
                self._words.append(letters)
                self._ends.append((len(self._at), len(self._at) + len(word)))
                self._at += [(chunk, i) if chunk else None for i, _ in word]
        self._letters = "".join(self._words)

    def stands(self, quote: EvidenceQuote) -> Iterator[FileSpan]:
        """Wherever the letters of a quote stand, as they are or without markup; or else where most of its words do."""
        seen = HIDDEN_MARKUP.sub(" ", quote.text)
        found = [*self._exactly(quote.text)] or [*self._exactly(seen)] or [*self._nearly(seen)]
        for first, after in found:
            if there := [at for at in self._at[first:after] if at]:
                (one, i), (other, j) = there[0], there[-1]
                yield FileSpan(quote.file, one.span(i, i + 1)[0], other.span(j, j + 1)[1])

    def _exactly(self, quote: str) -> Iterator[tuple[int, int]]:
        wanted = "".join(letter for word in _split_words(quote) for _, letter in word)
        at = self._letters.find(wanted) if wanted else -1
        while at >= 0:
            yield at, at + len(wanted)
            at = self._letters.find(wanted, at + 1)

    def _nearly(self, quote: str) -> Iterator[tuple[int, int]]:
        wanted = ["".join(letter for _, letter in word) for word in _split_words(quote)]
        matcher = SequenceMatcher(None, wanted, self._words, autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        if not blocks or sum(block.size for block in blocks) < MIN_MATCHED_WORD_SHARE * len(wanted):
            return
        first, after = blocks[0].b, blocks[-1].b + blocks[-1].size
        if after - first <= MAX_MATCH_LENGTH_RATIO * len(wanted):
            yield self._ends[first][0], self._ends[after - 1][1]


def _split_words(text: str) -> Iterator[list[tuple[int, str]]]:
    """The words of a text as lower-case letters with their places, without punctuation and white space."""
    for word in _WORD.finditer(text):
        letters = [(word.start() + i, letter.lower()) for i, letter in enumerate(word[0])]
        if kept := [(i, low) for i, low in letters if len(low) == 1]:
            yield kept
