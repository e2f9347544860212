"""Defines what all stores share: generation ids, the stored form of chunks and manifests, and their errors."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import BlockKind, InlineKind, MarkupSpan, PageBreak, SourceSpan
from bookbound.domain.errors import BookIndexError, CorruptIndexError, NoEarlierGenerationError
from bookbound.domain.manifest import DEFAULT_LANGUAGE, ChapterSummary, Manifest, PageFingerprint

if TYPE_CHECKING:
    from bookbound.indexing.store.edge_shard import SparseVector


FORMAT_VERSION = 8
DENSE_VECTOR, SPARSE_VECTOR = "dense", "sparse"
DENSE_WEIGHT = 4
"""Dense similarity counts four times as much as shared words, because readers ask in their own words."""
KEPT_GENERATIONS = 3  # two to roll back to; each takes the whole size of the index
NO_INDEX_MESSAGE = "Nothing has been indexed here yet. Index a book first: bookbound index SOURCE"
# Numbers that are stored: a new kind gets a new one, and none is used again.
UNIT_CODES: Mapping[UnitKind, int] = {"sentence": 0, "code": 1, "row": 2, "item": 3, "formula": 4, "heading": 5}
UNIT_KINDS = {number: kind for kind, number in UNIT_CODES.items()}
MARKUP_CODES: Mapping[BlockKind | InlineKind, int] = {
    **{"heading": 0, "paragraph": 1, "code": 2, "table": 3, "row": 4, "list": 5, "item": 6, "admonition": 7},
    **{"formula": 8, "definition": 9, "quote": 10},
    **{"inline_code": 11, "inline_formula": 12, "emphasis": 13, "strong": 14, "link": 15, "picture": 16},
}
MARKUP_KINDS = {number: kind for kind, number in MARKUP_CODES.items()}
_GENERATION_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}")
_MANIFEST_FIELDS = tuple(field.name for field in fields(Manifest))
_PLACE_FIELDS = tuple(field.name for field in fields(Place) if field.name != "book")
T = TypeVar("T")


class IndexFormatError(BookIndexError):
    """Another version of Bookbound made the index, in another format."""


class IndexPoint(NamedTuple):
    """A chunk with its vectors, as an engine stores it."""

    chunk: Chunk
    dense: list[float]
    sparse: SparseVector

    @property
    def max_bytes(self) -> int:
        """An upper bound of the bytes that an engine needs for it."""
        numbers = len(self.dense) + 2 * len(self.sparse.indices)
        return len(json.dumps(dump_chunk(self.chunk))) + 8 * numbers + 1024


class SearchHit(NamedTuple):
    """The id of a chunk that an engine found, with the engine's own score."""

    id: str
    score: float


def new_generation_id(age: timedelta = timedelta()) -> str:
    """Returns a new id that sorts by time: now, or `age` ago."""
    return f"{datetime.now(UTC) - age:%Y%m%dT%H%M%S%fZ}-{os.urandom(3).hex()}"


def is_generation_id(name: str) -> bool:
    return _GENERATION_ID.fullmatch(name) is not None


def dump_chunk(chunk: Chunk) -> dict[str, Any]:
    """Returns everything but the id, with the spans and the units as one flat list of numbers each."""
    return {
        "text": chunk.text,
        "position": chunk.position,
        **{name: getattr(chunk.place, name) for name in _PLACE_FIELDS},
        "headings": list(chunk.place.headings),
        "spans": [number for span in chunk.spans for number in span],
        "units": [number for kind, start, end in chunk.units for number in (UNIT_CODES[kind], start, end)],
        "cut": [chunk.cut_start, chunk.cut_end],
        "page_breaks": [list(each) for each in chunk.page_breaks],
        "offset": chunk.offset,
        "markup": [[MARKUP_CODES[span.kind], *span[1:]] for span in chunk.markup],
    }


def load_chunk(chunk_id: str, stored: Mapping[str, Any] | None) -> Chunk:
    """Reverses `dump_chunk`."""
    try:
        return _parse_chunk(chunk_id, stored or {})
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptIndexError("The index is damaged: a chunk cannot be read. Index the book again.") from error


def digest_chunks(hashes: Mapping[str, str]) -> str:
    """Returns one hash for all chunks, from their ids and text hashes, independent of their order."""
    return hashlib.sha256("".join(f"{name} {hashes[name]}\n" for name in sorted(hashes)).encode()).hexdigest()


def dump_manifest(manifest: Manifest) -> dict[str, Any]:
    """Returns the JSON values of a manifest, with the format version."""
    return {
        "format": FORMAT_VERSION,
        **{name: getattr(manifest, name) for name in _MANIFEST_FIELDS},
        "chapters": [[chapter.title, chapter.pages, chapter.chunks] for chapter in manifest.chapters],
        "page_fingerprints": [list(page) for page in manifest.page_fingerprints],
    }


