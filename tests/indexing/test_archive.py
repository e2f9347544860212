from __future__ import annotations

import asyncio
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import (
    BookIndexError,
    ConfigError,
    EmbedderMismatchError,
    IncompleteSourceError,
    IndexNotFoundError,
    SourceError,
)
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import IndexStore
from bookbound.indexing.archive import export_index, import_index
from bookbound.indexing.archive_format import CHUNKS_MEMBER, MANIFEST_MEMBER, VECTORS_MEMBER
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.qdrant_store import QdrantStore
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


def quiet(*_: object) -> None:
    """Nobody watches."""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (folder := tmp_path / "book").mkdir()
    for number in range(5):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\nWörds of page {number}.\n\n    code {number}\n")
    return folder


def make(kind: str, folder: Path) -> IndexStore:
    return EdgeStore(folder) if kind == "edge" else QdrantStore(AsyncQdrantClient(location=":memory:"))


@pytest.fixture(params=["edge", "qdrant"])
def here(request: pytest.FixtureRequest, tmp_path: Path, book: Path) -> IndexStore:
    store = make(request.param, tmp_path / "here")
    asyncio.run(build_index(BookSource(lambda: parse_book(book), lambda _: "m"), ScriptedEmbedder(), store, quiet))
    return store


@pytest.fixture(params=["edge", "qdrant"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> IndexStore:
    return make(request.param, tmp_path / "there")


async def contents(store: IndexStore) -> tuple[Manifest, list[tuple[Chunk, list[float]]]]:
    index = await store.open()
    held = [pair for sheet in index.manifest.sheets for pair in await index.held(sheet.file)]
    await index.close()
    return index.manifest, [(chunk, np.round(vector, 5).tolist()) for chunk, vector in held]


def test_an_index_is_the_same_after_it_was_moved_whatever_the_stores(
    here: IndexStore, there: IndexStore, tmp_path: Path
) -> None:
    file = tmp_path / "book.bookbound"
    asyncio.run(export_index(here, file, quiet))
    asyncio.run(import_index(file, there, quiet))
    (old, was), (new, now) = asyncio.run(contents(here)), asyncio.run(contents(there))
    assert was == now
    assert (old.digest, old.sheets, old.source, old.title) == (new.digest, new.sheets, new.source, new.title)
    assert len(now) == old.chunks == 5


def test_a_book_that_was_imported_is_known_as_unchanged_when_it_is_indexed(
    here: IndexStore, there: IndexStore, tmp_path: Path, book: Path
) -> None:
    asyncio.run(export_index(here, tmp_path / "f", quiet))
    asyncio.run(import_index(tmp_path / "f", there, quiet))
    again = asyncio.run(
        build_index(BookSource(lambda: parse_book(book), lambda _: "m"), ScriptedEmbedder(), there, quiet)
    )
    assert not again.published


def test_what_cannot_be_exported_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (file := tmp_path / "f").touch()
    with pytest.raises(IndexNotFoundError):
        asyncio.run(export_index(EdgeStore(tmp_path / "none"), file, quiet))
    assert file.read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def published(book: Path, folder: Path, embedder: ScriptedEmbedder | None = None) -> EdgeStore:
    store = EdgeStore(folder)
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), embedder or ScriptedEmbedder(), store, quiet))
    return store


def test_an_export_takes_the_place_of_an_earlier_one_also_behind_a_link(book: Path, tmp_path: Path) -> None:
    store, file = published(book, tmp_path / "here"), tmp_path / "f"
    (link := tmp_path / "link").symlink_to(file)
    for _ in range(2):
        asyncio.run(export_index(store, link, quiet))
    assert link.is_symlink()
    assert asyncio.run(import_index(file, EdgeStore(tmp_path / "there"), quiet)).chunks == 5


def laid(kind: str, file: Path) -> None:
    """Something that is no exported index."""
    if kind == "text":
        file.write_text("precious")
    elif kind == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("precious", "words")
    elif kind == "folder":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.symlink_to(file)


