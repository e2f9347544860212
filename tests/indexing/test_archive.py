from __future__ import annotations

import asyncio
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.indexing.store.every_store import STORES, make_store

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
from bookbound.indexing.archive import CHUNKS_MEMBER, MANIFEST_MEMBER, VECTORS_MEMBER, export_index, import_index
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


def ignore_progress(*_: object) -> None:
    """Ignores the progress."""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (folder := tmp_path / "book").mkdir()
    for number in range(5):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\nWörds of page {number}.\n\n    code {number}\n")
    return folder


@pytest.fixture(params=STORES)
def source_store(request: pytest.FixtureRequest, tmp_path: Path, book: Path) -> IndexStore:
    store = make_store(request, tmp_path / "here")
    asyncio.run(
        build_index(BookSource(lambda: parse_book(book), lambda _: "m"), ScriptedEmbedder(), store, ignore_progress)
    )
    return store


@pytest.fixture(params=STORES)
def target_store(request: pytest.FixtureRequest, tmp_path: Path) -> IndexStore:
    return make_store(request, tmp_path / "there")


async def read_contents(store: IndexStore) -> tuple[Manifest, list[tuple[Chunk, list[float]]]]:
    index = await store.open()
    members = [pair for page in index.manifest.page_fingerprints for pair in await index.chunks_with_vectors(page.file)]
    await index.close()
    return index.manifest, [(chunk, np.round(vector, 5).tolist()) for chunk, vector in members]


def test_an_index_is_the_same_after_export_and_import(
    source_store: IndexStore, target_store: IndexStore, tmp_path: Path
) -> None:
    file = tmp_path / "book.bookbound"
    asyncio.run(export_index(source_store, file, ignore_progress))
    asyncio.run(import_index(file, target_store, ignore_progress))
    (old, was), (new, now) = asyncio.run(read_contents(source_store)), asyncio.run(read_contents(target_store))
    assert was == now
    assert (old.digest, old.page_fingerprints, old.source_fingerprint, old.title) == (
        new.digest,
        new.page_fingerprints,
        new.source_fingerprint,
        new.title,
    )
    assert len(now) == old.chunks == 5


def test_an_imported_book_counts_as_unchanged_when_it_is_indexed(
    source_store: IndexStore, target_store: IndexStore, tmp_path: Path, book: Path
) -> None:
    asyncio.run(export_index(source_store, tmp_path / "f", ignore_progress))
    asyncio.run(import_index(tmp_path / "f", target_store, ignore_progress))
    again = asyncio.run(
        build_index(
            BookSource(lambda: parse_book(book), lambda _: "m"), ScriptedEmbedder(), target_store, ignore_progress
        )
    )
    assert not again.is_published


def test_a_failed_export_leaves_the_file_unchanged(tmp_path: Path) -> None:
    (file := tmp_path / "f").touch()
    with pytest.raises(IndexNotFoundError):
        asyncio.run(export_index(EdgeStore(tmp_path / "none"), file, ignore_progress))
    assert file.read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def publish_book(book: Path, folder: Path, embedder: ScriptedEmbedder | None = None) -> EdgeStore:
    store = EdgeStore(folder)
    asyncio.run(
        build_index(BookSource(lambda: parse_book(book)), embedder or ScriptedEmbedder(), store, ignore_progress)
    )
    return store


def test_an_export_replaces_an_earlier_one_even_through_a_link(book: Path, tmp_path: Path) -> None:
    store, file = publish_book(book, tmp_path / "here"), tmp_path / "f"
    (link := tmp_path / "link").symlink_to(file)
    for _ in range(2):
        asyncio.run(export_index(store, link, ignore_progress))
    assert link.is_symlink()
    assert asyncio.run(import_index(file, EdgeStore(tmp_path / "there"), ignore_progress)).chunks == 5


