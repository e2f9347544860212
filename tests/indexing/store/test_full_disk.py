"""Disks without room: whoever reads or writes an index there is told so, and never killed."""

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
from bookbound.domain.document import Chunk, Place
from bookbound.domain.manifest import Manifest
from bookbound.domain.errors import IndexTrouble
from bookbound.indexing.store.edge_store import EdgeStore

store = EdgeStore(Path(sys.argv[1]))

def chunk(number):
    text = " ".join(f"word{n * number % 5003}" for n in range(180))
    return Chunk(str(uuid.UUID(int=number)), text, Place("page.md", "/page", "", "Page", (), "", 0, 9), number)

async def write(count):
    async with store.draft(Manifest("title", "markdown", "seeded", 384, "none", 9.0, 1, 0)) as draft:
        for at in range(0, count, 50):
            vectors = np.random.default_rng(at).standard_normal((50, 384)).astype(np.float32)
            await draft.add([chunk(number) for number in range(at, at + 50)], vectors)
        await draft.publish()

async def read():
    index = await store.open()
    found = len(await index.search("word7", np.ones(384, np.float32), 5))
    await index.chunks("page.md")
    await index.close()
    print("found", found)

try:
    asyncio.run(write(int(sys.argv[2])) if len(sys.argv) > 2 else read())
except IndexTrouble as trouble:
    print(trouble)
"""


@pytest.fixture(scope="module")
def disk() -> Callable[..., str]:
    """Runs the book's program with a small disk of its own, and gives what it said once it ended by itself."""
    mounting = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o "size=$0" tmpfs "$1" && shift && exec "$@"']
    allowed = shutil.which("unshare") and subprocess.run([*mounting, "1m", "/mnt", "true"], capture_output=True)
    if not allowed or allowed.returncode != 0:
        pytest.skip("needs the right to mount a small disk")

    def running(place: Path, size: str, folder: Path, count: int | None = None, **environment: str) -> str:
        command = [sys.executable, "-c", BOOK, os.fspath(folder), *([] if count is None else [str(count)])]
        kept = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
        done = subprocess.run(
            [*mounting, size, os.fspath(place), *command], env=kept | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (done.returncode, done.stderr)
        return done.stdout

    return running


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book") / "index"
    subprocess.run([sys.executable, "-c", BOOK, folder, "100"], check=True)
    return folder


@pytest.mark.parametrize("size", ["64k", "4m", "12m", "16m", "20m", "32m"])
def test_a_reader_with_little_memory_reads_from_elsewhere(disk: Callable[..., str], index: Path, size: str) -> None:
    assert disk(temp_copies.MEMORY_FOLDER, size, index) == "found 5\n"


@pytest.mark.parametrize("size", ["64k", "4m", "12m", "15m"])
def test_a_reader_without_room_is_told_to_make_some(
    disk: Callable[..., str], index: Path, tmp_path: Path, size: str
) -> None:
    assert "Make room" in disk(tmp_path, size, index, TMPDIR=os.fspath(tmp_path))


def test_a_small_book_is_read_in_twenty_megabytes(disk: Callable[..., str], index: Path, tmp_path: Path) -> None:
    assert disk(tmp_path, "20m", index, TMPDIR=os.fspath(tmp_path)) == "found 5\n"


@pytest.mark.parametrize("size", ["200k", "4m", "6m", "7m", "8m"])
def test_a_writer_without_room_is_told_to_make_some(disk: Callable[..., str], tmp_path: Path, size: str) -> None:
    assert re.search("could not be written.*Make room", disk(tmp_path, size, tmp_path / "index", 2000))


def test_loading_and_reading_take_no_more_than_was_taken_by_the_copy(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.access(temp_copies.MEMORY_FOLDER, os.W_OK):
        pytest.skip("needs a place in memory: elsewhere holes stay holes when they are read")
    monkeypatch.delenv("TMPDIR", raising=False)
    asyncio.run(publish(edge, chunks))
    with FolderGenerations(folder).copied(FolderGenerations(folder).current()) as (room, _):
        before = filesystem.disk_usage(room)
        shard = qdrant_edge.EdgeShard.load(os.fspath(room))
        shard.query(qdrant_edge.QueryRequest(6, query=qdrant_edge.Query.Nearest([1.0] * 8, using="meaning")))
        assert len(shard.scroll(qdrant_edge.ScrollRequest(limit=10, with_payload=True, with_vector=True))[0]) == 6
        assert filesystem.disk_usage(room) <= before
        shard.close()


@pytest.mark.parametrize("room", [filesystem.RESERVED_BYTES - 1, filesystem.RESERVED_BYTES + 10_000])
def test_a_disk_that_fills_up_is_noticed_before_the_next_batch(
    edge: EdgeStore, chunk: Make, vectors: Vectors, blank: Manifest, folder: Path, publish: Publish,
    monkeypatch: pytest.MonkeyPatch, room: int,
) -> None:  # fmt: skip
    many = [chunk(number) for number in range(100)]
    first = asyncio.run(publish(edge, many))

    async def go() -> None:
        async with edge.draft(blank) as draft:
            await draft.add(many[:50], vectors(50))
            monkeypatch.setattr(filesystem, "free_bytes", lambda _: room)
            await draft.add(many[50:], vectors(50))

    with pytest.raises(BookIndexError, match=r"could not be written.*Make room"):
        asyncio.run(go())
    monkeypatch.undo()
    assert [path.name for path in (folder / "generations").iterdir()] == [first.generation]
    index = asyncio.run(edge.open())
    assert index.manifest == first
    asyncio.run(index.close())


def test_a_draft_that_a_disk_has_no_room_for_is_not_begun(
    edge: EdgeStore, blank: Manifest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 1_000_000)

    async def begin(count: int) -> None:
        async with edge.draft(replace(blank, chunks=count)):
            pass

    asyncio.run(begin(100))
    with pytest.raises(BookIndexError, match=r"no room for another 25 MB.*Make room"):
        asyncio.run(begin(10_000))
    assert list((folder / "generations").iterdir()) == []


def test_a_generation_is_not_optimised_without_room_for_a_second_one(
    folder: Path, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 50_000)
    with pytest.raises(BookIndexError, match=r"could not be written.*Make room"):
        asyncio.run(publish(EdgeStore(folder, optimise_above=0), chunks))


def test_the_size_of_points_covers_what_the_engine_takes_for_them(
    folder: Path, chunk: Make, vectors: Vectors, blank: Manifest, publish: Publish
) -> None:
    many = [chunk(number, f"Robot {number} says {number * 7} and sees {number % 9}. " * 20) for number in range(2000)]

    def taken(chunks: list[Chunk]) -> int:
        return filesystem.disk_usage(
            folder / "generations" / asyncio.run(publish(EdgeStore(folder), chunks)).generation
        )

    points = PointBuilder(blank).take(many, vectors(2000))
    assert taken(many) - taken(many[:1]) <= sum(point.size for point in points)
