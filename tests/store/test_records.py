"""Chunks as plain values: exact there and back, and refused where they are not what was written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bookbound.book import Chapter, Chunk, Manifest
from bookbound.errors import DamagedIndex
from bookbound.store import records

Make = Callable[..., Chunk]
MISSING = object()


def test_a_record_becomes_the_chunk_again(chunk: Make) -> None:
    made = chunk(4)
    assert records.chunk(made.id, records.record(made)) == made


@pytest.mark.parametrize("name", ["text", "position", "file", "headings", "start", "page", "runs"])
@pytest.mark.parametrize("value", [MISSING, 1.5, {"a": 1}, ["x", 2, None]])
def test_a_record_that_is_not_as_written_is_damage(chunk: Make, name: str, value: Any) -> None:
    kept = records.record(chunk(4))
    if value is MISSING:
        del kept[name]
    else:
        kept[name] = value
    with pytest.raises(DamagedIndex, match="Index the book again"):
        records.chunk("id", kept)


@pytest.mark.parametrize("kept", [None, {}])
def test_a_record_that_is_empty_is_damage(kept: dict[str, Any] | None) -> None:
    with pytest.raises(DamagedIndex, match="Index the book again"):
        records.chunk("id", kept)


def test_runs_that_are_cut_short_are_damage(chunk: Make) -> None:
    kept = records.record(chunk(4))
    kept["runs"] = kept["runs"][:-1]
    with pytest.raises(DamagedIndex, match="Index the book again"):
        records.chunk("id", kept)


def test_the_digest_depends_on_ids_and_hashes() -> None:
    digests = {records.digest(hashes) for hashes in ({"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"}, {})}
    assert len(digests) == 5


def test_a_manifest_becomes_itself_again_beside_what_else_was_kept(blank: Manifest) -> None:
    made = replace(blank, chapters=(Chapter("Machines", 2, 6),), vocabulary=Counter(["torque", "torque", "ünïcode"]))
    text = json.dumps(records.dump(made) | {"files": {"a": "b"}})
    assert records.load(text) == (made, {"files": {"a": "b"}})
