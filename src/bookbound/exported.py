"""The one file that an index moves in.

A ZIP archive of three members: `chunks.jsonl`, a chunk a line; `vectors.f32`, their vectors in the same order,
little-endian; `manifest.json`, what the index says of itself with a hash of each other member. The archive's comment is
the hash of that: so every byte is vouched for.
"""

from __future__ import annotations

import errno
import hashlib
import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from uuid import UUID

from bookbound.book import Chunk
from bookbound.errors import BadSource, DamagedIndex
from bookbound.manifest import Manifest
from bookbound.store import records

if TYPE_CHECKING:
    from bookbound.ports import Vectors

MANIFEST, CHUNKS, VECTORS = "manifest.json", "chunks.jsonl", "vectors.f32"
LARGEST_MANIFEST, LONGEST_LINE, LARGEST_DIMENSION = 1 << 24, 1 << 22, 1 << 14
"""What is read at once is bounded: 16 MiB are 70,000 pages, and parsing never takes more than some 30 times as much."""
BATCH, NUMBER = 256, 4
SPOILT = "This is no exported index, or not as it was written. Export it again: bookbound export FILE"
OTHER_VERSION = (
    "This file was exported by another version of Bookbound. Export it again with this one, or import it with that one."
)


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file that is open: what its index says of itself, and the hashes of what else it holds."""

    manifest: Manifest
    prints: Mapping[str, str]
    archive: zipfile.ZipFile

    def check(self) -> None:
        """Refuse a file that is not as it was written."""
        for name in (CHUNKS, VECTORS):
            with _reading(), self.archive.open(name) as member:
                found = hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]
            if found != self.prints.get(name):
                raise BadSource(SPOILT)

    def batches(self) -> Iterator[tuple[list[Chunk], Vectors]]:
        """All chunks with their vectors; one that the manifest does not speak of, or that is missing, is refused."""
        import numpy as np

        hashes, held, dimension = dict[str, str](), Counter[str](), self.manifest.dimension
        with _reading(), self.archive.open(CHUNKS) as lines, self.archive.open(VECTORS) as rows:
            for batch in _batches(lines):
                chunks = [*map(_chunk, batch)]
                numbers = rows.read(len(chunks) * dimension * NUMBER)
                hashes |= {chunk.id: chunk.hash for chunk in chunks}
                held.update(chunk.place.file for chunk in chunks)
                yield chunks, np.frombuffer(numbers, dtype="<f4").reshape(len(chunks), dimension).copy()
        expected = Counter({sheet.file: sheet.chunks for sheet in self.manifest.sheets})
        if held != expected or records.digest(hashes) != self.manifest.digest:
            raise BadSource(SPOILT)


@contextmanager
def opened(file: Path) -> Iterator[Exported]:
    """An exported file; whatever it is that lies there instead is told as that."""
    with _archive(file) as archive:
        with _reading(), archive.open(MANIFEST) as member:
            content = member.read(LARGEST_MANIFEST + 1)
            if len(content) > LARGEST_MANIFEST:
                raise BadSource(SPOILT)
            manifest, rest = records.load(content)
            prints = rest.get("members")
            size = archive.getinfo(VECTORS).file_size
            if (
                not isinstance(prints, dict)
                or (described(manifest, prints), seal(content)) != (content, archive.comment)
                or not 0 < manifest.dimension <= LARGEST_DIMENSION
                or size != manifest.chunks * manifest.dimension * NUMBER
            ):
                raise BadSource(SPOILT)
        yield Exported(manifest, prints, archive)


def is_exported(file: Path) -> bool:
    """Whether a file has the members of an exported index, of whatever version."""
    try:
        with _archive(file):
            return True
    except BadSource:
        return False


def line(chunk: Chunk) -> bytes:
    """A chunk as the file holds it."""
    return json.dumps({"id": chunk.id, **records.record(chunk)}, ensure_ascii=False).encode() + b"\n"


def _chunk(found: bytes) -> Chunk:
    """The chunk of a line, if it is what would be written for that chunk."""
    kept = json.loads(found)
    if not isinstance(kept, dict) or not isinstance(name := kept.pop("id", None), str):
        raise BadSource(SPOILT)
    chunk = records.chunk(str(UUID(name)), kept)
    if line(chunk) != found or not UUID(name).int:
        raise BadSource(SPOILT)
    return chunk


def _batches(lines: IO[bytes]) -> Iterator[list[bytes]]:
    """Lines, as many at a time as are bounded together."""
    batch, size = list[bytes](), 0
    while found := lines.readline(LONGEST_LINE):
        batch.append(found)
        size += len(found)
        if len(batch) == BATCH or size >= LONGEST_LINE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def described(manifest: Manifest, prints: Mapping[str, str]) -> bytes:
    """What an index says of itself, with the hashes of the other members."""
    return json.dumps(records.dump(manifest) | {"members": prints}, ensure_ascii=False).encode()


def seal(manifest: bytes) -> bytes:
    """The comment of an archive whose manifest this is."""
    return f"bookbound {hashlib.sha256(manifest).hexdigest()}".encode()


@contextmanager
def _archive(file: Path) -> Iterator[zipfile.ZipFile]:
    """A file as an archive with our members; whatever else has a name may never end, or wait for somebody."""
    if file.exists() and not file.is_file():
        raise BadSource(SPOILT)
    with file.open("rb") as content:
        with _reading():
            archive = zipfile.ZipFile(content)
        with archive:
            members = {each.filename: each.compress_type for each in archive.infolist()}
            plain = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
            if members.keys() != {MANIFEST, CHUNKS, VECTORS} or not plain.issuperset(members.values()):
                raise BadSource(SPOILT)
            yield archive


@contextmanager
def _reading() -> Iterator[None]:
    """Within this block a file is read, and whatever is wrong with its bytes is one thing."""
    try:
        yield
    except records.OtherFormat as trouble:
        raise BadSource(OTHER_VERSION) from trouble
    except OSError as trouble:
        if trouble.errno != errno.EINVAL:  # as a place is that no file has
            raise
        raise BadSource(SPOILT) from trouble
    except (
        DamagedIndex,
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        KeyError,
        ValueError,
        OverflowError,
        RuntimeError,  # also nested beyond all measure, encrypted, or compressed in an unknown way
    ) as trouble:
        raise BadSource(SPOILT) from trouble
