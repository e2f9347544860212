"""The question sets at hand: the example book's, and those of real books where they are there."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from rich.progress import Progress

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.evaluation.question_set import load_question_set
from bookbound.evaluation.runner import QuestionOutcome, run_questions
from bookbound.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "evals" / "out"
EXAMPLE, BOOK = ROOT / "evals" / "example.jsonl", ROOT / "examples" / "book"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A book's questions and its source; its index is made under `OUT`."""

    name: str
    questions: Path
    source: Path

    @property
    def index(self) -> Path:
        return OUT / self.name


def sets() -> list[QuestionSet]:
    """Every set there is, the example's first."""
    shared = Path(os.environ.get("BOOKBOUND_SHARED", ROOT.parent / "shared")) / "data"
    others = sorted((shared / "questions").glob("*.jsonl"))
    found = [QuestionSet(file.stem, file, shared / "books" / file.stem) for file in others]
    return [QuestionSet("example", EXAMPLE, BOOK), *found]


def make_index(asked: QuestionSet, progress: Progress) -> None:
    """Index the book of a set."""
    bar = progress.add_task(f"{asked.name}: index", total=None)
    bootstrap.index_book(
        asked.source,
        Settings(index=asked.index),
        lambda stage, done, total: progress.update(bar, completed=done, total=total),
    )


def ask(
    asked: QuestionSet, progress: Progress, answered: float | None = None
) -> tuple[Pipeline, list[QuestionOutcome]]:
    """What becomes of the questions of a set, at the operating point in force or at another; the pipeline is closed."""
    items = load_question_set(asked.questions)
    bar = progress.add_task(f"{asked.name}: ask", total=len(items))

    async def put_all() -> tuple[Pipeline, list[QuestionOutcome]]:
        pipeline = await bootstrap.pipeline(Settings(index=asked.index, answered=answered))
        try:
            return pipeline, await run_questions(pipeline, items, lambda: progress.advance(bar))
        finally:
            await pipeline.close()

    return asyncio.run(put_all())
