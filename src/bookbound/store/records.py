"""Chunks and manifests as the plain values that every engine keeps."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from bookbound.book import Chunk, Place, Run, Unit, UnitKind
from bookbound.errors import DamagedIndex, IndexTrouble
from bookbound.manifest import Chapter, Manifest, Sheet

FORMAT = 5
MEANING = "meaning"
WORDS = "words"
UNITS: Mapping[UnitKind, int] = {"sentence": 0, "code": 1, "row": 2, "item": 3, "formula": 4, "heading": 5}
KINDS = {number: kind for kind, number in UNITS.items()}
T = TypeVar("T")


class OtherFormat(IndexTrouble):
    """An index was made by a version that keeps it otherwise."""


def record(chunk: Chunk) -> dict[str, Any]:
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
        "units": [number for kind, start, end in chunk.units for number in (UNITS[kind], start, end)],
    }


def chunk(name: str, kept: Mapping[str, Any] | None) -> Chunk:
    """The chunk that `record` was made from."""
    try:
        return _chunk(name, kept or {})
    except (KeyError, TypeError, ValueError) as trouble:
        raise DamagedIndex(
            "The index is damaged: it holds a chunk that cannot be read. Index the book again."
        ) from trouble


def digest(hashes: Mapping[str, str]) -> str:
    """One hash for all chunks, from each one's id and hash of its words, in whatever order they came."""
    return hashlib.sha256("".join(f"{name} {hashes[name]}\n" for name in sorted(hashes)).encode()).hexdigest()


def dump(manifest: Manifest) -> dict[str, Any]:
    """A manifest as JSON can hold it, with the number of this format."""
    values = {field.name: getattr(manifest, field.name) for field in fields(manifest)}
    chapters = [[chapter.title, chapter.pages, chapter.chunks] for chapter in manifest.chapters]
    return {"format": FORMAT, **values, "chapters": chapters, "sheets": [list(sheet) for sheet in manifest.sheets]}


def load(text: str | bytes) -> tuple[Manifest, dict[str, Any]]:
    """The manifest in a JSON text, and what else stands beside it there."""
    try:
        values = _is(dict, json.loads(text))
        made_as = _is(int, values.pop("format"))
        if made_as != FORMAT:
            raise OtherFormat(_told(made_as))
        return _manifest({field.name: values.pop(field.name) for field in fields(Manifest)}), values
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as trouble:
        raise DamagedIndex("The index is damaged: its manifest cannot be read. Index the book again.") from trouble


def _manifest(kept: Mapping[str, Any]) -> Manifest:
    chapters = [_is(list, chapter) for chapter in _is(list, kept["chapters"])]
    sheets = [_is(list, sheet) for sheet in _is(list, kept["sheets"])]
    return Manifest(
        title=_is(str, kept["title"]),
        kind=_is(str, kept["kind"]),
        embedder=_is(str, kept["embedder"]),
        dimension=_is(int, kept["dimension"]),
        splitter=_is(str, kept["splitter"]),
        average_words=_finite(0.0 + kept["average_words"]),
        pages=_is(int, kept["pages"]),
        chunks=_is(int, kept["chunks"]),
        chapters=tuple(Chapter(_is(str, title), _is(int, pages), _is(int, held)) for title, pages, held in chapters),
        source=_is(str, kept["source"]),
        beside=tuple(_is(str, file) for file in _is(list, kept["beside"])),
        sheets=tuple(
            Sheet(_is(str, file), _is(str, mark), _is(str, words), _is(int, held)) for file, mark, words, held in sheets
        ),
        generation=_is(str, kept["generation"]),
        created=_is(str, kept["created"]),
        digest=_is(str, kept["digest"]),
    )


def _chunk(name: str, kept: Mapping[str, Any]) -> Chunk:
    page = kept["page"]
    return Chunk(
        id=name,
        text=_is(str, kept["text"]),
        position=_is(int, kept["position"]),
        runs=tuple(Run(*numbers) for numbers in _rows(kept["runs"], 4)),
        units=tuple(Unit(KINDS[kind], start, end) for kind, start, end in _rows(kept["units"], 3)),
        place=Place(
            file=_is(str, kept["file"]),
            url=_is(str, kept["url"]),
            chapter=_is(str, kept["chapter"]),
            title=_is(str, kept["title"]),
            headings=tuple(_is(str, heading) for heading in _is(list, kept["headings"])),
            anchor=_is(str, kept["anchor"]),
            start=_is(int, kept["start"]),
            end=_is(int, kept["end"]),
            page=None if page is None else _is(int, page),
            label=_is(str, kept["label"]),
        ),
    )


def _rows(value: Any, length: int) -> Iterator[list[int]]:
    numbers = [_is(int, number) for number in _is(list, value)]
    return (numbers[at : at + length] for at in range(0, len(numbers), length))


def _is(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected")
    return value


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("a number expected")
    return number


def _told(made_as: int) -> str:
    if made_as > FORMAT:
        return (
            f"The index was made by a newer Bookbound (format {made_as}; this one reads {FORMAT}). "
            "Install that version, or index the book again."
        )
    return f"The index was made by an older Bookbound (format {made_as}). Index the book again."