def create_other(kind: str, file: Path) -> None:
    """Creates something that is not an exported index."""
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
def test_an_export_replaces_nothing_but_an_export(kind: str, book: Path, tmp_path: Path) -> None:
    store, file = publish_book(book, tmp_path / "here"), tmp_path / "f"
    create_other(kind, file)
    before = os.lstat(file)
    with pytest.raises(ConfigError, match="was not replaced"):
        asyncio.run(export_index(store, file, ignore_progress))
    assert (os.lstat(file).st_ino, os.lstat(file).st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("name", ["current", "new", "generations/new", "books/new"])
def test_nothing_is_exported_into_an_index(name: str, book: Path, tmp_path: Path) -> None:
    store = publish_book(book, tmp_path / "here")
    (tmp_path / "here" / "books").mkdir()
    (tmp_path / "here" / "current").rename(tmp_path / "aside")
    with pytest.raises(ConfigError, match="inside an index"):
        asyncio.run(export_index(store, tmp_path / "here" / name, ignore_progress))


def test_an_index_too_large_to_import_is_not_exported(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookbound.indexing.archive.MAX_MANIFEST_BYTES", 100)
    with pytest.raises(BookIndexError, match="too large"):
        asyncio.run(export_index(publish_book(book, tmp_path / "here"), tmp_path / "f", ignore_progress))
    assert not (tmp_path / "f").exists()


def test_importing_another_book_needs_force(book: Path, tmp_path: Path) -> None:
    source_store, target_store = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there")
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), source_store, ignore_progress))
    asyncio.run(export_index(source_store, tmp_path / "f", ignore_progress))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("# Another\n\nBook.\n")
    asyncio.run(
        build_index(
            BookSource(lambda: parse_book(tmp_path / "other")), ScriptedEmbedder(), target_store, ignore_progress
        )
    )
    with pytest.raises(IncompleteSourceError, match="--force"):
        asyncio.run(import_index(tmp_path / "f", target_store, ignore_progress))
    assert asyncio.run(import_index(tmp_path / "f", target_store, ignore_progress, force=True)).chunks == 5


def test_importing_an_index_of_another_embedder_needs_force(book: Path, tmp_path: Path) -> None:
    asyncio.run(
        export_index(
            publish_book(book, tmp_path / "here", ScriptedEmbedder("another")), tmp_path / "f", ignore_progress
        )
    )
    target_store = publish_book(book, tmp_path / "there")
    with pytest.raises(EmbedderMismatchError, match=r"indexed with another.*embedder_model.*--force"):
        asyncio.run(import_index(tmp_path / "f", target_store, ignore_progress))
    assert [each.embedder for each in asyncio.run(target_store.generations())] == [ScriptedEmbedder().name]
    assert asyncio.run(import_index(tmp_path / "f", target_store, ignore_progress, force=True)).embedder == "another"


Damage = Callable[[dict[str, bytes]], dict[str, bytes]]
DAMAGED: dict[str, Damage] = {
    "a member is missing": lambda members: {name: members[name] for name in (MANIFEST_MEMBER, CHUNKS_MEMBER)},
    "a member too many": lambda members: members | {"../up": b"x"},
    "a title is another": lambda members: (
        members | {MANIFEST_MEMBER: members[MANIFEST_MEMBER].replace(b'"Book"', b'"Look"')}
    ),
    "the manifest is no JSON": lambda members: members | {MANIFEST_MEMBER: b"{"},
    "the manifest is of another format": lambda members: members | {MANIFEST_MEMBER: b'{"format": 99}'},
    "a line is missing": lambda members: members | {CHUNKS_MEMBER: members[CHUNKS_MEMBER].partition(b"\n")[2]},
    "a word is another": lambda members: (
        members | {CHUNKS_MEMBER: members[CHUNKS_MEMBER].replace(b"page 1", b"page 9")}
    ),
    "a vector is cut": lambda members: members | {VECTORS_MEMBER: members[VECTORS_MEMBER][:-4]},
    "a vector is another": lambda members: members | {VECTORS_MEMBER: members[VECTORS_MEMBER][:-4] + b"\1\2\3\4"},
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_file_changes_nothing(how: str, book: Path, tmp_path: Path) -> None:
    source_store, target_store, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), source_store, ignore_progress))
    asyncio.run(export_index(source_store, file, ignore_progress))
    with zipfile.ZipFile(file) as archive:
        members, comment = {name: archive.read(name) for name in archive.namelist()}, archive.comment
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in DAMAGED[how](members).items():
            archive.writestr(name, content)
        archive.comment = comment
    with pytest.raises(SourceError):
        asyncio.run(import_index(file, target_store, ignore_progress))
    assert asyncio.run(target_store.generations()) == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"%PDF-1.7", bytes(range(256)) * 4])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (file := tmp_path / "f").write_bytes(content)
    with pytest.raises(SourceError, match="not an exported index"):
        asyncio.run(import_index(file, EdgeStore(tmp_path / "there"), ignore_progress))


def test_a_truncated_file_changes_nothing(book: Path, tmp_path: Path) -> None:
    source_store, target_store, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), source_store, ignore_progress))
    asyncio.run(export_index(source_store, file, ignore_progress))
    whole = file.read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:cut])
        with pytest.raises(SourceError):
            asyncio.run(import_index(file, target_store, ignore_progress))
    assert asyncio.run(target_store.generations()) == []
