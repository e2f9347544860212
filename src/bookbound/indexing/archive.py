"""Exports an index to one ZIP file, and imports it on another machine or into another store.

The archive has three members: `chunks.jsonl` (one chunk per line), `vectors.f32` (their vectors in the same order,
little-endian) and `manifest.json` (the manifest with a hash of the other two). The archive comment is the hash of the
manifest, so a changed byte in any member is detected."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO
from uuid import UUID

from bookbound import filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError, ConfigError, CorruptIndexError, EmbedderMismatchError, SourceError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index, IndexStore, Vectors
from bookbound.indexing.incremental import check_missing_pages, check_missing_words, diff_pages
from bookbound.indexing.pipeline import ProgressCallback, load_published_manifest
from bookbound.indexing.store import index_format

MANIFEST_MEMBER, CHUNKS_MEMBER, VECTORS_MEMBER = "manifest.json", "chunks.jsonl", "vectors.f32"
MAX_MANIFEST_BYTES, MAX_LINE_BYTES, MAX_DIMENSION = 1 << 24, 1 << 22, 1 << 14
"""Bounds what is read at once: 16 MiB are 70,000 pages, and parsing takes at most about 30 times as much memory."""
BATCH_SIZE, FLOAT_BYTES = 256, 4
INVALID_ARCHIVE_MESSAGE = "This file is not an exported index, or it is damaged. Export it again: bookbound export FILE"
OTHER_VERSION_MESSAGE = (
    "Another version of Bookbound exported this file. Export it again with this version, or import it with that one."
)


async def export_index(store: IndexStore, file: Path, progress: ProgressCallback) -> Manifest:
    """Writes the published index to a file atomically, and replaces only an earlier export."""
    target = _resolve_target(file)
    index = await store.open()
    try:
        with filesystem.open_atomically(target) as opened:
            await _write_archive(index, opened, progress)
    finally:
        await index.close()
    return index.manifest


async def import_index(file: Path, store: IndexStore, progress: ProgressCallback, *, force: bool = False) -> Manifest:
    """Publishes an exported index, or refuses a damaged file before anything changes."""
    with open_archive(file) as archive:
        manifest = archive.manifest
        published = await load_published_manifest(store)
        if published and not force:
            check_missing_pages(diff_pages(published.page_fingerprints, manifest.page_fingerprints), published)
            check_missing_words(manifest, published)
            _check_embedder(published, manifest)
        archive.verify()
        async with store.writer(replace(manifest, generation="", created="", digest="")) as writer:
            done = 0
            for chunks, vectors in archive.batches():
                await writer.add(chunks, vectors)
                progress("import", done := done + len(chunks), manifest.chunks)
            return await writer.publish()


def _resolve_target(name: Path) -> Path:
    """Follows links, and refuses a path that would overwrite another file or be inside an index."""
    file = Path(os.path.realpath(name))
    is_replaceable = file.is_file() and (not file.stat().st_size or is_index_archive(file))
    if os.path.lexists(file) and not is_replaceable:
        raise ConfigError(f"{file} is not an exported index, so it was not replaced. Name a new file.")
    patterns = ("generations/*", "books/*/generations/*")
    if any(
        index_format.is_generation_id(path.name)
        for folder in file.parents
        for each in patterns
        for path in folder.glob(each)
    ):
        raise ConfigError(f"{file} would be inside an index. Name a file in another folder.")
    return file


def _check_embedder(published: Manifest, manifest: Manifest) -> None:
    """Refuses to replace an index that readers query by one for another embedder."""
    if (published.embedder, published.dimension) != (manifest.embedder, manifest.dimension):
        raise EmbedderMismatchError(
            f"The file was indexed with {manifest.embedder}, but the index published here with {published.embedder}. "
            "To switch, set `embedder` and `embedder_model` to the other embedder and add --force. To stay with this "
            "one, index the book here: bookbound index SOURCE"
        )


async def _write_archive(index: Index, file: IO[bytes], progress: ProgressCallback) -> None:
    manifest, checksums = index.manifest, dict[str, str]()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, rows in ((CHUNKS_MEMBER, _chunk_lines(index)), (VECTORS_MEMBER, _vector_rows(index))):
            done, checksum = 0, hashlib.sha256()
            with archive.open(name, "w", force_zip64=True) as member:
                async for row in rows:
                    checksum.update(row)
                    member.write(_check_size(row, MAX_LINE_BYTES))
                    progress(name.partition(".")[0], done := done + 1, manifest.chunks)
            if done != manifest.chunks:
                raise BookIndexError("The index does not contain what its manifest says. Index the book again.")
            checksums[name] = checksum.hexdigest()
        content = encode_manifest(manifest, checksums)
        archive.writestr(MANIFEST_MEMBER, _check_size(content, MAX_MANIFEST_BYTES))
        archive.comment = archive_comment(content)


async def _chunk_lines(index: Index) -> AsyncIterator[bytes]:
    for page in index.manifest.page_fingerprints:
        for chunk in await index.chunks(page.file):
            yield encode_chunk(chunk)


async def _vector_rows(index: Index) -> AsyncIterator[bytes]:
    for page in index.manifest.page_fingerprints:
        for _, vector in await index.chunks_with_vectors(page.file):
            yield vector.astype("<f4").tobytes()


def _check_size(data: bytes, limit: int) -> bytes:
    """Refuses data that the import would refuse."""
    if len(data) > limit:
        raise BookIndexError("The index is too large to export. Index the book again on the other machine.")
    return data


@dataclass(frozen=True, slots=True)
class IndexArchive:
    """An open archive: its manifest, and the checksums of its other members."""

    manifest: Manifest
    checksums: Mapping[str, str]
    archive: zipfile.ZipFile

    def verify(self) -> None:
        """Refuses a file whose members have changed."""
        for name in (CHUNKS_MEMBER, VECTORS_MEMBER):
            with _report_archive_errors(), self.archive.open(name) as member:
                found = hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]
            if found != self.checksums.get(name):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)

    def batches(self) -> Iterator[tuple[list[Chunk], Vectors]]:
        """Yields all chunks with their vectors, and refuses chunks that do not agree with the manifest."""
        import numpy as np

        hashes, counts, dimension = dict[str, str](), Counter[str](), self.manifest.dimension
        with (
            _report_archive_errors(),
            self.archive.open(CHUNKS_MEMBER) as lines,
            self.archive.open(VECTORS_MEMBER) as rows,
        ):
            for batch in _read_line_batches(lines):
                chunks = [*map(_decode_chunk, batch)]
                numbers = rows.read(len(chunks) * dimension * FLOAT_BYTES)
                hashes |= {chunk.id: chunk.hash for chunk in chunks}
                counts.update(chunk.place.file for chunk in chunks)
                yield chunks, np.frombuffer(numbers, dtype="<f4").reshape(len(chunks), dimension).copy()
        expected = Counter({page.file: page.chunks for page in self.manifest.page_fingerprints})
        if counts != expected or index_format.digest_chunks(hashes) != self.manifest.digest:
            raise SourceError(INVALID_ARCHIVE_MESSAGE)


@contextmanager
def open_archive(file: Path) -> Iterator[IndexArchive]:
    """Opens an exported index and checks its manifest."""
    with _open_zip(file) as archive:
        with _report_archive_errors(), archive.open(MANIFEST_MEMBER) as member:
            content = member.read(MAX_MANIFEST_BYTES + 1)
            if len(content) > MAX_MANIFEST_BYTES:
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
            manifest, rest = index_format.load_manifest(content)
            checksums = rest.get("members")
            size = archive.getinfo(VECTORS_MEMBER).file_size
            if (
                not isinstance(checksums, dict)
                or (encode_manifest(manifest, checksums), archive_comment(content)) != (content, archive.comment)
                or not 0 < manifest.dimension <= MAX_DIMENSION
                or size != manifest.chunks * manifest.dimension * FLOAT_BYTES
            ):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
        yield IndexArchive(manifest, checksums, archive)


def is_index_archive(file: Path) -> bool:
    """Whether a file has the members of an exported index, of any version."""
    try:
        with _open_zip(file):
            return True
    except SourceError:
        return False


def encode_chunk(chunk: Chunk) -> bytes:
    return json.dumps({"id": chunk.id, **index_format.dump_chunk(chunk)}, ensure_ascii=False).encode() + b"\n"


def encode_manifest(manifest: Manifest, checksums: Mapping[str, str]) -> bytes:
    return json.dumps(index_format.dump_manifest(manifest) | {"members": checksums}, ensure_ascii=False).encode()


def archive_comment(manifest: bytes) -> bytes:
    return f"bookbound {hashlib.sha256(manifest).hexdigest()}".encode()


def _decode_chunk(line: bytes) -> Chunk:
    """Reverses `encode_chunk`, and refuses a line that it would not write."""
    stored = json.loads(line)
    if not isinstance(stored, dict) or not isinstance(name := stored.pop("id", None), str):
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    chunk = index_format.load_chunk(str(UUID(name)), stored)
    if encode_chunk(chunk) != line or not UUID(name).int:
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    return chunk


def _read_line_batches(lines: IO[bytes]) -> Iterator[list[bytes]]:
    """Yields lines in batches of bounded size."""
    batch, size = list[bytes](), 0
    while line := lines.readline(MAX_LINE_BYTES):
        batch.append(line)
        size += len(line)
        if len(batch) == BATCH_SIZE or size >= MAX_LINE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def _open_zip(file: Path) -> Iterator[zipfile.ZipFile]:
    """Opens a ZIP file with our members; a pipe or device is refused, because reading it may never end."""
    if file.exists() and not file.is_file():
        raise SourceError(INVALID_ARCHIVE_MESSAGE)
    with file.open("rb") as content:
        with _report_archive_errors():
            archive = zipfile.ZipFile(content)
        with archive:
            members = {member.filename: member.compress_type for member in archive.infolist()}
            known_names = members.keys() == {MANIFEST_MEMBER, CHUNKS_MEMBER, VECTORS_MEMBER}
            if not known_names or not {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}.issuperset(members.values()):
                raise SourceError(INVALID_ARCHIVE_MESSAGE)
            yield archive


@contextmanager
def _report_archive_errors() -> Iterator[None]:
    """Reports everything that can be wrong with the bytes of a file as one error."""
    try:
        yield
    except index_format.IndexFormatError as error:
        raise SourceError(OTHER_VERSION_MESSAGE) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # raised for an offset outside the file
            raise
        raise SourceError(INVALID_ARCHIVE_MESSAGE) from error
    except (
        CorruptIndexError,
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        KeyError,
        ValueError,
        OverflowError,
        RuntimeError,  # nested too deeply, encrypted, or compressed in an unknown way
    ) as error:
        raise SourceError(INVALID_ARCHIVE_MESSAGE) from error
