"""The file that an index moves in: whatever is wrong with it is told as that, and costs little."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bookbound.domain.errors import SourceError
from bookbound.indexing.archive import export_index
from bookbound.indexing.archive_format import (
    CHUNKS_MEMBER,
    MANIFEST_MEMBER,
    MAX_MANIFEST_BYTES,
    VECTORS_MEMBER,
    archive_comment,
    is_index_archive,
    open_archive,
)
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as it is exported."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "book").mkdir()
    for number in range(3):
        (folder / "book" / f"page{number}.md").write_text(f"# Page {number}\n\nWörds of page {number}.\n")
    store = EdgeStore(folder / "index")
    asyncio.run(
        build_index(BookSource(lambda: parse_book(folder / "book")), ScriptedEmbedder(), store, lambda *_: None)
    )
    asyncio.run(export_index(store, folder / "f", lambda *_: None))
    return folder / "f"


def taken(file: Path) -> int:
    """How many chunks an import would take of a file."""
    with open_archive(file) as exported:
        exported.check()
        return sum(len(chunks) for chunks, _ in exported.batches())


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forged(
    file: Path, held: dict[str, bytes], said: Mapping[str, object] = {}, how: int = zipfile.ZIP_DEFLATED
) -> Path:
    """A file whose hashes are those of what it holds, whatever that is, and whose manifest says something else."""
    prints = {name: hashlib.sha256(held[name]).hexdigest() for name in (CHUNKS_MEMBER, VECTORS_MEMBER)}
    manifest: dict[str, Any] = json.loads(held[MANIFEST_MEMBER]) | {"members": prints} | {**said}
    content = json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with zipfile.ZipFile(file, "w", how) as archive:
        for name in (CHUNKS_MEMBER, VECTORS_MEMBER):
            archive.writestr(name, held[name])
        archive.writestr(MANIFEST_MEMBER, content)
        archive.comment = archive_comment(content)
    return file


def test_a_file_is_taken_as_it_was_exported(whole: Path, tmp_path: Path) -> None:
    assert is_index_archive(whole)
    assert taken(whole) == taken(forged(tmp_path / "f", members(whole))) == 3


@pytest.mark.parametrize(
    "said",
    [
        {"chunks": 0},
        {"average_words": float("nan")},
        {"average_words": float("inf")},
        {"dimension": 1 << 40},
        {"dimension": 0},
        {"title": "half \ud800"},
        {"digest": 64 * "0"},
        {"sheets": []},
        {"members": []},
        {"more": 1},
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be_is_told_as_that_also_where_its_hash_is_right(
    said: dict[str, object], whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="no exported index"):
        taken(forged(tmp_path / "f", members(whole), said))


def line(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A change to the first chunk."""

    def changed(lines: bytes) -> bytes:
        first, _, rest = lines.partition(b"\n")
        change(kept := json.loads(first))
        return json.dumps(kept).encode() + b"\n" + rest

    return changed


CHANGED: dict[str, Callable[[bytes], bytes]] = {
    "an id is no UUID": line(lambda kept: kept.update(id="../up")),
    "an id is a number": line(lambda kept: kept.update(id=7)),
    "an id is nobody's": line(lambda kept: kept.update(id="00000000-0000-0000-0000-000000000000")),
    "a text is half a letter": line(lambda kept: kept.update(text="half \ud800")),
    "a title is half a letter": line(lambda kept: kept.update(title="half \ud800")),
    "a key too many": line(lambda kept: kept.update(more=1)),
    "a key is missing": line(lambda kept: kept.pop("url")),
    "a chunk is of another file": line(lambda kept: kept.update(file="elsewhere.md")),
    "a chunk stands twice": lambda lines: lines.partition(b"\n")[0] + b"\n" + lines,
    "a line is a list": lambda lines: b"[]\n" + lines.partition(b"\n")[2],
    "a line is nested": lambda lines: b"[" * 100_000 + b"\n" + lines.partition(b"\n")[2],
    "a line does not end": lambda lines: lines + b" " * (1 << 22),
}


@pytest.mark.parametrize("how", CHANGED)
def test_a_chunk_that_cannot_be_is_told_as_that_also_where_its_hash_is_right(
    how: str, whole: Path, tmp_path: Path
) -> None:
    held = members(whole)
    changed = CHANGED[how](held[CHUNKS_MEMBER])
    with pytest.raises(SourceError, match="no exported index"):
        taken(forged(tmp_path / "f", held | {CHUNKS_MEMBER: changed}))


def test_a_file_of_another_version_is_told_as_that(whole: Path, tmp_path: Path) -> None:
    file = forged(tmp_path / "f", members(whole), {"format": 4})
    with pytest.raises(SourceError, match="another version"):
        taken(file)
    assert is_index_archive(file)


def test_a_way_to_compress_that_takes_much_memory_is_not_followed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        taken(forged(tmp_path / "f", members(whole), how=zipfile.ZIP_LZMA))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(SourceError, match="no exported index"):
            taken(tmp_path / name)


def test_whatever_byte_is_another_the_file_is_as_it_was_or_told_as_spoilt(whole: Path, tmp_path: Path) -> None:
    content, chance, file = whole.read_bytes(), random.Random(3), tmp_path / "f"
    for _ in range(300):
        spoilt = bytearray(content)
        for _ in range(chance.choice((1, 1, 3))):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        file.write_bytes(spoilt)
        try:
            assert taken(file) == 3
        except SourceError:
            continue


BOMB = """
import resource, sys
from pathlib import Path
from bookbound.domain.errors import BadSource
from bookbound.indexing.archive_format import opened
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    with opened(Path(sys.argv[1])):
        pass
except BadSource:
    print("refused")
"""


@pytest.mark.parametrize("size", [MAX_MANIFEST_BYTES, 4 * MAX_MANIFEST_BYTES], ids=["as large as may be", "larger"])
def test_a_small_file_that_unpacks_to_a_large_manifest_takes_little_memory(size: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(file := tmp_path / "f", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST_MEMBER, b"[" + b"{}," * (size // 3 - 1) + b"0]")
        archive.writestr(CHUNKS_MEMBER, b"")
        archive.writestr(VECTORS_MEMBER, b"")
    done = subprocess.run([sys.executable, "-c", BOMB, str(file)], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
