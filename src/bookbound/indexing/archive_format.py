"""Reads and checks the ZIP file of an exported index.

The archive has three members: `chunks.jsonl` (one chunk per line), `vectors.f32` (their vectors in the same order,
little-endian) and `manifest.json` (the manifest with a hash of the other two). The archive comment is the hash of the
manifest, so a changed byte in any member is detected."""

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

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import CorruptIndexError, SourceError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import serialization

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


MANIFEST_MEMBER, CHUNKS_MEMBER, VECTORS_MEMBER = "manifest.json", "chunks.jsonl", "vectors.f32"
MAX_MANIFEST_BYTES, MAX_LINE_BYTES, MAX_DIMENSION = 1 << 24, 1 << 22, 1 << 14
"""What is read at once is bounded: 16 MiB are 70,000 pages, and parsing never takes more than some 30 times as much."""
BATCH_SIZE, FLOAT_BYTES = 256, 4
INVALID_ARCHIVE_MESSAGE = "This is no exported index, or not as it was written. Export it again: bookbound export FILE"
OTHER_VERSION_MESSAGE = (
    "This file was exported by another version of Bookbound. Export it again with this one, or import it with that one."
)


@dataclass(frozen=True, slots=True)
class IndexArchive:
    """An exported file that is open: what its index says of itself, and the hashes of what else it holds."""

    manifest: Manifest
    prints: Mapping[str, str]
    archive: zipfile.ZipFile

    def check(self) -> None:
        """Refuse a file that is not as it was written."""
        for name in (CHUNKS_MEMBER, VECTORS_MEMBER):
            with _report_archive_errors(), self.archive.open(name) as member:
                found = hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]
            if found != self.prints.get(name):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)

    def batches(self) -> Iterator[tuple[list[Chunk], Vectors]]:
        """All chunks with their vectors; one that the manifest does not speak of, or that is missing, is refused."""
        import numpy as np

        hashes, held, dimension = dict[str, str](), Counter[str](), self.manifest.dimension
        with (
            _report_archive_errors(),
            self.archive.open(CHUNKS_MEMBER) as lines,
            self.archive.open(VECTORS_MEMBER) as rows,
        ):
            for batch in _read_line_batches(lines):
                chunks = [*map(_decode_chunk, batch)]
                numbers = rows.read(len(chunks) * dimension * FLOAT_BYTES)
                hashes |= {chunk.id: chunk.hash for chunk in chunks}
                held.update(chunk.place.file for chunk in chunks)
                yield chunks, np.frombuffer(numbers, dtype="<f4").reshape(len(chunks), dimension).copy()
        expected = Counter({sheet.file: sheet.chunks for sheet in self.manifest.sheets})
        if held != expected or serialization.digest_chunks(hashes) != self.manifest.digest:
            raise SourceError(INVALID_ARCHIVE_MESSAGE)


@contextmanager
def open_archive(file: Path) -> Iterator[IndexArchive]:
    """An exported file; whatever it is that lies there instead is told as that."""
    with _open_zip(file) as archive:
        with _report_archive_errors(), archive.open(MANIFEST_MEMBER) as member:
            content = member.read(MAX_MANIFEST_BYTES + 1)
            if len(content) > MAX_MANIFEST_BYTES:
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
            manifest, rest = serialization.load_manifest(content)
            prints = rest.get("members")
            size = archive.getinfo(VECTORS_MEMBER).file_size
            if (
                not isinstance(prints, dict)
                or (encode_manifest(manifest, prints), archive_comment(content)) != (content, archive.comment)
                or not 0 < manifest.dimension <= MAX_DIMENSION
                or size != manifest.chunks * manifest.dimension * FLOAT_BYTES
            ):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
        yield IndexArchive(manifest, prints, archive)


def is_index_archive(file: Path) -> bool:
    """Whether a file has the members of an exported index, of whatever version."""
    try:
        with _open_zip(file):
            return True
    except SourceError:
        return False


def encode_chunk(chunk: Chunk) -> bytes:
    """A chunk as the file holds it."""
    return json.dumps({"id": chunk.id, **serialization.dump_chunk(chunk)}, ensure_ascii=False).encode() + b"\n"


def _decode_chunk(found: bytes) -> Chunk:
    """The chunk of a line, if it is what would be written for that chunk."""
    kept = json.loads(found)
    if not isinstance(kept, dict) or not isinstance(name := kept.pop("id", None), str):
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    chunk = serialization.load_chunk(str(UUID(name)), kept)
    if encode_chunk(chunk) != found or not UUID(name).int:
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    return chunk


def _read_line_batches(lines: IO[bytes]) -> Iterator[list[bytes]]:
    """Lines, as many at a time as are bounded together."""
    batch, size = list[bytes](), 0
    while found := lines.readline(MAX_LINE_BYTES):
        batch.append(found)
        size += len(found)
        if len(batch) == BATCH_SIZE or size >= MAX_LINE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_manifest(manifest: Manifest, prints: Mapping[str, str]) -> bytes:
    """What an index says of itself, with the hashes of the other members."""
    return json.dumps(serialization.dump_manifest(manifest) | {"members": prints}, ensure_ascii=False).encode()


def archive_comment(manifest: bytes) -> bytes:
    """The comment of an archive whose manifest this is."""
    return f"bookbound {hashlib.sha256(manifest).hexdigest()}".encode()


@contextmanager
def _open_zip(file: Path) -> Iterator[zipfile.ZipFile]:
    """A file as an archive with our members; whatever else has a name may never end, or wait for somebody."""
    if file.exists() and not file.is_file():
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    with file.open("rb") as content:
        with _report_archive_errors():
            archive = zipfile.ZipFile(content)
        with archive:
            members = {each.filename: each.compress_type for each in archive.infolist()}
            plain = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
            if members.keys() != {MANIFEST_MEMBER, CHUNKS_MEMBER, VECTORS_MEMBER} or not plain.issuperset(
                members.values()
            ):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
            yield archive


@contextmanager
def _report_archive_errors() -> Iterator[None]:
    """Within this block a file is read, and whatever is wrong with its bytes is one thing."""
    try:
        yield
    except serialization.IndexFormatError as trouble:
        raise SourceError(OTHER_VERSION_MESSAGE) from trouble
    except OSError as trouble:
        if trouble.errno != errno.EINVAL:  # as a place is that no file has
            raise
        raise SourceError(INVALID_ARCHIVE_MESSAGE) from trouble
    except (
        CorruptIndexError,
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        KeyError,
        ValueError,
        OverflowError,
        RuntimeError,  # also nested beyond all measure, encrypted, or compressed in an unknown way
    ) as trouble:
        raise SourceError(INVALID_ARCHIVE_MESSAGE) from trouble
