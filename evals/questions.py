"""A question set: what was asked of a book, and where the book answers it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bookbound.read.decode import decode

EXAMPLE = Path(__file__).parent / "example.jsonl"


class Quote(NamedTuple):
    """Words that answer a question, as they stand in a file of the book's source."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """One question with what is known of its answer."""

    id: str
    question: str
    answerable: bool
    kind: str
    evidence: tuple[Quote, ...]
    must_contain: tuple[str, ...]


def load(file: Path) -> list[Item]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Item(
            row["id"],
            row["question"],
            row["answerable"],
            row["type"],
            tuple(Quote(quote["file"], quote["quote"]) for quote in row.get("evidence") or ()),
            tuple(row.get("must_contain") or ()),
        )
        for row in rows
    ]


class Sources:
    """The files of a book's source, to look quotes and citations up in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def text(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = decode((self._folder / file).read_bytes())[0]
        return self._texts[file]

    def span(self, quote: Quote) -> tuple[int, int]:
        """Where a quote stands in its file, white space and markup left out of the comparison."""
        letters = [(i, c) for i, c in enumerate(self.text(quote.file).lower()) if c.isalnum()]
        wanted = "".join(c for c in quote.text.lower() if c.isalnum())
        at = "".join(c for _, c in letters).find(wanted)
        if at < 0:
            raise LookupError(f"{quote.file} does not hold the quote {quote.text[:60]!r}")
        return letters[at][0], letters[at + len(wanted) - 1][0] + 1
