"""`python -m evals.hostile`: how many false sentences of a hostile writer are shown, and how many true ones.

The sentences were written by reading the passages that they cite, which are found again by a few of their words: those
of the example book, and those of real books where these are at hand. One part was written to develop the checks with,
the other afterwards, to see what they are worth.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bookbound.book import Chunk, Passage, Unit
from bookbound.dialogue import SUPPORTED
from bookbound.embed.onnx import OnnxEmbedder
from bookbound.finding import Evidence
from bookbound.judge.reader import Reader
from bookbound.judge.verifier import ReadingVerifier
from bookbound.models.onnx import Models
from bookbound.read import read
from bookbound.split import split
from evals.sets import BOOK, ROOT, sets

CASES = ROOT / "evals" / "hostile.jsonl"
PARTS = ("dev", "test")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence as a model may draft it, of which kind it is, whether it is true, and the words it cites."""

    book: str
    part: str
    kind: str
    true: bool
    text: str
    evidence: tuple[Evidence, ...]


def cases(books: Sequence[str] = ()) -> list[Case]:
    """The sentences over the books that are at hand, or over those named."""
    sources = {"example": BOOK} | {each.name: each.source for each in sets() if each.source.is_dir()}
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["book"] in sources and (not books or row["book"] in books)]
    with closing(Models()) as models:
        shelf = {book: _chunks(sources[book], {*_files(rows, book)}, models) for book in {row["book"] for row in rows}}
    return [_case(row, shelf[row["book"]]) for row in rows]


def _files(rows: Sequence[dict[str, Any]], book: str) -> list[str]:
    return [cited["file"] for row in rows if row["book"] == book for cited in row["cites"]]


def _chunks(source: Path, files: set[str], models: Models) -> list[Chunk]:
    embedder = OnnxEmbedder(models)
    tokens = cache(embedder.tokens)
    pages = [page for page in read(source).pages if page.file in files]
    return [chunk for page in pages for chunk in split(page, tokens, embedder.budget)]


def _case(row: dict[str, Any], chunks: Sequence[Chunk]) -> Case:
    cited = [_cited(each, chunks) for each in row["cites"]]
    evidence = tuple(Evidence.of(Passage(chunk, 1.0), 0, len(chunk.text), 1.0) for chunk in cited)
    return Case(row["book"], row["part"], row["kind"], row["true"], row["text"], evidence)


def _cited(cited: dict[str, str], chunks: Sequence[Chunk]) -> Chunk:
    """The passage that holds the words, with what somebody planted at its end."""
    words = " ".join(cited["words"].split())
    found = next(each for each in chunks if each.place.file == cited["file"] and words in " ".join(each.text.split()))
    if "planted" not in cited:
        return found
    start = len(found.text) + 2
    unit = Unit("sentence", start, start + len(cited["planted"]))
    return replace(found, text=f"{found.text}\n\n{cited['planted']}", units=(*found.units, unit))


def shown(given: Sequence[Case]) -> list[bool]:
    """Which of the sentences are found supported."""

    async def support() -> list[float]:
        with closing(Models()) as models:
            verifier = ReadingVerifier(Reader(models))
            return [await verifier.support(case.text, case.evidence) if case.evidence else 0.0 for case in given]

    return [found >= SUPPORTED for found in asyncio.run(support())]


def hostile() -> Table:
    """How many sentences are shown, of each kind and part."""
    given = cases()
    found = list(zip(given, shown(given), strict=True))
    table = Table("sentences that are shown", *PARTS, title="Held to the book: a hostile writer and an honest one")
    for true, name in ((False, "false"), (True, "true")):
        table.add_row(name, *(_share([s for c, s in found if (c.true, c.part) == (true, part)]) for part in PARTS))
        for kind in dict.fromkeys(case.kind for case in given if case.true is true):
            of = [(case.part, seen) for case, seen in found if case.true is true and case.kind == kind]
            table.add_row(f"  {kind}", *(_share([seen for at, seen in of if at == part]) for part in PARTS))
    return table


def _share(seen: Sequence[bool]) -> str:
    return f"{sum(seen)} of {len(seen)}" if seen else ""


if __name__ == "__main__":
    Console().print(hostile())
