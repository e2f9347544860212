"""One file that moves an index between machines, and between a folder and a server.

A ZIP archive of three members: `manifest.json`, what the index says of itself with a hash of each other member;
`chunks.jsonl`, a chunk a line; `vectors.f32`, their vectors in the same order, little-endian.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bookbound.book import Chunk
from bookbound.changes import check_whole, compare
from bookbound.errors import BadSource, IndexTrouble
from bookbound.ingest import Progress, published
from bookbound.manifest import Manifest
from bookbound.ports import Index, Store
from bookbound.store import files, records

if TYPE_CHECKING:
    from bookbound.ports import Vectors

MANIFEST, CHUNKS, VECTORS = "manifest.json", "chunks.jsonl", "vectors.f32"
LARGEST_MANIFEST, LONGEST_LINE = 1 << 28, 1 << 22
BATCH = 256
NUMBER = 4


async def export(store: Store, file: Path, progress: Progress) -> Manifest:
    """Write the published index to a file, which is whole or as it was before."""
    index = await store.open()
    try:
        with files.replacing(file) as written:
            await _write(index, written, progress)
    finally:
        await index.close()
    return index.manifest


async def import_(file: Path, store: Store, progress: Progress, *, force: bool = False) -> Manifest:
    """Publish what an exported file holds; one that is not as it was written is refused, and nothing changes."""
    with _opened(file) as archive:
        manifest, hashes = _manifest(archive)
        before = await published(store)
        if before and not force:
            check_whole(compare(before.sheets, manifest.sheets), before)
        for name in (CHUNKS, VECTORS):
            if _hash(archive, name) != hashes.get(name):
                raise _spoilt()
        async with store.draft(replace(manifest, generation="", created="", digest="")) as draft:
            done = 0
            for chunks, vectors in _batches(archive, manifest):
                await draft.add(chunks, vectors)
                progress("import", done := done + len(chunks), manifest.chunks)
            if done != manifest.chunks:
                raise _spoilt()
            return await draft.publish()


async def _write(index: Index, written: IO[bytes], progress: Progress) -> None:
    manifest, hashes = index.manifest, {name: hashlib.sha256() for name in (CHUNKS, VECTORS)}
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, each in ((CHUNKS, _lines(index)), (VECTORS, _rows(index))):
            done = 0
            with archive.open(name, "w", force_zip64=True) as member:
                async for data in each:
                    hashes[name].update(data)
                    member.write(data)
                    progress(name.partition(".")[0], done := done + 1, manifest.chunks)
            if done != manifest.chunks:
                raise IndexTrouble("The index does not hold what its manifest says. Index the book again.")
        prints = {name: found.hexdigest() for name, found in hashes.items()}
        archive.writestr(MANIFEST, json.dumps(records.dump(manifest) | {"members": prints}, ensure_ascii=False))


async def _lines(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for chunk in await index.chunks(sheet.file):
            yield json.dumps({"id": chunk.id, **records.record(chunk)}, ensure_ascii=False).encode() + b"\n"


async def _rows(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for _, vector in await index.held(sheet.file):
            yield vector.astype("<f4").tobytes()


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    """An exported file; whatever it is that lies there instead is told as that."""
    with _reading():
        archive = zipfile.ZipFile(file)
    with archive:
        if sorted(archive.namelist()) != sorted((MANIFEST, CHUNKS, VECTORS)):
            raise _spoilt()
        yield archive


@contextmanager
def _reading() -> Iterator[None]:
    """Within this block a file is read, and whatever is wrong with its bytes is one thing."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as trouble:
        raise _spoilt() from trouble


def _manifest(archive: zipfile.ZipFile) -> tuple[Manifest, dict[str, Any]]:
    with _reading(), archive.open(MANIFEST) as member:
        content = member.read(LARGEST_MANIFEST + 1)
    if len(content) > LARGEST_MANIFEST:
        raise _spoilt()
    manifest, rest = records.load(content)
    hashes = rest.get("members")
    if (
        not isinstance(hashes, dict)
        or archive.getinfo(VECTORS).file_size != manifest.chunks * manifest.dimension * NUMBER
    ):
        raise _spoilt()
    return manifest, hashes


def _hash(archive: zipfile.ZipFile, name: str) -> str:
    with _reading(), archive.open(name) as member:
        return hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]


def _batches(archive: zipfile.ZipFile, manifest: Manifest) -> Iterator[tuple[list[Chunk], Vectors]]:
    import numpy as np

    with _reading(), archive.open(CHUNKS) as lines, archive.open(VECTORS) as rows:
        while lines_ := [line for _ in range(BATCH) if (line := lines.readline(LONGEST_LINE))]:
            chunks = [_chunk(line) for line in lines_]
            numbers = rows.read(len(chunks) * manifest.dimension * NUMBER)
            yield chunks, np.frombuffer(numbers, dtype="<f4").reshape(len(chunks), manifest.dimension).copy()


def _chunk(line: bytes) -> Chunk:
    kept = json.loads(line)
    if not isinstance(kept, dict) or not isinstance(name := kept.pop("id", None), str):
        raise _spoilt()
    return records.chunk(name, kept)


def _spoilt() -> BadSource:
    return BadSource("This is no exported index, or not as it was written. Export it again: bookbound export FILE")
