"""Tests the embedded store with several processes, kills and damage."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge
from numpy.typing import NDArray

from bookbound import filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError, CorruptIndexError, IndexLockedError
from bookbound.domain.manifest import Manifest
from bookbound.filesystem import temp_copies
from bookbound.indexing.store.edge_shard import EdgeShard
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.generations import FinishedGeneration, FolderGenerations

Make = Callable[..., Chunk]
Vectors = Callable[..., NDArray[np.float32]]
Publish = Callable[..., Coroutine[Any, Any, Manifest]]

BOOK = """
import asyncio, sys, uuid
import numpy as np
from pathlib import Path
from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.edge_store import EdgeStore

store = EdgeStore(Path(sys.argv[1]))

def chunk(number, title):
    place = Place("page.md", "/page", title, "Page", (), "", 0, 9)
    return Chunk(str(uuid.UUID(int=number)), f"{title} says something about robot {number}.", place, number)

async def write(title, count=60):
    async with store.writer(Manifest(title, "markdown", "seeded", 8, "none", 9.0, 1, count)) as writer:
        for at in range(0, count, 20):
            vectors = np.random.default_rng(at).standard_normal((20, 8)).astype(np.float32)
            await writer.add([chunk(number, title) for number in range(at, at + 20)], vectors)
        print("added", title, flush=True)
        await writer.publish()
        print("published", title, flush=True)

async def read():
    index = await store.open()
    found = await index.search("robot", np.ones(8, np.float32), 60)
    title = index.manifest.title
    assert len(found) == 60, len(found)
    assert {passage.chunk.place.chapter for passage in found} == {title}, title
    await index.close()
    return title
"""
WRITER = """
async def main():
    for number in range(int(sys.argv[2]), 1_000_000):
        await write(f"g{number}")
asyncio.run(main())
"""
READER = """
async def main():
    titles = [await read()]
    print("reading", flush=True)
    while titles[-1] != sys.argv[2]:
        titles.append(await read())
    numbers = [int(title[1:]) for title in titles]
    assert numbers == sorted(numbers), numbers
asyncio.run(main())
"""
ADDER = """
from bookbound.indexing.store.edge_shard import EdgeShard
from bookbound.indexing.store.hybrid_index import PointBuilder

builder = PointBuilder(Manifest("t", "k", "e", 8, "s", 9.0, 1, 0))
shard = EdgeShard.create(Path(sys.argv[1]), 8)
for at in range(0, 100_000, 20):
    shard.put(builder.add([chunk(number, "t") for number in range(at, at + 20)], np.ones((20, 8), np.float32)))
    print(at + 20, flush=True)
"""
COUNTER = """
import qdrant_edge
print(qdrant_edge.EdgeShard.load(sys.argv[1]).count(qdrant_edge.CountRequest()))
"""
HOLDER = """
async def hold():
    async with store.writer(Manifest("t", "k", "e", 8, "s", 9.0, 1, 0)):
        print("holding", flush=True)
        sys.stdin.read()
