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
from bookbound.indexing.archive_format import (
    CHUNKS_MEMBER,
    MANIFEST_MEMBER,
    MAX_LINE_BYTES,
    MAX_MANIFEST_BYTES,
    VECTORS_MEMBER,
    archive_comment,
    encode_chunk,
    encode_manifest,
    is_index_archive,
    open_archive,
)
from bookbound.indexing.incremental import check_missing_pages, diff_pages
from bookbound.indexing.pipeline import ProgressCallback, load_published_manifest
from bookbound.indexing.store import is_generation_id

TOO_LARGE_MESSAGE = "The index is too large to be moved in one file. Index the book again where it is to be."


async def export_index(store: IndexStore, file: Path, progress: ProgressCallback) -> Manifest:
    """Write the published index to a file, which is whole or as it was before; nothing but an export is replaced."""
    target = _resolve_target(file)
    index = await store.open()
    try:
        with filesystem.open_atomically(target) as written:
            await _write_archive(index, written, progress)
    finally:
        await index.close()
    return index.manifest


async def import_index(file: Path, store: IndexStore, progress: ProgressCallback, *, force: bool = False) -> Manifest:
    """Publish what an exported file holds; one that is not as it was written is refused, and nothing changes."""
    with open_archive(file) as exported:
        manifest = exported.manifest
        before = await load_published_manifest(store)
        if before and not force:
            check_missing_pages(diff_pages(before.sheets, manifest.sheets), before)
            _check_embedder(before, manifest)
        exported.check()
        async with store.draft(replace(manifest, generation="", created="", digest="")) as draft:
            done = 0
            for chunks, vectors in exported.batches():
                await draft.add(chunks, vectors)
                progress("import", done := done + len(chunks), manifest.chunks)
            return await draft.publish()


def _resolve_target(name: Path) -> Path:
    """The file of a name, links followed, unless something would be lost there, or it would lie inside an index."""
    file = Path(os.path.realpath(name))
    if os.path.lexists(file) and not (file.is_file() and (not file.stat().st_size or is_index_archive(file))):
        raise ConfigError(f"{file} is something else than an exported index, so it stays as it is. Name a new file.")
    patterns = ("generations/*", "books/*/generations/*")
    if any(is_generation_id(path.name) for folder in file.parents for each in patterns for path in folder.glob(each)):
        raise ConfigError(f"{file} would lie inside an index. Name a file in another folder.")
    return file


def _check_embedder(before: Manifest, manifest: Manifest) -> None:
    """Refuse to replace an index that questions are answered from by one that they cannot be compared with."""
    if (before.embedder, before.dimension) != (manifest.embedder, manifest.dimension):
        raise EmbedderMismatchError(
            f"The index in the file was made with {manifest.embedder}, and the one that is published here with "
            f"{before.embedder}. To go over to the other embedder, set `embedder` and `embed_model` to it and add "
            "--force; to stay with this one, index the book here: bookbound index SOURCE"
        )


async def _write_archive(index: Index, written: IO[bytes], progress: ProgressCallback) -> None:
    manifest, hashes = index.manifest, {name: hashlib.sha256() for name in (CHUNKS_MEMBER, VECTORS_MEMBER)}
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, each in ((CHUNKS_MEMBER, _chunk_lines(index)), (VECTORS_MEMBER, _vector_rows(index))):
            done = 0
            with archive.open(name, "w", force_zip64=True) as member:
                async for data in each:
                    hashes[name].update(data)
                    member.write(_check_size(data, MAX_LINE_BYTES))
                    progress(name.partition(".")[0], done := done + 1, manifest.chunks)
            if done != manifest.chunks:
                raise BookIndexError("The index does not hold what its manifest says. Index the book again.")
        content = encode_manifest(manifest, {name: found.hexdigest() for name, found in hashes.items()})
        archive.writestr(MANIFEST_MEMBER, _check_size(content, MAX_MANIFEST_BYTES))
        archive.comment = archive_comment(content)


async def _chunk_lines(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for chunk in await index.chunks(sheet.file):
            yield encode_chunk(chunk)


async def _vector_rows(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for _, vector in await index.held(sheet.file):
            yield vector.astype("<f4").tobytes()


def _check_size(data: bytes, most: int) -> bytes:
    """Data that an import will take."""
    if len(data) > most:
        raise BookIndexError(TOO_LARGE_MESSAGE)
    return data
