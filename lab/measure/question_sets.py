"""Finds the question sets and books: the example, and real ones if their folder exists."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.progress import Progress

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import ParsedBook
from bookbound.domain.ports import Embedder
from bookbound.evaluation.question_set import load_question_set
from bookbound.evaluation.runner import QuestionOutcome, run_questions
from bookbound.indexing.split import split_page
from bookbound.settings import Settings

MEASURE = Path(__file__).resolve().parent
ROOT = MEASURE.parents[1]
OUT = MEASURE / "out"
EXAMPLE, BOOK = ROOT / "examples" / "questions.jsonl", ROOT / "examples" / "book"
DATA = Path(os.environ.get("BOOKBOUND_SHARED", ROOT.parent / "shared")) / "data"
"""Real books and question sets about three of them, which are not part of the repository."""
QUESTIONS = MEASURE / "questions"
FITTED_SETS, COUNTED_SETS = ("learn2love", "mkdocs_docs"), ("mdbook_guide", "python_robotics_docs")
"""Our own sets about other real books: those on which constants are fitted, and those that only count."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions about a book and its source; its index goes into `OUT`.

    The operating point is chosen on the development sets.
    """

    name: str
    questions: Path
    source: Path
    role: Literal["development", "fitted", "counted"] = "development"

    @property
    def index(self) -> Path:
        return OUT / self.name


def list_question_sets() -> list[QuestionSet]:
    """Every set, the example first."""
    files = sorted((DATA / "questions").glob("*.jsonl"))
    real = [QuestionSet(file.stem, file, DATA / "books" / file.stem) for file in files]
    return [QuestionSet("example", EXAMPLE, BOOK), *real, *_list_own_sets()]


def list_development_sets() -> list[QuestionSet]:
    return [each for each in list_question_sets() if each.role == "development"]


def _list_own_sets() -> Iterator[QuestionSet]:
    """Our own sets about real books, if the books are there."""
    for name in (*FITTED_SETS, *COUNTED_SETS):
        if (source := DATA / "books" / name).is_dir():
            role: Literal["fitted", "counted"] = "fitted" if name in FITTED_SETS else "counted"
            yield QuestionSet(name, QUESTIONS / f"{name}.jsonl", source, role)


def split_book(book: ParsedBook, embedder: Embedder) -> list[Chunk]:
    """All chunks of a book, as they are indexed."""
    return [chunk for page in book.pages for chunk in split_page(page, embedder.count_tokens, embedder.max_tokens)]


def index_question_set(question_set: QuestionSet, progress: Progress) -> None:
    """Indexes the book of a set."""
    bar = progress.add_task(f"{question_set.name}: index", total=None)
    bootstrap.index_book(
        question_set.source,
        Settings(index=question_set.index),
        lambda stage, done, total: progress.update(bar, completed=done, total=total),
    )


def ask_question_set(
    question_set: QuestionSet, progress: Progress, answer_threshold: float | None = None
) -> tuple[Pipeline, list[QuestionOutcome]]:
    """Asks all questions of a set and returns the outcomes with the closed pipeline."""
    items = load_question_set(question_set.questions)
    bar = progress.add_task(f"{question_set.name}: ask", total=len(items))

    async def ask_all() -> tuple[Pipeline, list[QuestionOutcome]]:
        pipeline = await bootstrap.open_pipeline(Settings(index=question_set.index, answer_threshold=answer_threshold))
        try:
            return pipeline, await run_questions(pipeline, items, lambda: progress.advance(bar))
        finally:
            await pipeline.close()

    return asyncio.run(ask_all())
