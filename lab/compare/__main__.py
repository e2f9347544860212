"""`python -m lab.compare`: asks every system the same questions about the same books, and measures their cost. Linux.

Finished steps are kept in `lab/compare/out`; a run that was interrupted goes on there. Figures go to `results.json`,
and `python -m lab.compare.results_page` makes the tables and plots.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bookbound.evaluation.question_set import EvaluationQuestion, load_question_set
from bookbound.evaluation.quote_locations import FileSpan, QuoteLocator, QuoteSpans
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.sources import parse_book
from lab.compare.grades import GradedQuestion, grade, summarize
from lab.compare.machine import describe_run
from lab.compare.system import BOOKBOUND, ENTRIES
from lab.compare.weights import OUT
from lab.measure.question_sets import QuestionSet, list_question_sets

BOOKS = ("example", "byte_of_python")
TIMED_BOOK, ROUNDS, TIMED_QUESTIONS = "example", 3, 32
STEP_TIMEOUT_S = 1_200
SAMPLED_CHARACTERS = 15_000
"""How much of the timed book is indexed in each round; whole books are indexed once."""
RESULTS = Path(__file__).resolve().parent / "results.json"
Figures = dict[str, Any]


class Comparison:
    """One run over the chosen books; `limit` keeps only some questions, to try it."""

    def __init__(self, out: Path, books: list[str], limit: int | None) -> None:
        self._out, self._limit = out, limit
        self.books = [each for each in list_question_sets() if each.name in books]

    def run_step(self, name: str, step: str, key: str, request: Figures) -> Figures:
        """Runs a step in a new process, unless an earlier run finished it."""
        file = self._out / "steps" / f"{key}-{step}-{name}.json"
        if not file.exists():
            print(f"{time.strftime('%H:%M:%S')} {step} {key} {name}", flush=True)
            figures = {**run_worker(name, step, request), "load": os.getloadavg()[0]}
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(".partial")
            partial.write_text(json.dumps(figures), encoding="utf-8")
            partial.rename(file)
        result: Figures = json.loads(file.read_text(encoding="utf-8"))
        return result

    def grade(self, name: str, book: QuestionSet) -> tuple[Figures, list[GradedQuestion]]:
        """Indexes a book and asks all questions; the size of the index counts blocks on the disk."""
        folder, items = self.folder(name, book), self.questions(book)
        request = {"source": str(book.source), "documents": str(self.documents(book)), "folder": str(folder)}
        figures = self.run_step(name, "grade", book.name, request | {"questions": [each.question for each in items]})
        size = sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
        replies, evidence = figures.pop("replies"), self.evidence(book, items)
        return figures | {"index_mb": size / 1e6}, [*map(grade, items, evidence, replies)]

    def run_round(self, name: str, turn: int) -> Figures:
        """Times answers of the timed book, and indexing of its first pages."""
        book = next(each for each in self.books if each.name == TIMED_BOOK)
        items = load_question_set(book.questions)
        questions = [item.question for item in items[:: len(items) // TIMED_QUESTIONS]][:TIMED_QUESTIONS]
        sample = {
            "source": str(self._out / "sample"),
            "documents": str(self.sample_documents(book)),
            "folder": str(self._out / "indexes" / "sample" / f"{name}-{turn}"),
        }
        request = {"folder": str(self.folder(name, book)), "questions": questions, "sample": sample}
        return self.run_step(name, "round", f"round{turn}", request)

    def sample_documents(self, book: QuestionSet) -> Path:
        """The first pages of a book, also as files."""
        file = self._out / "sample.json"
        if not file.exists():
            pages: dict[str, str] = {}
            for name, text in json.loads(self.documents(book).read_text(encoding="utf-8")).items():
                if sum(map(len, pages.values())) < SAMPLED_CHARACTERS:
                    pages[name] = text
                    (self._out / "sample" / name).parent.mkdir(parents=True, exist_ok=True)
                    (self._out / "sample" / name).write_text(text, encoding="utf-8")
            file.write_text(json.dumps(pages), encoding="utf-8")
        return file

    def folder(self, name: str, book: QuestionSet) -> Path:
        return self._out / "indexes" / book.name / name

    def questions(self, book: QuestionSet) -> list[EvaluationQuestion]:
        return load_question_set(book.questions)[: self._limit]

    def documents(self, book: QuestionSet) -> Path:
        """The pages that Bookbound reads, as the source files have them, for the other systems."""
        file = self._out / f"{book.name}.json"
        if not file.exists():
            pages = {page.file: page.source for page in parse_book(book.source).pages}
            file.write_text(json.dumps(pages), encoding="utf-8")
        return file

    def evidence(self, book: QuestionSet, items: list[EvaluationQuestion]) -> list[list[QuoteSpans]]:
        """The places of the evidence in the source files, which Bookbound's index knows."""

        async def locate() -> list[list[QuoteSpans]]:
            index = await EdgeStore(self.folder(BOOKBOUND, book)).open()
            try:
                locator = QuoteLocator(index)
                return [await locator.locate(item) for item in items]
            finally:
                await index.close()

        file = self._out / f"{book.name}-evidence.json"
        if not file.exists():
            file.write_text(json.dumps(asyncio.run(locate())), encoding="utf-8")
        found = json.loads(file.read_text(encoding="utf-8"))
        return [[tuple(FileSpan(*span) for span in spans) for spans in quotes] for quotes in found]

    def run(self, names: list[str], turns: int) -> Figures:
        """Indexes and asks with each system, then rounds with all systems in turn, each starting with another one.

        A system that fails has its error instead of figures, and the others go on; without Bookbound nothing can be
        graded.
        """
        graded: dict[str, dict[str, tuple[Figures, list[GradedQuestion]]]] = {}
        rounds: dict[str, list[Figures]] = {name: [] for name in names}
        errors: dict[str, str] = {}
        for name in names:
            with _note_failure(name, errors, fatal=name == BOOKBOUND):
                graded[name] = {book.name: self.grade(name, book) for book in self.books}
        for turn in range(turns):
            shift = turn * len(names) // turns
            for name in names[shift:] + names[:shift]:
                if name not in errors:
                    with _note_failure(name, errors):
                        rounds[name].append(self.run_round(name, turn))
        return {
            name: {"error": errors[name]} if name in errors else _summarize_system(graded[name], rounds[name])
            for name in names
        }


