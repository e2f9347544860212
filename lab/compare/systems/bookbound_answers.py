"""Bookbound as it is: search, two readers, a decision, quotes and their verification."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import bookbound
from bookbound.domain.chunk import Passage
from bookbound.domain.reply import Answer
from bookbound.evaluation.runner import CachedAssessor
from bookbound.library import Book
from lab.compare.system import MAX_PASSAGES, Documents, Embedding, FoundAnswer, FoundPassage


def to_found(passage: Passage) -> FoundPassage:
    place = passage.chunk.place
    return FoundPassage(place.file, place.start, place.end, passage.chunk.text, passage.score)


class BookboundAnswers:
    """The library with its default settings."""

    book: Book

    def index(self, source: Path, documents: Documents, folder: Path) -> int:
        return bookbound.index(source, folder).manifest.chunks

    def open(self, folder: Path) -> None:
        self.book = bookbound.open(folder)

    def remember_readings(self) -> None:
        """Lets `answer` and `search` share what the readers read, for grading, where no time counts."""
        pipeline = self.book.pipeline
        engine = replace(pipeline.engine, assessor=CachedAssessor(pipeline.engine.assessor))
        self.book.pipeline = replace(pipeline, engine=engine)

    def search(self, question: str) -> list[FoundPassage]:
        return [to_found(passage) for passage in self.book.search(question, k=MAX_PASSAGES)]

    def answer(self, question: str) -> FoundAnswer:
        reply = self.book.ask(question)
        is_given = isinstance(reply, Answer)
        places = [(each.place.file, each.place.start, each.place.end) for each in reply.citations]
        words = reply.words if isinstance(reply, Answer) else ""
        return FoundAnswer(words, places, reply.judgement.probability, is_given)

    def close(self) -> None:
        self.book.close()


def build(embedding: Embedding) -> BookboundAnswers:
    return BookboundAnswers()
