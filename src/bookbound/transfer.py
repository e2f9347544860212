"""An index moves between machines, and between a folder and a server, in one file."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from bookbound.changes import check_whole, compare
from bookbound.errors import BadSetup, IndexTrouble, WrongEmbedder
from bookbound.exported import (
    CHUNKS,
    LARGEST_MANIFEST,
    LONGEST_LINE,
    MANIFEST,
    VECTORS,
    described,
    is_exported,
    line,
    opened,
    seal,
)
from bookbound.ingest import Progress, published
from bookbound.manifest import Manifest
from bookbound.ports import Index, Store
from bookbound.store import files
from bookbound.store.naming import is_id

TOO_LARGE = "The index is too large to be moved in one file. Index the book again where it is to be."


async def export(store: Store, file: Path, progress: Progress) -> Manifest:
    """Write the published index to a file, which is whole or as it was before; nothing but an export is replaced."""
    target = _free(file)
    index = await store.open()
    try:
        with files.replacing(target) as written:
            await _write(index, written, progress)
    finally:
        await index.close()
    return index.manifest


async def import_(file: Path, store: Store, progress: Progress, *, force: bool = False) -> Manifest:
    """Publish what an exported file holds; one that is not as it was written is refused, and nothing changes."""
    with opened(file) as exported:
        manifest = exported.manifest
        before = await published(store)
        if before and not force:
            check_whole(compare(before.sheets, manifest.sheets), before)
            _check_embedder(before, manifest)
        exported.check()
        async with store.draft(replace(manifest, generation="", created="", digest="")) as draft:
            done = 0
            for chunks, vectors in exported.batches():
                await draft.add(chunks, vectors)
                progress("import", done := done + len(chunks), manifest.chunks)
            return await draft.publish()


def _free(name: Path) -> Path:
    """The file of a name, links followed, unless something would be lost there, or it would lie inside an index."""
    file = Path(os.path.realpath(name))
    if os.path.lexists(file) and not (file.is_file() and (not file.stat().st_size or is_exported(file))):
        raise BadSetup(f"{file} is something else than an exported index, so it stays as it is. Name a new file.")
    patterns = ("generations/*", "books/*/generations/*")
    if any(is_id(path.name) for folder in file.parents for each in patterns for path in folder.glob(each)):
        raise BadSetup(f"{file} would lie inside an index. Name a file in another folder.")
    return file


def _check_embedder(before: Manifest, manifest: Manifest) -> None:
    """Refuse to replace an index that questions are answered from by one that they cannot be compared with."""
    if (before.embedder, before.dimension) != (manifest.embedder, manifest.dimension):
        raise WrongEmbedder(
            f"The index in the file was made with {manifest.embedder}, and the one that is published here with "
            f"{before.embedder}. To go over to the other embedder, set `embedder` and `embed_model` to it and add "
            "--force; to stay with this one, index the book here: bookbound index SOURCE"
        )


async def _write(index: Index, written: IO[bytes], progress: Progress) -> None:
    manifest, hashes = index.manifest, {name: hashlib.sha256() for name in (CHUNKS, VECTORS)}
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, each in ((CHUNKS, _lines(index)), (VECTORS, _rows(index))):
            done = 0
            with archive.open(name, "w", force_zip64=True) as member:
                async for data in each:
                    hashes[name].update(data)
                    member.write(_bounded(data, LONGEST_LINE))
                    progress(name.partition(".")[0], done := done + 1, manifest.chunks)
            if done != manifest.chunks:
                raise IndexTrouble("The index does not hold what its manifest says. Index the book again.")
        content = described(manifest, {name: found.hexdigest() for name, found in hashes.items()})
        archive.writestr(MANIFEST, _bounded(content, LARGEST_MANIFEST))
        archive.comment = seal(content)


async def _lines(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for chunk in await index.chunks(sheet.file):
            yield line(chunk)


async def _rows(index: Index) -> AsyncIterator[bytes]:
    for sheet in index.manifest.sheets:
        for _, vector in await index.held(sheet.file):
            yield vector.astype("<f4").tobytes()


def _bounded(data: bytes, most: int) -> bytes:
    """Data that an import will take."""
    if len(data) > most:
        raise IndexTrouble(TOO_LARGE)
    return data