asyncio.run(hold())
"""
READER_WITHOUT_RIGHTS = """
import os, tempfile
asyncio.run(store.open())  # imports everything before the permissions go
os.getuid() or os.setuid(65534)
tempfile.tempdir = None
assert not os.access(sys.argv[1], os.W_OK)
print(asyncio.run(store.open()).manifest.chunks)
"""


def start(code: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Starts another process with `store` in `folder`."""
    command = [sys.executable, "-c", BOOK + code, str(folder), *map(str, arguments)]
    environment = os.environ | {"TMPDIR": str(folder.parent)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def finish(child: subprocess.Popen[str]) -> None:
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors


def read_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def read_title(folder: Path) -> str:
    """Returns the title of the published generation, which is complete."""

    async def go() -> str:
        index = await EdgeStore(folder).open()
        found = await index.search("robot", np.ones(8, np.float32), 60)
        assert len(found) == 60
        assert {passage.chunk.place.chapter for passage in found} == {index.manifest.title}
        await index.close()
        return index.manifest.title

    return asyncio.run(go())


@pytest.mark.slow
def test_many_processes_read_while_one_publishes(folder: Path) -> None:
    finish(start('asyncio.run(write("g0"))', folder))
    readers = [start(READER, folder, "g5") for _ in range(3)]
    assert [read_line(reader) for reader in readers] == ["reading"] * 3
    finish(start('for n in range(1, 6): asyncio.run(write(f"g{n}"))', folder))
    for reader in readers:
        finish(reader)


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_complete_generation_published(folder: Path) -> None:
    finish(start('asyncio.run(write("g0"))', folder))
    moments = random.Random(7)
    number = 0
    for _ in range(15):
        writer = start(WRITER, folder, number + 1)
        read_line(writer)
        time.sleep(moments.uniform(0.0, 0.25))
        writer.kill()
        lines = writer.communicate()[0].split("\n")
        acknowledged = [int(line.split(" g")[1]) for line in lines if line.startswith("published")]
        found = int(read_title(folder)[1:])
        assert found in (max(acknowledged, default=number), max(acknowledged, default=number) + 1)
        number = found
    finish(start('asyncio.run(write("last"))', folder))
    listed = [line.split()[0] for line in (folder / "current").read_text().splitlines()]
    assert sorted(path.name for path in (folder / "generations").iterdir()) == sorted(listed)
    assert read_title(folder) == "last"


def test_a_writer_in_another_process_excludes_others_until_it_dies(
    folder: Path, chunks: list[Chunk], publish: Publish, edge: EdgeStore
) -> None:
    writer = start(HOLDER, folder)
    assert read_line(writer) == "holding"
    with pytest.raises(IndexLockedError, match="try again"):
        asyncio.run(publish(edge, chunks))
    writer.kill()
    writer.communicate()
    assert asyncio.run(publish(edge, chunks)).chunks == 6


def test_added_chunks_survive_a_kill_before_publishing(tmp_path: Path) -> None:
    writer = start(ADDER, tmp_path / "index")
    first = [read_line(writer) for _ in range(10)]
    writer.kill()
    acknowledged = [*first, *writer.communicate()[0].split("\n")[:-1]][-1]  # the last line may be half a number
    counter = start(COUNTER, tmp_path / "index")
    assert int(read_line(counter)) >= int(acknowledged) > 0
    finish(counter)


def test_a_reader_keeps_working_after_its_generation_is_removed(
    edge: EdgeStore, chunks: list[Chunk], vectors: Vectors, publish: Publish, folder: Path
) -> None:
    async def go() -> None:
        first = await publish(edge, chunks)
        index = await edge.open()
        for _ in range(4):
            await publish(edge, chunks[:1])
        assert not (folder / "generations" / first.generation).exists()
        assert len(await index.search("robot", vectors(1)[0], 6)) == 6
        assert await index.chunks("docs/page-1.md") == chunks[3:]
        await index.close()

    asyncio.run(go())


def test_reading_changes_nothing_in_the_folder(
    edge: EdgeStore, chunks: list[Chunk], vectors: Vectors, publish: Publish, folder: Path
) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}

    async def go() -> None:
        await publish(edge, chunks)
        before = state()
        for _ in range(2):
            index = await edge.open()
            await index.search("robot", vectors(1)[0], 6)
            await index.close()
        assert state() == before

    asyncio.run(go())


