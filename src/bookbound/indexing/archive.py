"""Exports an index to one file and imports it on another machine or into another store."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from bookbound import filesystem
from bookbound.domain.errors import BookIndexError, ConfigError, EmbedderMismatchError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index, IndexStore
from bookbound.indexing import archive_format
from bookbound.indexing.archive_format import CHUNKS_MEMBER, MANIFEST_MEMBER, VECTORS_MEMBER
from bookbound.indexing.incremental import check_missing_pages, check_missing_words, diff_pages
from bookbound.indexing.pipeline import ProgressCallback, load_published_manifest
from bookbound.indexing.store.index_format import is_generation_id


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
    with archive_format.open_archive(file) as archive:
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
    is_replaceable = file.is_file() and (not file.stat().st_size or archive_format.is_index_archive(file))
    if os.path.lexists(file) and not is_replaceable:
        raise ConfigError(f"{file} is not an exported index, so it was not replaced. Name a new file.")
    patterns = ("generations/*", "books/*/generations/*")
    if any(is_generation_id(path.name) for folder in file.parents for each in patterns for path in folder.glob(each)):
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
                    member.write(_check_size(row, archive_format.MAX_LINE_BYTES))
                    progress(name.partition(".")[0], done := done + 1, manifest.chunks)
            if done != manifest.chunks:
                raise BookIndexError("The index does not contain what its manifest says. Index the book again.")
            checksums[name] = checksum.hexdigest()
        content = archive_format.encode_manifest(manifest, checksums)
        archive.writestr(MANIFEST_MEMBER, _check_size(content, archive_format.MAX_MANIFEST_BYTES))
        archive.comment = archive_format.archive_comment(content)


async def _chunk_lines(index: Index) -> AsyncIterator[bytes]:
    for page in index.manifest.page_fingerprints:
        for chunk in await index.chunks(page.file):
            yield archive_format.encode_chunk(chunk)


async def _vector_rows(index: Index) -> AsyncIterator[bytes]:
    for page in index.manifest.page_fingerprints:
        for _, vector in await index.chunks_with_vectors(page.file):
            yield vector.astype("<f4").tobytes()


def _check_size(data: bytes, limit: int) -> bytes:
    """Refuses data that the import would refuse."""
    if len(data) > limit:
        raise BookIndexError("The index is too large to export. Index the book again on the other machine.")
    return data