@pytest.mark.parametrize("kind", ["text", "zip", "folder", "fifo", "loop"])
def test_nothing_but_an_export_is_replaced_by_one(kind: str, book: Path, tmp_path: Path) -> None:
    store, file = published(book, tmp_path / "here"), tmp_path / "f"
    laid(kind, file)
    before = os.lstat(file)
    with pytest.raises(ConfigError, match="stays as it is"):
        asyncio.run(export_index(store, file, quiet))
    assert (os.lstat(file).st_ino, os.lstat(file).st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("name", ["current", "new", "generations/new", "books/new"])
def test_nothing_is_exported_into_an_index(name: str, book: Path, tmp_path: Path) -> None:
    store = published(book, tmp_path / "here")
    (tmp_path / "here" / "books").mkdir()
    (tmp_path / "here" / "current").rename(tmp_path / "aside")
    with pytest.raises(ConfigError, match="inside an index"):
        asyncio.run(export_index(store, tmp_path / "here" / name, quiet))


def test_what_an_import_would_not_take_is_not_exported(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookbound.indexing.archive_format.MAX_MANIFEST_BYTES", 100)
    with pytest.raises(BookIndexError, match="too large"):
        asyncio.run(export_index(published(book, tmp_path / "here"), tmp_path / "f", quiet))
    assert not (tmp_path / "f").exists()


def test_importing_another_book_needs_force(book: Path, tmp_path: Path) -> None:
    here, there = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there")
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export_index(here, tmp_path / "f", quiet))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("# Another\n\nBook.\n")
    asyncio.run(build_index(BookSource(lambda: parse_book(tmp_path / "other")), ScriptedEmbedder(), there, quiet))
    with pytest.raises(IncompleteSourceError, match="--force"):
        asyncio.run(import_index(tmp_path / "f", there, quiet))
    assert asyncio.run(import_index(tmp_path / "f", there, quiet, force=True)).chunks == 5


def test_replacing_an_index_by_one_of_another_embedder_needs_force(book: Path, tmp_path: Path) -> None:
    asyncio.run(export_index(published(book, tmp_path / "here", ScriptedEmbedder("another")), tmp_path / "f", quiet))
    there = published(book, tmp_path / "there")
    with pytest.raises(EmbedderMismatchError, match=r"made with another.*embed_model.*--force"):
        asyncio.run(import_index(tmp_path / "f", there, quiet))
    assert [each.embedder for each in asyncio.run(there.generations())] == [ScriptedEmbedder().name]
    assert asyncio.run(import_index(tmp_path / "f", there, quiet, force=True)).embedder == "another"


Spoil = Callable[[dict[str, bytes]], dict[str, bytes]]
SPOILT: dict[str, Spoil] = {
    "a member is missing": lambda held: {name: held[name] for name in (MANIFEST_MEMBER, CHUNKS_MEMBER)},
    "a member too many": lambda held: held | {"../up": b"x"},
    "a title is another": lambda held: held | {MANIFEST_MEMBER: held[MANIFEST_MEMBER].replace(b'"Book"', b'"Look"')},
    "the manifest is no JSON": lambda held: held | {MANIFEST_MEMBER: b"{"},
    "the manifest is of another format": lambda held: held | {MANIFEST_MEMBER: b'{"format": 99}'},
    "a line is missing": lambda held: held | {CHUNKS_MEMBER: held[CHUNKS_MEMBER].partition(b"\n")[2]},
    "a word is another": lambda held: held | {CHUNKS_MEMBER: held[CHUNKS_MEMBER].replace(b"page 1", b"page 9")},
    "a vector is cut": lambda held: held | {VECTORS_MEMBER: held[VECTORS_MEMBER][:-4]},
    "a vector is another": lambda held: held | {VECTORS_MEMBER: held[VECTORS_MEMBER][:-4] + b"\1\2\3\4"},
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_not_as_it_was_written_changes_nothing(how: str, book: Path, tmp_path: Path) -> None:
    here, there, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export_index(here, file, quiet))
    with zipfile.ZipFile(file) as archive:
        held, comment = {name: archive.read(name) for name in archive.namelist()}, archive.comment
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in SPOILT[how](held).items():
            archive.writestr(name, content)
        archive.comment = comment
    with pytest.raises(SourceError):
        asyncio.run(import_index(file, there, quiet))
    assert asyncio.run(there.generations()) == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"%PDF-1.7", bytes(range(256)) * 4])
def test_what_is_no_exported_file_is_told_as_such(content: bytes, tmp_path: Path) -> None:
    (file := tmp_path / "f").write_bytes(content)
    with pytest.raises(SourceError, match="no exported index"):
        asyncio.run(import_index(file, EdgeStore(tmp_path / "there"), quiet))


def test_a_file_cut_anywhere_changes_nothing(book: Path, tmp_path: Path) -> None:
    here, there, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export_index(here, file, quiet))
    whole = file.read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:cut])
        with pytest.raises(SourceError):
            asyncio.run(import_index(file, there, quiet))
    assert asyncio.run(there.generations()) == []