def load_manifest(text: str | bytes) -> tuple[Manifest, dict[str, Any]]:
    """Returns the manifest in a JSON text, and the values that the text has besides."""
    try:
        values = _expect(dict, json.loads(text))
        version = _expect(int, values.pop("format"))
        if version != FORMAT_VERSION:
            raise IndexFormatError(_format_message(version))
        values.setdefault("language", DEFAULT_LANGUAGE)  # older indexes do not have it
        return _parse_manifest({name: values.pop(name) for name in _MANIFEST_FIELDS}), values
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CorruptIndexError("The index is damaged: its manifest cannot be read. Index the book again.") from error


@contextmanager
def report_read_errors(name: str) -> Iterator[None]:
    """Reports a missing file as damage, and an unreadable one with the reason."""
    try:
        yield
    except FileNotFoundError:
        raise damaged_file_error(name) from None
    except OSError as error:
        raise BookIndexError(
            f"The index cannot be read: {name} ({error.strerror}). Check the permissions and the disk of its folder."
        ) from error


@contextmanager
def report_write_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"The index could not be written ({error.strerror}). Check its folder and disk, then try again."
        raise BookIndexError(message) from error


def damaged_file_error(name: str) -> CorruptIndexError:
    return CorruptIndexError(f"The index is damaged: {name} is missing or has changed. Index the book again.")


def no_earlier_error(wanted: str) -> NoEarlierGenerationError:
    """Says that no earlier generation is intact, or none with the wanted id."""
    which, hint = "", "Index the book again: bookbound index SOURCE"
    if wanted:
        which, hint = " with this id", "To list the kept ones: bookbound status"
    return NoEarlierGenerationError(f"There is no earlier intact generation{which}, so nothing changed. {hint}")


def _parse_manifest(stored: dict[str, Any]) -> Manifest:
    average = 0.0 + stored["average_words"]
    if not math.isfinite(average):
        raise ValueError("finite number expected")
    texts = (
        "title",
        "kind",
        "embedder",
        "splitter",
        "source_fingerprint",
        "generation",
        "created",
        "digest",
        "language",
    )
    for name in texts:
        _expect(str, stored[name])
    for name in ("dimension", "pages", "chunks"):
        _expect(int, stored[name])
    parsed = {
        "average_words": average,
        "chapters": tuple(ChapterSummary(*row) for row in _rows((str, int, int), stored["chapters"])),
        "outside_files": tuple(_list_of(str, stored["outside_files"])),
        "page_fingerprints": tuple(
            PageFingerprint(*row) for row in _rows((str, str, str, int), stored["page_fingerprints"])
        ),
    }
    return Manifest(**(stored | parsed))


def _parse_chunk(chunk_id: str, stored: Mapping[str, Any]) -> Chunk:
    place = {name: stored[name] for name in _PLACE_FIELDS}
    for name in ("file", "url", "chapter", "title", "anchor", "page_label"):
        _expect(str, place[name])
    for name in ("start", "end"):
        _expect_count(place[name])
    if place["page"] is not None:
        _expect_count(place["page"])
    place["headings"] = tuple(_list_of(str, place["headings"]))
    cut_start, cut_end = _list_of(bool, stored["cut"])
    return Chunk(
        id=chunk_id,
        text=_expect(str, stored["text"]),
        position=_expect_count(stored["position"]),
        spans=tuple(SourceSpan(*numbers) for numbers in _split_rows(stored["spans"], 4)),
        units=tuple(QuotableUnit(UNIT_KINDS[kind], start, end) for kind, start, end in _split_rows(stored["units"], 3)),
        page_breaks=tuple(PageBreak(*row) for row in _rows((int, int, str, str), stored["page_breaks"])),
        place=Place(**place),
        cut_start=cut_start,
        cut_end=cut_end,
        offset=_expect_count(stored["offset"]),
        markup=tuple(
            MarkupSpan(MARKUP_KINDS[kind], *where) for kind, *where in _rows((int, int, int, str), stored["markup"])
        ),
    )


def _expect_count(value: Any) -> int:
    if (number := _expect(int, value)) < 0:
        raise ValueError("0 or more expected")
    return number


def _split_rows(value: Any, length: int) -> Iterator[list[int]]:
    numbers = _list_of(int, value)
    return (numbers[at : at + length] for at in range(0, len(numbers), length))


def _rows(kinds: Sequence[type], value: Any) -> Iterator[list[Any]]:
    for row in _list_of(list, value):
        yield [_expect(kind, cell) for kind, cell in zip(kinds, row, strict=True)]


def _list_of(kind: type[T], value: Any) -> list[T]:
    return [_expect(kind, item) for item in _expect(list, value)]


def _expect(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected")
    return value


def _format_message(version: int) -> str:
    if version > FORMAT_VERSION:
        return (
            f"A newer Bookbound made this index (format {version}; this version reads {FORMAT_VERSION}). "
            "Install that version, or index the book again."
        )
    return f"An older Bookbound made this index (format {version}). Index the book again."
