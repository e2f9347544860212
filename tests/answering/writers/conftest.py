from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.answering.understanding import understand
from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.question import Question
from bookbound.domain.reply import AnswerSentence
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

Marked = tuple[str, float] | tuple[str, float, int]


class Pages:
    """Pages that are parsed and split like a book; tests mark the words that answer."""

    def __init__(self, folder: Path, budget: int = 400) -> None:
        pages = parse_book(folder).pages
        self.chunks: list[Chunk] = [
            c for page in pages for c in split_page(page, lambda text: len(text.split()), budget)
        ]
        self.passages = [Passage(chunk, 0.6) for chunk in self.chunks]

    def evidence(self, words: str, probability: float = 0.8, part: int = 0) -> Evidence:
        found = next(passage for passage in self.passages if words in passage.chunk.text)
        start = found.chunk.text.index(words)
        return Evidence.from_chunk(found.chunk, start, start + len(words), probability, part)

    def answer(self, question: str, *words: str | Marked, partial: bool = False) -> list[AnswerSentence]:
        marked = [self.evidence(*((piece,) if isinstance(piece, str) else piece)) for piece in words]
        marked.sort(key=lambda piece: -piece.probability)
        return self.quote_evidence(question, marked, partial)

    def quote_evidence(
        self, question: str, evidence: list[Evidence], partial: bool = False, unsure_parts: tuple[int, ...] = ()
    ) -> list[AnswerSentence]:
        judgement = Judgement(0.9, (), tuple(evidence), "Good", None, partial, unsure_parts=unsure_parts)

        async def write() -> list[AnswerSentence]:
            written = QuoteWriter().write(understand(Question(question)), self.passages, judgement)
            return [sentence async for sentence in written if isinstance(sentence, AnswerSentence)]

        return asyncio.run(write())

    def quote_texts(self, question: str, *words: str | Marked, partial: bool = False) -> list[str]:
        return [sentence.text for sentence in self.answer(question, *words, partial=partial)]


def make_passage(name: str, text: str, *headings: str, score: float = 0.6) -> Passage:
    """Returns a whole page as one passage."""
    place = Place(f"{name}.md", f"/{name}", "Arms", "Torque", headings, "", 0, len(text))
    return Passage(Chunk(name, text, place, 0, (SourceSpan(0, len(text), 0, len(text)),)), score)


@pytest.fixture
def make_pages(tmp_path: Path) -> Callable[..., Pages]:
    """Makes pages from Markdown texts."""

    def make(*pages: str) -> Pages:
        for number, page in enumerate(pages):
            (tmp_path / f"{number}.md").write_text(page, encoding="utf-8")
        return Pages(tmp_path)

    return make


@pytest.fixture(scope="session")
def example(example_book: Path) -> Pages:
    return Pages(example_book)
