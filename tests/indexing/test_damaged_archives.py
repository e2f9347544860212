"""Tests that damaged archives are refused, at little cost."""

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
from bookbound.indexing.archive import (
    CHUNKS_MEMBER,
    MANIFEST_MEMBER,
    MAX_MANIFEST_BYTES,
    VECTORS_MEMBER,
    archive_comment,
    export_index,
    is_index_archive,
    open_archive,
)
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder


@pytest.fixture(scope="module")
def exported_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns an exported file."""
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


def count_chunks(file: Path) -> int:
    """Returns the number of chunks that an import reads."""
    with open_archive(file) as exported:
        exported.verify()
        return sum(len(chunks) for chunks, _ in exported.batches())


def read_members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(
    file: Path, parts: dict[str, bytes], values: Mapping[str, object] = {}, compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """Writes a file with right hashes and any members, whose manifest has other values."""
    checksums = {name: hashlib.sha256(parts[name]).hexdigest() for name in (CHUNKS_MEMBER, VECTORS_MEMBER)}
    manifest: dict[str, Any] = json.loads(parts[MANIFEST_MEMBER]) | {"members": checksums} | {**values}
    content = json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name in (CHUNKS_MEMBER, VECTORS_MEMBER):
            archive.writestr(name, parts[name])
        archive.writestr(MANIFEST_MEMBER, content)
        archive.comment = archive_comment(content)
    return file


def test_an_exported_file_is_accepted(exported_file: Path, tmp_path: Path) -> None:
    assert is_index_archive(exported_file)
    assert count_chunks(exported_file) == count_chunks(forge(tmp_path / "f", read_members(exported_file))) == 3


@pytest.mark.parametrize(
    "values",
    [
        {"chunks": 0},
        {"average_words": float("nan")},
        {"average_words": float("inf")},
        {"dimension": 1 << 40},
        {"dimension": 0},
        {"title": "half \ud800"},
        {"digest": 64 * "0"},
        {"page_fingerprints": []},
        {"members": []},
        {"more": 1},
    ],
    ids=str,
)
def test_an_invalid_manifest_is_refused_even_with_the_right_hash(
    values: dict[str, object], exported_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="not an exported index"):
        count_chunks(forge(tmp_path / "f", read_members(exported_file), values))


def change_first_chunk(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Changes the first chunk."""

    def changed(lines: bytes) -> bytes:
        first, _, rest = lines.partition(b"\n")
        change(chunk := json.loads(first))
        return json.dumps(chunk).encode() + b"\n" + rest

    return changed


CHANGED: dict[str, Callable[[bytes], bytes]] = {
    "an id is no UUID": change_first_chunk(lambda chunk: chunk.update(id="../up")),
    "an id is a number": change_first_chunk(lambda chunk: chunk.update(id=7)),
    "an id is zero": change_first_chunk(lambda chunk: chunk.update(id="00000000-0000-0000-0000-000000000000")),
    "a text is half a letter": change_first_chunk(lambda chunk: chunk.update(text="half \ud800")),
    "a title is half a letter": change_first_chunk(lambda chunk: chunk.update(title="half \ud800")),
    "a key too many": change_first_chunk(lambda chunk: chunk.update(more=1)),
    "a key is missing": change_first_chunk(lambda chunk: chunk.pop("url")),
    "a chunk is of another file": change_first_chunk(lambda chunk: chunk.update(file="elsewhere.md")),
    "a chunk is repeated": lambda lines: lines.partition(b"\n")[0] + b"\n" + lines,
    "a line is a list": lambda lines: b"[]\n" + lines.partition(b"\n")[2],
    "a line is nested": lambda lines: b"[" * 100_000 + b"\n" + lines.partition(b"\n")[2],
    "a line does not end": lambda lines: lines + b" " * (1 << 22),
}


@pytest.mark.parametrize("how", CHANGED)
def test_an_invalid_chunk_is_refused_even_with_the_right_hash(how: str, exported_file: Path, tmp_path: Path) -> None:
    content = read_members(exported_file)
    changed = CHANGED[how](content[CHUNKS_MEMBER])
    with pytest.raises(SourceError, match="not an exported index"):
        count_chunks(forge(tmp_path / "f", content | {CHUNKS_MEMBER: changed}))


def test_a_file_of_another_version_is_reported_as_such(exported_file: Path, tmp_path: Path) -> None:
    file = forge(tmp_path / "f", read_members(exported_file), {"format": 4})
    with pytest.raises(SourceError, match="Another version"):
        count_chunks(file)
    assert is_index_archive(file)


def test_a_compression_method_that_takes_much_memory_is_refused(exported_file: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        count_chunks(forge(tmp_path / "f", read_members(exported_file), compression=zipfile.ZIP_LZMA))


def test_a_pipe_or_folder_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(SourceError, match="not an exported index"):
            count_chunks(tmp_path / name)


def test_a_changed_byte_is_harmless_or_detected(exported_file: Path, tmp_path: Path) -> None:
    content, chance, file = exported_file.read_bytes(), random.Random(3), tmp_path / "f"
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        file.write_bytes(damaged)
        try:
            assert count_chunks(file) == 3
        except SourceError:
            continue


BOMB = """
import resource, sys
from pathlib import Path
from bookbound.domain.errors import SourceError
from bookbound.indexing.archive import open_archive
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    with open_archive(Path(sys.argv[1])):
        pass
except SourceError:
    print("refused")
"""


@pytest.mark.parametrize("size", [MAX_MANIFEST_BYTES, 4 * MAX_MANIFEST_BYTES], ids=["largest", "larger"])
def test_a_zip_bomb_takes_little_memory(size: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(file := tmp_path / "f", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST_MEMBER, b"[" + b"{}," * (size // 3 - 1) + b"0]")
        archive.writestr(CHUNKS_MEMBER, b"")
        archive.writestr(VECTORS_MEMBER, b"")
    done = subprocess.run([sys.executable, "-c", BOMB, str(file)], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
