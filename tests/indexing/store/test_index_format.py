"""Tests that stored values are restored exactly, and that invalid values are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, get_args

import pytest

from bookbound.domain.chunk import Chunk, QuotableUnit, UnitKind
from bookbound.domain.document import BlockKind, InlineKind, MarkupSpan, PageBreak
from bookbound.domain.errors import CorruptIndexError
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.indexing.store import index_format

Make = Callable[..., Chunk]
MISSING = object()


def test_a_chunk_survives_the_round_trip(chunk: Make) -> None:
    original = replace(chunk(4), page_breaks=(PageBreak(3, 8, "vi", "page=8"),))
    stored = json.loads(json.dumps(index_format.dump_chunk(original)))
    assert index_format.load_chunk(original.id, stored) == original


def test_units_of_every_kind_survive_the_round_trip(chunk: Make) -> None:
    original = replace(chunk(4), units=tuple(QuotableUnit(kind, i, 2 * i) for i, kind in enumerate(get_args(UnitKind))))
    stored = json.loads(json.dumps(index_format.dump_chunk(original)))
    assert index_format.load_chunk(original.id, stored).units == original.units


def test_markup_of_every_kind_survives_the_round_trip(chunk: Make) -> None:
    kinds = (*get_args(BlockKind), *get_args(InlineKind))
    markup = tuple(MarkupSpan(kind, i, 2 * i, f"value {i}") for i, kind in enumerate(kinds))
    original = replace(chunk(4), offset=120, markup=markup)
    stored = json.loads(json.dumps(index_format.dump_chunk(original)))
    assert index_format.load_chunk(original.id, stored) == original


@pytest.mark.parametrize("row", [[0, 1, 2], [99, 0, 4, ""], [0, 0, 4, 5], "abcd"])
def test_invalid_markup_is_damage(chunk: Make, row: object) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", index_format.dump_chunk(chunk(4)) | {"markup": [row]})


@pytest.mark.parametrize("cut", [(True, False), (False, True), (True, True)])
def test_a_cut_chunk_survives_the_round_trip(chunk: Make, cut: tuple[bool, bool]) -> None:
    original = replace(chunk(4), cut_start=cut[0], cut_end=cut[1])
    stored = json.loads(json.dumps(index_format.dump_chunk(original)))
    assert stored["cut"] == list(cut)
    assert index_format.load_chunk(original.id, stored) == original


@pytest.mark.parametrize("cut", [[], [True], [True, False, True], [0, 1], "ab"])
def test_an_invalid_cut_is_damage(chunk: Make, cut: object) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", index_format.dump_chunk(chunk(4)) | {"cut": cut})


@pytest.mark.parametrize("numbers", [[0, 1], [9, 0, 4], [-1, 0, 4]])
def test_invalid_units_are_damage(chunk: Make, numbers: list[int]) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", index_format.dump_chunk(chunk(4)) | {"units": numbers})


@pytest.mark.parametrize("value", [{"page": -1}, {"position": -1}, {"offset": -1}, {"start": -1}, {"end": -1}])
def test_numbers_that_no_book_has_are_damage(chunk: Make, value: dict[str, int]) -> None:
    with pytest.raises(CorruptIndexError):
        index_format.load_chunk("id", index_format.dump_chunk(chunk(4)) | value)


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "position",
        "file",
        "headings",
        "start",
        "page",
        "spans",
        "units",
        "page_breaks",
        "cut",
        "offset",
        "markup",
    ],
)
@pytest.mark.parametrize("value", [MISSING, 1.5, {"a": 1}, ["x", 2, None]])
def test_a_value_of_another_type_is_damage(chunk: Make, name: str, value: Any) -> None:
    stored = index_format.dump_chunk(chunk(4))
    if value is MISSING:
        del stored[name]
    else:
        stored[name] = value
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", stored)


@pytest.mark.parametrize("stored", [None, {}])
def test_an_empty_record_is_damage(stored: dict[str, Any] | None) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", stored)


def test_an_incomplete_list_of_spans_is_damage(chunk: Make) -> None:
    stored = index_format.dump_chunk(chunk(4))
    stored["spans"] = stored["spans"][:-1]
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_chunk("id", stored)


def test_the_digest_depends_on_ids_and_hashes() -> None:
    digests = {
        index_format.digest_chunks(hashes) for hashes in ({"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"}, {})
    }
    assert len(digests) == 5


def test_only_format_eight_is_loaded(empty_manifest: Manifest) -> None:
    stored = index_format.dump_manifest(empty_manifest)
    assert stored["format"] == 8
    with pytest.raises(index_format.IndexFormatError, match=r"\(format 7\)\. Index the book again"):
        index_format.load_manifest(json.dumps(stored | {"format": 7}))


def test_a_manifest_survives_the_round_trip_next_to_other_values(empty_manifest: Manifest) -> None:
    original = replace(empty_manifest, chapters=(ChapterSummary("Ünïcode", 2, 6),))
    text = json.dumps(index_format.dump_manifest(original) | {"files": {"a": "b"}})
    assert index_format.load_manifest(text) == (original, {"files": {"a": "b"}})


TEXTS = ("title", "kind", "embedder", "splitter", "generation", "created", "digest")
INVALID: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(TEXTS, (None, 1, ["x"], {"a": "b"})),
    **dict.fromkeys(("dimension", "pages", "chunks"), (None, 1.5, "1", ["x"], {"a": 1})),
    "average_words": (None, "1", ["x"], {"a": 1}, 10**400, float("nan"), float("inf")),
    "source_fingerprint": (None, 1, ["x"]),
    "outside_files": (None, 1, "abc", [1], {"abc": 1}),
    "page_fingerprints": (
        None,
        1,
        "abc",
        ["abc"],
        [["x"]],
        [["x", "y", "z", "1"]],
        [["x", 1, "z", 1]],
        [["x", "y", "z", 1, 1]],
    ),
    "language": (None, 1, ["English"]),
    "chapters": (None, 1, "abc", ["abc"], [["x"]], [["x", "y", 1]], [["x", 1, 1, 1]], {"abc": 1}),
}


def test_every_field_of_a_manifest_is_tested_with_other_types() -> None:
    assert INVALID.keys() == {field.name for field in fields(Manifest)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in INVALID.items() for value in values])
def test_a_manifest_with_a_value_of_another_type_is_damage(empty_manifest: Manifest, name: str, value: object) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_manifest(json.dumps(index_format.dump_manifest(empty_manifest) | {name: value}))


def test_an_older_manifest_without_a_language_is_of_an_english_book(empty_manifest: Manifest) -> None:
    stored = index_format.dump_manifest(replace(empty_manifest, language="German"))
    assert index_format.load_manifest(json.dumps(stored))[0].language == "German"
    del stored["language"]
    assert index_format.load_manifest(json.dumps(stored))[0].language == "English"


def test_a_deeply_nested_manifest_is_damage() -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        index_format.load_manifest("[" * 200_000)
