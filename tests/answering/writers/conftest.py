from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.answering.writers.quotes import QuoteWriter
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.question import Question
from bookbound.domain.reply import AnswerSentence
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

Marked = tuple[str, float] | tuple[str, float, int]


class Shelf:
    """Pages that were read and split as a book's are, to answer from by marking words in them."""

    def __init__(self, folder: Path, budget: int = 400) -> None:
        pages = parse_book(folder).pages
        self.chunks: list[Chunk] = [
            c for page in pages for c in split_page(page, lambda text: len(text.split()), budget)
        ]
        self.passages = [Passage(chunk, 0.6) for chunk in self.chunks]

    def evidence(self, words: str, probability: float = 0.8, part: int = 0) -> Evidence:
        found = next(passage for passage in self.passages if words in passage.chunk.text)
        start = found.chunk.text.index(words)
        return Evidence.of(found, start, start + len(words), probability, part)

    def answer(self, question: str, *words: str | Marked, partial: bool = False) -> list[AnswerSentence]:
        marked = [self.evidence(*((piece,) if isinstance(piece, str) else piece)) for piece in words]
        marked.sort(key=lambda piece: -piece.probability)
        return self.quoted(question, marked, partial)

    def quoted(self, question: str, evidence: list[Evidence], partial: bool = False) -> list[AnswerSentence]:
        judgement = Judgement(0.9, (), tuple(evidence), "Good", None, partial)

        async def write() -> list[AnswerSentence]:
            written = QuoteWriter().write(Question(question), self.passages, judgement)
            return [sentence async for sentence in written if isinstance(sentence, AnswerSentence)]

        return asyncio.run(write())

    def said(self, question: str, *words: str | Marked, partial: bool = False) -> list[str]:
        return [sentence.text for sentence in self.answer(question, *words, partial=partial)]


@pytest.fixture
def shelf(tmp_path: Path) -> Callable[..., Shelf]:
    """Makes a shelf of pages, each given as Markdown."""

    def make(*pages: str) -> Shelf:
        for number, page in enumerate(pages):
            (tmp_path / f"{number}.md").write_text(page, encoding="utf-8")
        return Shelf(tmp_path)

    return make


@pytest.fixture(scope="session")
def example(example_book: Path) -> Shelf:
    return Shelf(example_book)
