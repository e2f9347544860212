"""Converts chunks and manifests to the plain values that every store keeps, and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import SourceSpan
from bookbound.domain.errors import BookIndexError, CorruptIndexError
from bookbound.domain.manifest import ChapterSummary, Manifest, PageFingerprint

FORMAT_VERSION = 5
DENSE_VECTOR = "meaning"
SPARSE_VECTOR = "words"
UNIT_CODES: Mapping[UnitKind, int] = {"sentence": 0, "code": 1, "row": 2, "item": 3, "formula": 4, "heading": 5}
UNIT_KINDS = {number: kind for kind, number in UNIT_CODES.items()}
T = TypeVar("T")


class IndexFormatError(BookIndexError):
    """An index was made by a version that keeps it otherwise."""


def dump_chunk(chunk: Chunk) -> dict[str, Any]:
    """Everything of a chunk but its id, flat, with its runs and its units as one row of numbers each."""
    place = chunk.place
    return {
        "text": chunk.text,
        "position": chunk.position,
        "file": place.file,
        "url": place.url,
        "chapter": place.chapter,
        "title": place.title,
        "headings": list(place.headings),
        "anchor": place.anchor,
        "start": place.start,
        "end": place.end,
        "page": place.page,
        "label": place.label,
        "runs": [number for run in chunk.runs for number in run],
        "units": [number for kind, start, end in chunk.units for number in (UNIT_CODES[kind], start, end)],
    }


def load_chunk(name: str, kept: Mapping[str, Any] | None) -> Chunk:
    """The chunk that `record` was made from."""
    try:
        return _parse_chunk(name, kept or {})
    except (KeyError, TypeError, ValueError) as trouble:
        raise CorruptIndexError(
            "The index is damaged: it holds a chunk that cannot be read. Index the book again."
        ) from trouble


def digest_chunks(hashes: Mapping[str, str]) -> str:
    """One hash for all chunks, from each one's id and hash of its words, in whatever order they came."""
    return hashlib.sha256("".join(f"{name} {hashes[name]}\n" for name in sorted(hashes)).encode()).hexdigest()


def dump_manifest(manifest: Manifest) -> dict[str, Any]:
    """A manifest as JSON can hold it, with the number of this format."""
    values = {field.name: getattr(manifest, field.name) for field in fields(manifest)}
    chapters = [[chapter.title, chapter.pages, chapter.chunks] for chapter in manifest.chapters]
    return {
        "format": FORMAT_VERSION,
        **values,
        "chapters": chapters,
        "sheets": [list(sheet) for sheet in manifest.sheets],
    }


def load_manifest(text: str | bytes) -> tuple[Manifest, dict[str, Any]]:
    """The manifest in a JSON text, and what else stands beside it there."""
    try:
        values = _expect_type(dict, json.loads(text))
        made_as = _expect_type(int, values.pop("format"))
        if made_as != FORMAT_VERSION:
            raise IndexFormatError(_format_message(made_as))
        return _parse_manifest({field.name: values.pop(field.name) for field in fields(Manifest)}), values
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as trouble:
        raise CorruptIndexError("The index is damaged: its manifest cannot be read. Index the book again.") from trouble


def _parse_manifest(kept: Mapping[str, Any]) -> Manifest:
    chapters = [_expect_type(list, chapter) for chapter in _expect_type(list, kept["chapters"])]
    sheets = [_expect_type(list, sheet) for sheet in _expect_type(list, kept["sheets"])]
    return Manifest(
        title=_expect_type(str, kept["title"]),
        kind=_expect_type(str, kept["kind"]),
        embedder=_expect_type(str, kept["embedder"]),
        dimension=_expect_type(int, kept["dimension"]),
        splitter=_expect_type(str, kept["splitter"]),
        average_words=_expect_finite(0.0 + kept["average_words"]),
        pages=_expect_type(int, kept["pages"]),
        chunks=_expect_type(int, kept["chunks"]),
        chapters=tuple(
            ChapterSummary(_expect_type(str, title), _expect_type(int, pages), _expect_type(int, held))
            for title, pages, held in chapters
        ),
        source=_expect_type(str, kept["source"]),
        beside=tuple(_expect_type(str, file) for file in _expect_type(list, kept["beside"])),
        sheets=tuple(
            PageFingerprint(
                _expect_type(str, file), _expect_type(str, mark), _expect_type(str, words), _expect_type(int, held)
            )
            for file, mark, words, held in sheets
        ),
        generation=_expect_type(str, kept["generation"]),
        created=_expect_type(str, kept["created"]),
        digest=_expect_type(str, kept["digest"]),
    )


def _parse_chunk(name: str, kept: Mapping[str, Any]) -> Chunk:
    page = kept["page"]
    return Chunk(
        id=name,
        text=_expect_type(str, kept["text"]),
        position=_expect_type(int, kept["position"]),
        runs=tuple(SourceSpan(*numbers) for numbers in _split_rows(kept["runs"], 4)),
        units=tuple(QuotableUnit(UNIT_KINDS[kind], start, end) for kind, start, end in _split_rows(kept["units"], 3)),
        place=Place(
            file=_expect_type(str, kept["file"]),
            url=_expect_type(str, kept["url"]),
            chapter=_expect_type(str, kept["chapter"]),
            title=_expect_type(str, kept["title"]),
            headings=tuple(_expect_type(str, heading) for heading in _expect_type(list, kept["headings"])),
            anchor=_expect_type(str, kept["anchor"]),
            start=_expect_type(int, kept["start"]),
            end=_expect_type(int, kept["end"]),
            page=None if page is None else _expect_type(int, page),
            label=_expect_type(str, kept["label"]),
        ),
    )


def _split_rows(value: Any, length: int) -> Iterator[list[int]]:
    numbers = [_expect_type(int, number) for number in _expect_type(list, value)]
    return (numbers[at : at + length] for at in range(0, len(numbers), length))


def _expect_type(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected")
    return value


def _expect_finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("a number expected")
    return number


def _format_message(made_as: int) -> str:
    if made_as > FORMAT_VERSION:
        return (
            f"The index was made by a newer Bookbound (format {made_as}; this one reads {FORMAT_VERSION}). "
            "Install that version, or index the book again."
        )
    return f"The index was made by an older Bookbound (format {made_as}). Index the book again."