def test_a_reader_leaves_no_copy_behind(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", os.fspath(copies))
    monkeypatch.setattr(tempfile, "tempdir", None)
    asyncio.run(publish(edge, chunks))
    assert list(copies.iterdir()) == []
    index = asyncio.run(edge.open())
    assert list(copies.iterdir()) == []
    asyncio.run(index.close())
    assert list(copies.iterdir()) == []


def test_a_slow_reader_opens_the_newest_generation(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum_file = temp_copies.checksum_file
    first = asyncio.run(publish(edge, chunks))

    def slow(path: Path, copy: Path | None = None) -> str:
        monkeypatch.setattr(temp_copies, "checksum_file", checksum_file)
        for number in range(3):
            asyncio.run(publish(edge, chunks, title=f"later {number}"))
        return checksum_file(path, copy)

    monkeypatch.setattr(temp_copies, "checksum_file", slow)
    index = asyncio.run(edge.open())
    assert not (folder / "generations" / first.generation).exists()
    assert index.manifest.title == "later 2"
    asyncio.run(index.close())


def test_a_generation_that_the_engine_changed_is_not_published(edge: EdgeStore, chunk: Make, publish: Publish) -> None:
    other = replace(chunk(0), id="ABCDEF00-0000-0000-0000-000000000000")
    with pytest.raises(CorruptIndexError, match="what was written"):
        asyncio.run(publish(edge, [other]))
    assert asyncio.run(edge.generations()) == []


def test_damage_to_any_file_of_the_shard_is_detected(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path
) -> None:
    manifest = asyncio.run(publish(edge, chunks))
    shard = folder / "generations" / manifest.generation / "shard"
    for file in sorted(path for path in shard.rglob("*") if path.is_file()):
        aside = file.rename(file.with_suffix(".aside"))
        with pytest.raises(CorruptIndexError, match="Index the book again"):
            asyncio.run(edge.open())
        with file.open("wb") as cut:
            cut.write(aside.read_bytes()[:-1])
        with pytest.raises(CorruptIndexError, match="Index the book again"):
            asyncio.run(edge.open())
        aside.replace(file)
    asyncio.run(asyncio.wait_for(edge.open(), 60))


def damage(folder: Path, generation: str, how: str) -> None:
    generation_folder = folder / "generations" / generation
    if how == "segments":
        shutil.rmtree(generation_folder / "shard" / "segments")
    elif how == "a byte":
        file = max(
            (generation_folder / "shard").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0
        )
        file.write_bytes(file.read_bytes()[:-1] + b"\1")
    elif how == "manifest":
        (generation_folder / "manifest.json").unlink()
    else:
        shutil.rmtree(generation_folder)


@pytest.mark.parametrize("how", ["segments", "a byte", "manifest", "all"])
def test_a_rollback_skips_damaged_generations(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, how: str
) -> None:
    async def go() -> None:
        manifests = [await publish(edge, chunks, title=title) for title in "abc"]
        damage(folder, manifests[1].generation, how)
        assert (await edge.roll_back()).title == "a"
        index = await edge.open()
        assert index.manifest == manifests[0]
        await index.close()

    asyncio.run(go())


@pytest.mark.parametrize("how", ["segments", "a byte", "manifest", "all"])
def test_a_rollback_without_an_intact_generation_changes_nothing(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, how: str
) -> None:
    async def go() -> None:
        manifests = [await publish(edge, chunks, title=title) for title in "ab"]
        damage(folder, manifests[0].generation, how)
        before = (folder / "current").read_bytes()
        with pytest.raises(BookIndexError, match="no earlier intact generation"):
            await edge.roll_back()
        assert (folder / "current").read_bytes() == before
        await (await edge.open()).close()

    asyncio.run(go())


@pytest.mark.parametrize("how", ["segments", "manifest", "all"])
def test_a_rollback_replaces_a_damaged_published_generation(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, how: str
) -> None:
    async def go() -> None:
        manifests = [await publish(edge, chunks, title=title) for title in "ab"]
        damage(folder, manifests[1].generation, how)
        assert (await edge.published_generation(), await edge.roll_back()) == (manifests[1].generation, manifests[0])
        await (await edge.open()).close()

    asyncio.run(go())


def test_a_rollback_on_a_full_disk_changes_nothing(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        manifests = [await publish(edge, chunks, title=title) for title in "ab"]
        with monkeypatch.context() as full:
            full.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES)
            with pytest.raises(filesystem.DiskFullError, match="TMPDIR"):
                await edge.roll_back()
        assert await edge.published_generation() == manifests[1].generation

    asyncio.run(go())


def test_a_closed_index_cannot_be_read(
    edge: EdgeStore, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        await publish(edge, chunks)
        index = await edge.open()
        await index.close()
        await index.close()
        for request in (
            index.search("robot", vectors(1)[0], 3),
            index.match("robot", 3),
            index.chunks("docs/page-1.md"),
        ):
            with pytest.raises(BookIndexError, match="closed"):
                await request

    asyncio.run(go())


def test_an_engine_error_is_damage(tmp_path: Path, vectors: Vectors) -> None:
    other = tmp_path / "shard"
    other.mkdir()
    size = qdrant_edge.EdgeVectorParams(size=8, distance=qdrant_edge.Distance.Cosine)
    config = qdrant_edge.EdgeConfig(vectors={"other": size}, wal_enabled=False)
    point = qdrant_edge.Point(1, {"other": vectors(1)[0].tolist()}, {"file": "a.md"})

    async def go() -> None:
        engine = qdrant_edge.EdgeShard.create(str(other), config)
        engine.update(qdrant_edge.UpdateOperation.upsert_points([point]))
        shard = EdgeShard(engine)
        words = qdrant_edge.SparseVector(indices=[1], values=[1.0])
        requests: list[Awaitable[object]] = [
            shard.fuse(vectors(1)[0].tolist(), words, 3),
            shard.match(words, 3),
            shard.fetch(["no id"]),
            anext(shard.scan()),
        ]
        for each in requests:
            with pytest.raises(CorruptIndexError, match="ndex the book again"):
                await each
        await shard.close()

    asyncio.run(go())


def test_a_shard_with_too_few_chunks_is_closed(
    edge: EdgeStore, chunks: list[Chunk], publish: Publish, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[qdrant_edge.EdgeShard] = []
    load = qdrant_edge.EdgeShard.load

    class Watched:
        @staticmethod
        def load(path: str) -> qdrant_edge.EdgeShard:
            loaded.append(load(path))
            return loaded[-1]

    manifest = asyncio.run(publish(edge, chunks))
    generations = FolderGenerations(folder)
    with generations.begin() as new:
        shutil.copytree(generations.published().folder / "shard", new / "shard", dirs_exist_ok=True)
        generations.publish([FinishedGeneration.finish(new, replace(manifest, chunks=7))])
    monkeypatch.setattr(qdrant_edge, "EdgeShard", Watched)
    with pytest.raises(CorruptIndexError, match="6 of its 7 chunks"):
        asyncio.run(edge.open())
    with pytest.raises(Exception, match="not initialized"):
        loaded[0].count(qdrant_edge.CountRequest())


def test_reading_a_large_file_does_not_block_other_tasks(edge: EdgeStore, chunk: Make, publish: Publish) -> None:
    many = [chunk(number, f"Robot {number} of many.", file="long.md") for number in range(1000)]

    async def go() -> None:
        await publish(edge, many)
        index = await edge.open()
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(others())
        assert await index.chunks("long.md") == many
        assert turns > 0
        other.cancel()
        await index.close()

    asyncio.run(go())


def test_a_large_generation_is_optimized_before_it_is_published(
    folder: Path, chunk: Make, vectors: Vectors, publish: Publish
) -> None:
    many = [chunk(number, f"Robot {number} of many.") for number in range(300)]

    def segments(store: EdgeStore) -> set[str]:
        manifest = asyncio.run(publish(store, many))
        shard = folder / "generations" / manifest.generation / "shard"
        return {path.name for path in shard.glob("segments/*/*")}

    async def found() -> list[Chunk]:
        index = await EdgeStore(folder).open()
        assert index.manifest.chunks == 300
        passages = await index.search("robot 123", vectors(300)[123], 3)
        assert await index.chunks("docs/page-41.md") == many[123:126]
        await index.close()
        return [passage.chunk for passage in passages]

    plain = segments(EdgeStore(folder, optimize_above=300))
    assert asyncio.run(found())[0] == many[123]
    assert segments(EdgeStore(folder, optimize_above=299)) != plain
    assert asyncio.run(found())[0] == many[123]


def test_a_failed_optimization_leaves_the_old_generation(
    folder: Path, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asyncio.run(publish(EdgeStore(folder), chunks))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BookIndexError, match="optimized"):
        asyncio.run(publish(EdgeStore(folder, optimize_above=0), chunks))
    assert [manifest.generation for manifest in asyncio.run(EdgeStore(folder).generations())] == [first.generation]


def test_a_read_only_index_can_be_read(chunks: list[Chunk], publish: Publish) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        asyncio.run(publish(EdgeStore(folder), chunks))
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        reader = start(READER_WITHOUT_RIGHTS, folder)
        found, errors = reader.communicate(timeout=60)
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o755)
    assert found == "6\n", errors


def test_the_edge_store_does_not_import_the_qdrant_client() -> None:
    code = "import sys, bookbound.indexing.store.edge_store; print('qdrant_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