class SystemFailedError(Exception):
    """A step of a system ended without figures."""


def run_worker(name: str, step: str, request: Figures) -> Figures:
    """Runs a step in a new process and returns its figures."""
    command = (sys.executable, "-m", "lab.compare.worker", name, step)
    text = json.dumps({**request, "started": time.time()})
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=STEP_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise SystemFailedError(f"{step} took longer than {STEP_TIMEOUT_S} s") from error
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr, flush=True)
        if done.returncode < 0:
            raise SystemFailedError(f"{step} was killed by signal {-done.returncode}")
        last = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
        raise SystemFailedError(f"{step} ended with {done.returncode}: {last}")
    figures: Figures = json.loads(done.stdout)
    return figures


@contextmanager
def _note_failure(name: str, errors: dict[str, str], *, fatal: bool = False) -> Iterator[None]:
    try:
        yield
    except SystemFailedError as error:
        if fatal:
            raise
        errors[name] = str(error)


def _summarize_system(books: dict[str, tuple[Figures, list[GradedQuestion]]], rounds: list[Figures]) -> Figures:
    return {
        "index": {book: figures for book, (figures, _) in books.items()},
        "rounds": rounds,
        "quality": summarize([each for _, questions in books.values() for each in questions]),
        "by_book": {book: summarize(questions) for book, (_, questions) in books.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=ENTRIES, help="compare only these systems")
    parser.add_argument("--books", nargs="+", choices=BOOKS, default=BOOKS, help="use only these books")
    parser.add_argument("--limit", type=int, help="ask only the first questions of each set, to try it")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"how often times are taken, or 0; default: {ROUNDS}"
    )
    parser.add_argument("--again", action="store_true", help="forget what an earlier run finished")
    options = parser.parse_args()
    out = OUT / ("run" if options.limit is None else "trial")
    if options.again:
        shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    machine = out / "machine.json"
    if not machine.exists():
        machine.write_text(json.dumps(describe_run()), encoding="utf-8")
    comparison = Comparison(out, options.books, options.limit)
    names = [BOOKBOUND, *(name for name in options.only or ENTRIES if name != BOOKBOUND)]
    systems = comparison.run(names, options.rounds)
    sample = json.loads(comparison.sample_documents(comparison.books[0]).read_text(encoding="utf-8"))
    results = {
        "machine": json.loads(machine.read_text(encoding="utf-8")),
        "characters_of_sample": sum(map(len, sample.values())),
        "books": {book.name: _describe(comparison, book) for book in comparison.books},
        "systems": systems,
    }
    target = RESULTS if options.limit is None and not options.only else out / "results.json"
    target.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _describe(comparison: Comparison, book: QuestionSet) -> Figures:
    pages = json.loads(comparison.documents(book).read_text(encoding="utf-8"))
    questions = comparison.questions(book)
    return {
        "pages": len(pages),
        "characters": sum(map(len, pages.values())),
        "questions": len(questions),
        "answerable": sum(item.answerable for item in questions),
    }


if __name__ == "__main__":
    main()
