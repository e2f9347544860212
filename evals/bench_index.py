"""`python -m evals.bench_index`: how fast books are read, split, indexed and indexed again, in one run."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter

from markdown_it import MarkdownIt

from bookbound import bootstrap
from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.domain.ports import Embedder
from bookbound.indexing.split import split_page
from bookbound.settings import Settings
from bookbound.sources import parse_book
from evals.sets import BOOK, ROOT
from evals.shown import show

ROUNDS, PAGES = 3, 400
"""How often each thing is measured, in turn with what it is compared with; the pages of the book that changes once."""
LARGER = "physical_ai_2"
"""A real book of a thousand chunks: with fewer, what is opened once counts for more than what is done for each."""
CHANGED = "\n\nOne more sentence, which nobody wrote before.\n"


def real_books() -> list[Path]:
    """The real books at hand, as folders and as single files."""
    books = Path(os.environ.get("BOOKBOUND_SHARED", ROOT.parent / "shared")) / "data" / "books"
    folders = sorted(path for path in books.glob("[!_]*") if path.is_dir())
    return [*folders, *sorted(path for path in books.glob("_files/*.*"))]


def larger_book() -> Path:
    """The book whose indexing is measured: a real one where there is one, else the example."""
    return next((book for book in real_books() if book.name == LARGER), BOOK)


def made_books(folder: Path) -> Iterator[Path]:
    """The example book once more, as those sources of which no real book is at hand."""
    for kind in ("html", "jupyter", "hugo", "text"):
        (folder / kind / "content").mkdir(parents=True)
    (folder / "hugo" / "hugo.toml").write_text('title = "Example"\n')
    for number, page in enumerate(parse_book(BOOK).pages):
        name = f"content/{number:03}"
        cell = {"cell_type": "markdown", "metadata": {}, "source": page.source}
        html = f"<!doctype html><html><body><main>{MarkdownIt().render(page.source)}</main></body></html>"
        (folder / "html" / f"{name}.html").write_text(html)
        (folder / "html" / "index.html").write_text(html)
        (folder / "jupyter" / f"{name}.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4, "metadata": {}}))
        (folder / "hugo" / f"{name}.md").write_text(page.source)
        (folder / "text" / f"{name}.txt").write_text(page.text)
    yield from (folder / kind for kind in ("html", "jupyter", "hugo", "text"))


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def reading(books: list[Path], embedder: Embedder) -> dict[str, float]:
    """Pages read and chunks split in a second, for each reader; the last book of a kind counts."""
    figures: dict[str, float] = {}
    for book in books:
        try:
            manuscript = parse_book(book)
        except SourceError:
            continue

        def split_all(manuscript: ParsedBook = manuscript) -> int:
            return sum(len(split_page(page, embedder.tokens, embedder.budget)) for page in manuscript.pages)

        chunks = split_all()
        taken = statistics.median(seconds(lambda book=book: parse_book(book)) for _ in range(ROUNDS))  # type: ignore[misc]
        parting = statistics.median(seconds(split_all) for _ in range(ROUNDS))
        figures[f"{manuscript.kind}: pages read a second"] = len(manuscript.pages) / taken
        figures[f"{manuscript.kind}: chunks read a second"] = chunks / taken
        figures[f"{manuscript.kind}: chunks split a second"] = chunks / parting
    return figures


def indexing(book: Path, embedder: Embedder, folder: Path) -> dict[str, float]:
    """The time of indexing a book, and of indexing it again unchanged, as ratios."""
    texts = [c.embedded for page in parse_book(book).pages for c in split_page(page, embedder.tokens, embedder.budget)]
    first, again = [], []
    for number in range(ROUNDS):
        settings = Settings(index=folder / str(number))
        raw = seconds(lambda: asyncio.run(embedder.embed(texts)))
        whole = seconds(lambda settings=settings: bootstrap.index_book(book, settings))  # type: ignore[misc]
        first.append(whole / raw)
        again.append(seconds(lambda settings=settings: bootstrap.index_book(book, settings)) / whole)  # type: ignore[misc]
    return {
        "chunks of the book": len(texts),
        "index time / raw embedding time (at most 1.15)": statistics.median(first),
        "indexing it again unchanged / first time (at most 0.05)": statistics.median(again),
    }


def changing(book: Path, embedder: Embedder, folder: Path) -> dict[str, float]:
    """What is done for one changed page of a book that has many, each a chunk or two of another book."""
    chunks = (chunk for page in parse_book(book).pages for chunk in split_page(page, embedder.tokens, embedder.budget))
    source, settings = folder / "source", Settings(index=folder / "index")
    source.mkdir(parents=True)
    for number, chunk in enumerate(islice(chunks, PAGES)):
        (source / f"{number:03}.md").write_text(f"# Page {number}\n\n{chunk.text}\n")
    whole = seconds(lambda: bootstrap.index_book(source, settings))
    page = source / "007.md"
    page.write_text(page.read_text() + CHANGED)
    start = perf_counter()
    made = bootstrap.index_book(source, settings)
    taken = perf_counter() - start
    own = next(sheet.chunks for sheet in made.manifest.sheets if sheet.file == page.name)
    return {
        f"one of {made.manifest.pages} pages changed: chunks of the page": own,
        "chunks embedded for it (at most those of the page)": made.embedded,
        "time for it / first time": taken / whole,
    }


def measure() -> dict[str, float]:
    """Every figure of this bench."""
    embedder = bootstrap.embedder(Settings())
    book = larger_book()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        books = [*made_books(folder / "made"), BOOK, *real_books()]
        return {
            **reading(books, embedder),
            **indexing(book, embedder, folder / "indexes"),
            **changing(book, embedder, folder / "changing"),
        }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    show(f"Indexing on {os.cpu_count()} cores", measure())


if __name__ == "__main__":
    main()
