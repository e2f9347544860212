"""Chunks as plain values: exact there and back, and refused where they are not what was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, get_args

import pytest

from bookbound.domain.chunk import Chunk, QuotableUnit, UnitKind
from bookbound.domain.errors import CorruptIndexError
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.indexing.store import serialization

Make = Callable[..., Chunk]
MISSING = object()


def test_a_record_becomes_the_chunk_again(chunk: Make) -> None:
    made = chunk(4)
    assert serialization.load_chunk(made.id, serialization.dump_chunk(made)) == made


def test_units_of_every_kind_become_themselves_again(chunk: Make) -> None:
    made = replace(chunk(4), units=tuple(QuotableUnit(kind, i, 2 * i) for i, kind in enumerate(get_args(UnitKind))))
    kept = json.loads(json.dumps(serialization.dump_chunk(made)))
    assert serialization.load_chunk(made.id, kept).units == made.units


@pytest.mark.parametrize("numbers", [[0, 1], [9, 0, 4], [-1, 0, 4]])
def test_units_that_were_never_written_are_damage(chunk: Make, numbers: list[int]) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_chunk("id", serialization.dump_chunk(chunk(4)) | {"units": numbers})


@pytest.mark.parametrize("name", ["text", "position", "file", "headings", "start", "page", "runs", "units"])
@pytest.mark.parametrize("value", [MISSING, 1.5, {"a": 1}, ["x", 2, None]])
def test_a_record_that_is_not_as_written_is_damage(chunk: Make, name: str, value: Any) -> None:
    kept = serialization.dump_chunk(chunk(4))
    if value is MISSING:
        del kept[name]
    else:
        kept[name] = value
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_chunk("id", kept)


@pytest.mark.parametrize("kept", [None, {}])
def test_a_record_that_is_empty_is_damage(kept: dict[str, Any] | None) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_chunk("id", kept)


def test_runs_that_are_cut_short_are_damage(chunk: Make) -> None:
    kept = serialization.dump_chunk(chunk(4))
    kept["runs"] = kept["runs"][:-1]
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_chunk("id", kept)


def test_the_digest_depends_on_ids_and_hashes() -> None:
    digests = {
        serialization.digest_chunks(hashes) for hashes in ({"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"}, {})
    }
    assert len(digests) == 5


def test_a_manifest_becomes_itself_again_beside_what_else_was_kept(blank: Manifest) -> None:
    made = replace(blank, chapters=(ChapterSummary("Ünïcode", 2, 6),))
    text = json.dumps(serialization.dump_manifest(made) | {"files": {"a": "b"}})
    assert serialization.load_manifest(text) == (made, {"files": {"a": "b"}})


TEXTS = ("title", "kind", "embedder", "splitter", "generation", "created", "digest")
ODD: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(TEXTS, (None, 1, ["x"], {"a": "b"})),
    **dict.fromkeys(("dimension", "pages", "chunks"), (None, 1.5, "1", ["x"], {"a": 1})),
    "average_words": (None, "1", ["x"], {"a": 1}, 10**400, float("nan"), float("inf")),
    "source": (None, 1, ["x"]),
    "beside": (None, 1, "abc", [1], {"abc": 1}),
    "sheets": (None, 1, "abc", ["abc"], [["x"]], [["x", "y", "z", "1"]], [["x", 1, "z", 1]], [["x", "y", "z", 1, 1]]),
    "chapters": (None, 1, "abc", ["abc"], [["x"]], [["x", "y", 1]], [["x", 1, 1, 1]], {"abc": 1}),
}


def test_every_value_of_a_manifest_is_tried_with_other_types() -> None:
    assert ODD.keys() == {field.name for field in fields(Manifest)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ODD.items() for value in values])
def test_a_manifest_whose_values_are_of_other_types_is_damage(blank: Manifest, name: str, value: object) -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_manifest(json.dumps(serialization.dump_manifest(blank) | {name: value}))


def test_a_manifest_nested_beyond_all_measure_is_damage() -> None:
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        serialization.load_manifest("[" * 200_000)
