"""The sentences that a hostile and an honest model may draft, each with the passages that it cites."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence
from bookbound.indexing.split import split_page
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder
from bookbound.sources import parse_book
from bookbound.text import split_sentences
from lab.measure.question_sets import DATA, MEASURE, list_question_sets

CASES = MEASURE / "hostile.jsonl"
OPENING_CHARACTERS = 80
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence that a model may draft, its kind, whether it is true, and the passages that it cites."""

    book: str
    part: str
    kind: str
    true: bool
    text: str
    passages: tuple[Passage, ...]

    @property
    def sentences(self) -> list[str]:
        """The text split into sentences, as the verifier sees them."""
        return [self.text[unit.start : unit.end].casefold() for unit in split_sentences(self.text)]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(Evidence.from_chunk(passage.chunk, 0, len(passage.chunk.text), 1.0) for passage in self.passages)


def load_cases(books: Sequence[str] = ()) -> list[Case]:
    """The sentences about the named books, or about all books that exist."""
    known = [book for book in _list_sources() if not books or book in books]
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["book"] in known]
    chunks = _load_cited_chunks({cited for row in rows for cited in _list_cited_files(row)})
    return [
        Case(row["book"], row["part"], row["kind"], row["true"], row["text"], _find_passages(row, chunks))
        for row in rows
    ]


def load_claims(file: Path) -> list[Case]:
    """The claims of a file as sentences of one part, each of which cites its premise or passages of its book."""
    rows, cited = dict[int, Row](), set[tuple[str, str]]()
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            with _name_bad_line(file, number):
                rows[number] = _check_claim(json.loads(line))
                cited |= _list_cited_files(rows[number])
    chunks, cases = _load_cited_chunks(cited), []
    for number, row in rows.items():
        with _name_bad_line(file, number):
            cases.append(_build_claim(row, file.stem, chunks))
    return cases


@contextmanager
def _name_bad_line(file: Path, number: int) -> Iterator[None]:
    """Names the line of a file in the error if it is not a claim."""
    try:
        yield
    except (ValueError, LookupError, TypeError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"Line {number} of {file} is not a claim: {reason}. See --help.") from error


def _check_claim(row: Row) -> Row:
    texts = [row["book"], row["claim"], row["kind"], *(cited["words"] for cited in row.get("cites", ()))]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("its book, claim, kind or cited words are empty or no text")
    if not isinstance(row["supported"], bool):
        raise ValueError("`supported` is neither true nor false")
    if "cites" in row and not row["cites"]:
        raise ValueError("`cites` is empty")
    return row


def _build_claim(row: Row, part: str, chunks: dict[str, list[Chunk]]) -> Case:
    if "cites" in row:
        passages = _find_passages(row, chunks)
        return Case(row["book"], part, row["kind"], row["supported"], " ".join(row["claim"].split()), passages)
    if "premise" not in row:
        row["premise"] = _load_passages()[row["book"], row["near"]]
    return build_claim_case(row, part, row["kind"])


@cache
def _load_passages() -> dict[tuple[str, str], str]:
    """The passages of the training data by their book and first characters."""
    with gzip.open(DATA / "reading" / "book_reading.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = map(json.loads, file)
        return {(row["book"], row["context"][:OPENING_CHARACTERS]): row["context"] for row in rows}


def build_claim_case(row: Row, part: str, kind: str) -> Case:
    """A claim with its own premise as a sentence that cites it; `path` is the heading path of the premise, if any."""
    passage = Passage(_build_premise(row["book"], row["id"], row["premise"], row.get("path", "")), 1.0)
    return Case(row["book"], part, kind, row["supported"], " ".join(row["claim"].split()), (passage,))


def _build_premise(book: str, name: str, text: str, path: str) -> Chunk:
    place = Place(book, "", "", path, (), "", 0, len(text))
    spans = (SourceSpan(0, len(text), 0, len(text)),)
    return Chunk(f"{book} {name}", text, place, 0, spans, tuple(split_sentences(text)))


def _list_sources() -> dict[str, Path]:
    """The sources of all books that exist."""
    return {each.name: each.source for each in list_question_sets() if each.source.is_dir()}


def _list_cited_files(row: Row) -> set[tuple[str, str]]:
    """The book of a sentence and each of the files that it cites."""
    return {(row["book"], cited["file"]) for cited in row.get("cites", ())}


def _load_cited_chunks(cited: set[tuple[str, str]]) -> dict[str, list[Chunk]]:
    """The chunks of these files by their book, for all books that exist."""
    sources = _list_sources()
    return {
        name: load_chunks(sources[name], {file for book, file in cited if book == name})
        for name in {book for book, _ in cited} & {*sources}
    }


def load_chunks(source: Path, files: set[str]) -> list[Chunk]:
    """The chunks of these files of a book."""
    with closing(ModelRuntime()) as models:
        embedder = OnnxEmbedder(models)
        count_tokens = cache(embedder.count_tokens)
        pages = [page for page in parse_book(source).pages if page.file in files]
        return [chunk for page in pages for chunk in split_page(page, count_tokens, embedder.max_tokens)]


def _find_passages(row: Row, chunks: dict[str, list[Chunk]]) -> tuple[Passage, ...]:
    """The passages that a sentence cites."""
    if row["book"] not in chunks and row["cites"]:
        raise LookupError(f"there is no book {row['book']!r} in {DATA / 'books'}; set BOOKBOUND_SHARED")
    return tuple(Passage(find_cited_chunk(cited, chunks[row["book"]]), 1.0) for cited in row["cites"])


def find_cited_chunk(cited: Row, chunks: Sequence[Chunk]) -> Chunk:
    """The chunk with the given words, and with a planted instruction at its end if there is one."""
    words = " ".join(cited["words"].split())
    of_file = (each for each in chunks if each.place.file == cited["file"])
    found = next((each for each in of_file if words in " ".join(each.text.split())), None)
    if found is None:
        raise LookupError(f"no chunk of {cited['file']} has the words {words!r}")
    if "planted" not in cited:
        return found
    start = len(found.text) + 2
    unit = QuotableUnit("sentence", start, start + len(cited["planted"]))
    text = f"{found.text}\n\n{cited['planted']}"
    return replace(found, id=f"{found.id} {cited['planted']}", text=text, units=(*found.units, unit))
