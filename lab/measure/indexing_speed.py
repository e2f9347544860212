"""Measures how fast books are parsed, split, embedded, indexed and indexed again."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterator
from operator import truediv
from pathlib import Path
from time import perf_counter

from markdown_it import MarkdownIt

from bookbound import bootstrap
from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.domain.ports import Embedder
from bookbound.settings import Settings
from bookbound.sources import parse_book
from lab.measure.question_sets import BOOK, DATA, split_book
from lab.measure.timing import time_seconds

ROUNDS, PAGES = 3, 400
"""How often each time is measured, and the pages of the book in which one page changes."""
LARGE_BOOK = "physical_ai_2"
"""A real book of a thousand chunks; with fewer, the fixed cost dominates."""
NEW_SENTENCE = "\n\nOne more sentence that was not there before.\n"


def list_real_books() -> list[Path]:
    """The real books, as folders and as single files."""
    books = DATA / "books"
    folders = sorted(path for path in books.glob("[!_]*") if path.is_dir())
    return [*folders, *sorted(path for path in books.glob("_files/*.*"))]


def find_large_book() -> Path:
    """A large real book if there is one, else the example."""
    return next((book for book in list_real_books() if book.name == LARGE_BOOK), BOOK)


def generate_books(folder: Path) -> Iterator[Path]:
    """The example book in formats of which there is no real book."""
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


def measure_parsing(books: list[Path], embedder: Embedder) -> dict[str, float]:
    """Pages parsed and chunks split per second, for each format; the last book of a format counts."""
    figures: dict[str, float] = {}
    for book in books:
        try:
            parsed = parse_book(book)
        except SourceError:
            continue

        def split_parsed(parsed: ParsedBook = parsed) -> int:
            return len(split_book(parsed, embedder))

        chunks = split_parsed()
        parse_time = statistics.median(time_seconds(lambda book=book: parse_book(book)) for _ in range(ROUNDS))  # type: ignore[misc]
        split_time = statistics.median(time_seconds(split_parsed) for _ in range(ROUNDS))
        figures[f"{parsed.kind}: pages parsed a second"] = len(parsed.pages) / parse_time
        figures[f"{parsed.kind}: chunks parsed a second"] = chunks / parse_time
        figures[f"{parsed.kind}: chunks split a second"] = chunks / split_time
    return figures


def measure_indexing(book: Path, embedder: Embedder, folder: Path) -> dict[str, float]:
    """The time to embed a book, and as ratios to index it and to index it again unchanged."""
    texts = [chunk.embedding_text for chunk in split_book(parse_book(book), embedder)]
    embedding, first, again = list[float](), list[float](), list[float]()
    for number in range(ROUNDS):
        settings = Settings(index=folder / str(number))

        def index(settings: Settings = settings) -> None:
            bootstrap.index_book(book, settings)

        embedding.append(time_seconds(lambda: asyncio.run(embedder.embed(texts))))
        first.append(time_seconds(index))
        again.append(time_seconds(index))
    return {
        "chunks of the book": len(texts),
        "tokens of a chunk": statistics.mean(map(embedder.count_tokens, texts)),
        "embedding 1,000 chunks, s": statistics.median(embedding) / len(texts) * 1000,
        "index time / raw embedding time (at most 1.15)": statistics.median(map(truediv, first, embedding)),
        "indexing it again unchanged / first time (at most 0.05)": statistics.median(map(truediv, again, first)),
    }


def measure_update(book: Path, embedder: Embedder, folder: Path) -> dict[str, float]:
    """The work for one changed page of a book with many small pages."""
    chunks = split_book(parse_book(book), embedder)
    source, settings = folder / "source", Settings(index=folder / "index")
    source.mkdir(parents=True)
    for number, chunk in enumerate(chunks[:PAGES]):
        (source / f"{number:03}.md").write_text(f"# Page {number}\n\n{chunk.text}\n")
    whole = time_seconds(lambda: bootstrap.index_book(source, settings))
    page = source / "007.md"
    page.write_text(page.read_text() + NEW_SENTENCE)
    start = perf_counter()
    indexed = bootstrap.index_book(source, settings)
    elapsed = perf_counter() - start
    page_chunks = next(each.chunks for each in indexed.manifest.page_fingerprints if each.file == page.name)
    return {
        f"one of {indexed.manifest.pages} pages changed: chunks of the page": page_chunks,
        "chunks embedded for it (at most those of the page)": indexed.embedded_chunks,
        "time for it / first time": elapsed / whole,
    }


def measure() -> dict[str, float]:
    embedder = bootstrap.build_embedder(Settings())
    book = find_large_book()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        books = [*generate_books(folder / "generated"), BOOK, *list_real_books()]
        return {
            **measure_parsing(books, embedder),
            **measure_indexing(book, embedder, folder / "indexes"),
            **measure_update(book, embedder, folder / "update"),
        }
