"""Tests that readers and writers report a full run_on_small_disk instead of crashing."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge
from numpy.typing import NDArray

from bookbound import filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError
from bookbound.domain.manifest import Manifest
from bookbound.filesystem import temp_copies
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.generations import FolderGenerations
from bookbound.indexing.store.hybrid_index import PointBuilder

Make = Callable[..., Chunk]
Vectors = Callable[..., NDArray[np.float32]]
Publish = Callable[..., Coroutine[Any, Any, Manifest]]

BOOK = """
import asyncio, sys, uuid
import numpy as np
from pathlib import Path
from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.manifest import Manifest
from bookbound.domain.errors import BookIndexError
from bookbound.indexing.store.edge_store import EdgeStore

store = EdgeStore(Path(sys.argv[1]))

def chunk(number):
    text = " ".join(f"word{n * number % 5003}" for n in range(180))
    return Chunk(str(uuid.UUID(int=number)), text, Place("page.md", "/page", "", "Page", (), "", 0, 9), number)

async def write(count):
    async with store.writer(Manifest("title", "markdown", "seeded", 384, "none", 9.0, 1, 0)) as writer:
        for at in range(0, count, 50):
            vectors = np.random.default_rng(at).standard_normal((50, 384)).astype(np.float32)
            await writer.add([chunk(number) for number in range(at, at + 50)], vectors)
        await writer.publish()

async def read():
    index = await store.open()
    found = len(await index.search("word7", np.ones(384, np.float32), 5))
    await index.chunks("page.md")
    await index.close()
    print("found", found)

try:
    asyncio.run(write(int(sys.argv[2])) if len(sys.argv) > 2 else read())
except BookIndexError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def run_on_small_disk() -> Callable[..., str]:
    """Runs the program with a small run_on_small_disk mounted, and returns its output."""
    mount = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o "size=$0" tmpfs "$1" && shift && exec "$@"']
    allowed = shutil.which("unshare") and subprocess.run([*mount, "1m", "/mnt", "true"], capture_output=True)
    if not allowed or allowed.returncode != 0:
        pytest.skip("needs the permission to mount a small disk")

    def run(place: Path, size: str, folder: Path, count: int | None = None, **environment: str) -> str:
        command = [sys.executable, "-c", BOOK, os.fspath(folder), *([] if count is None else [str(count)])]
        inherited = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
        done = subprocess.run(
            [*mount, size, os.fspath(place), *command], env=inherited | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (done.returncode, done.stderr)
        return done.stdout

    return run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book") / "index"
    subprocess.run([sys.executable, "-c", BOOK, folder, "100"], check=True)
    return folder


@pytest.mark.parametrize("size", ["64k", "12m", "20m"])
def test_a_reader_with_little_memory_copies_to_the_disk(
    run_on_small_disk: Callable[..., str], index: Path, size: str
) -> None:
    assert run_on_small_disk(temp_copies.MEMORY_FOLDER, size, index) == "found 5\n"


@pytest.mark.parametrize("size", ["64k", "15m"])
def test_a_reader_on_a_full_disk_gets_an_error_that_says_to_make_room(
    run_on_small_disk: Callable[..., str], index: Path, tmp_path: Path, size: str
) -> None:
    assert "Make room" in run_on_small_disk(tmp_path, size, index, TMPDIR=os.fspath(tmp_path))


def test_a_small_book_is_read_in_twenty_megabytes(
    run_on_small_disk: Callable[..., str], index: Path, tmp_path: Path
) -> None:
    assert run_on_small_disk(tmp_path, "20m", index, TMPDIR=os.fspath(tmp_path)) == "found 5\n"


@pytest.mark.parametrize("size", ["200k", "6m", "8m"])
def test_a_writer_on_a_full_disk_gets_an_error_that_says_to_make_room(
    run_on_small_disk: Callable[..., str], tmp_path: Path, size: str
) -> None:
    assert re.search("could not be written.*Make room", run_on_small_disk(tmp_path, size, tmp_path / "index", 2000))


def test_loading_and_reading_take_no_more_space_than_the_copy(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.access(temp_copies.MEMORY_FOLDER, os.W_OK):
        pytest.skip("needs a folder in memory: on a run_on_small_disk, holes stay holes when they are read")
    monkeypatch.delenv("TMPDIR", raising=False)
    asyncio.run(publish(edge, chunks))
    with FolderGenerations(folder).published().temp_copy() as (copy, _):
        before = filesystem.disk_usage(copy)
        shard = qdrant_edge.EdgeShard.load(os.fspath(copy))
        shard.query(qdrant_edge.QueryRequest(6, query=qdrant_edge.Query.Nearest([1.0] * 8, using="dense")))
        assert len(shard.scroll(qdrant_edge.ScrollRequest(limit=10, with_payload=True, with_vector=True))[0]) == 6
        assert filesystem.disk_usage(copy) <= before
        shard.close()


@pytest.mark.parametrize("room", [filesystem.RESERVED_BYTES - 1, filesystem.RESERVED_BYTES + 10_000])
def test_a_full_disk_is_detected_before_the_next_batch(
    edge: EdgeStore, chunk: Make, vectors: Vectors, empty_manifest: Manifest, folder: Path, publish: Publish,
    monkeypatch: pytest.MonkeyPatch, room: int,
) -> None:  # fmt: skip
    many = [chunk(number) for number in range(100)]
    first = asyncio.run(publish(edge, many))

    async def go() -> None:
        async with edge.writer(empty_manifest) as writer:
            await writer.add(many[:50], vectors(50))
            monkeypatch.setattr(filesystem, "free_bytes", lambda _: room)
            await writer.add(many[50:], vectors(50))

    with pytest.raises(BookIndexError, match=r"could not be written.*Make room"):
        asyncio.run(go())
    monkeypatch.undo()
    assert [path.name for path in (folder / "generations").iterdir()] == [first.generation]
    index = asyncio.run(edge.open())
    assert index.manifest == first
    asyncio.run(index.close())


def test_a_generation_too_large_for_the_disk_is_not_begun(
    edge: EdgeStore, empty_manifest: Manifest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 1_000_000)

    async def begin(count: int) -> None:
        async with edge.writer(replace(empty_manifest, chunks=count)):
            pass

    asyncio.run(begin(100))
    with pytest.raises(BookIndexError, match=r"no room for another 25 MB.*Make room"):
        asyncio.run(begin(10_000))
    assert list((folder / "generations").iterdir()) == []


def test_a_generation_is_not_optimized_without_room_for_a_second_one(
    folder: Path, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 50_000)
    with pytest.raises(BookIndexError, match=r"could not be written.*Make room"):
        asyncio.run(publish(EdgeStore(folder, optimize_above=0), chunks))


def test_the_estimated_size_of_points_covers_what_the_engine_uses(
    folder: Path, chunk: Make, vectors: Vectors, empty_manifest: Manifest, publish: Publish
) -> None:
    many = [chunk(number, f"Robot {number} says {number * 7} and sees {number % 9}. " * 20) for number in range(2000)]

    def used_bytes(chunks: list[Chunk]) -> int:
        return filesystem.disk_usage(
            folder / "generations" / asyncio.run(publish(EdgeStore(folder), chunks)).generation
        )

    points = PointBuilder(empty_manifest).add(many, vectors(2000))
    assert used_bytes(many) - used_bytes(many[:1]) <= sum(point.max_bytes for point in points)
