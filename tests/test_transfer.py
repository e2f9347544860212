from __future__ import annotations

import asyncio
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from bookbound.book import Chunk
from bookbound.errors import BadSource, Doubtful, IndexTrouble, NoIndex
from bookbound.ingest import Source, ingest
from bookbound.manifest import Manifest
from bookbound.ports import Store
from bookbound.read import read
from bookbound.store.edge import EdgeStore
from bookbound.store.qdrant import QdrantStore
from bookbound.testing.embedder import ScriptedEmbedder
from bookbound.transfer import CHUNKS, MANIFEST, VECTORS, export, import_

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


def quiet(*_: object) -> None:
    """Nobody watches."""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (folder := tmp_path / "book").mkdir()
    for number in range(5):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\nWörds of page {number}.\n\n    code {number}\n")
    return folder


def make(kind: str, folder: Path) -> Store:
    return EdgeStore(folder) if kind == "edge" else QdrantStore(AsyncQdrantClient(location=":memory:"))


@pytest.fixture(params=["edge", "qdrant"])
def here(request: pytest.FixtureRequest, tmp_path: Path, book: Path) -> Store:
    store = make(request.param, tmp_path / "here")
    asyncio.run(ingest(Source(lambda: read(book), "m"), ScriptedEmbedder(), store, quiet))
    return store


@pytest.fixture(params=["edge", "qdrant"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return make(request.param, tmp_path / "there")


async def contents(store: Store) -> tuple[Manifest, list[tuple[Chunk, list[float]]]]:
    index = await store.open()
    held = [pair for sheet in index.manifest.sheets for pair in await index.held(sheet.file)]
    await index.close()
    return index.manifest, [(chunk, np.round(vector, 5).tolist()) for chunk, vector in held]


def test_an_index_is_the_same_after_it_was_moved_whatever_the_stores(here: Store, there: Store, tmp_path: Path) -> None:
    file = tmp_path / "book.bookbound"
    asyncio.run(export(here, file, quiet))
    asyncio.run(import_(file, there, quiet))
    (old, was), (new, now) = asyncio.run(contents(here)), asyncio.run(contents(there))
    assert was == now
    assert (old.digest, old.sheets, old.source, old.title) == (new.digest, new.sheets, new.source, new.title)
    assert len(now) == old.chunks == 5


def test_a_book_that_was_imported_is_known_as_unchanged_when_it_is_indexed(
    here: Store, there: Store, tmp_path: Path, book: Path
) -> None:
    asyncio.run(export(here, tmp_path / "f", quiet))
    asyncio.run(import_(tmp_path / "f", there, quiet))
    again = asyncio.run(ingest(Source(lambda: read(book), "m"), ScriptedEmbedder(), there, quiet))
    assert not again.published


def test_what_cannot_be_exported_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (file := tmp_path / "f").write_bytes(b"earlier")
    with pytest.raises(NoIndex):
        asyncio.run(export(EdgeStore(tmp_path / "none"), file, quiet))
    assert file.read_bytes() == b"earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_importing_another_book_needs_force(book: Path, tmp_path: Path) -> None:
    here, there = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there")
    asyncio.run(ingest(Source(lambda: read(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export(here, tmp_path / "f", quiet))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("# Another\n\nBook.\n")
    asyncio.run(ingest(Source(lambda: read(tmp_path / "other")), ScriptedEmbedder(), there, quiet))
    with pytest.raises(Doubtful, match="--force"):
        asyncio.run(import_(tmp_path / "f", there, quiet))
    assert asyncio.run(import_(tmp_path / "f", there, quiet, force=True)).chunks == 5


Spoil = Callable[[dict[str, bytes]], dict[str, bytes]]
SPOILT: dict[str, Spoil] = {
    "a member is missing": lambda held: {name: held[name] for name in (MANIFEST, CHUNKS)},
    "a member too many": lambda held: held | {"../up": b"x"},
    "the manifest is no JSON": lambda held: held | {MANIFEST: b"{"},
    "the manifest is of another format": lambda held: held | {MANIFEST: b'{"format": 99}'},
    "a line is missing": lambda held: held | {CHUNKS: held[CHUNKS].partition(b"\n")[2]},
    "a word is another": lambda held: held | {CHUNKS: held[CHUNKS].replace(b"page 1", b"page 9")},
    "a vector is cut": lambda held: held | {VECTORS: held[VECTORS][:-4]},
    "a vector is another": lambda held: held | {VECTORS: held[VECTORS][:-4] + b"\1\2\3\4"},
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_not_as_it_was_written_changes_nothing(how: str, book: Path, tmp_path: Path) -> None:
    here, there, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(ingest(Source(lambda: read(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export(here, file, quiet))
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in SPOILT[how](held).items():
            archive.writestr(name, content)
    with pytest.raises((BadSource, IndexTrouble)):
        asyncio.run(import_(file, there, quiet))
    assert asyncio.run(there.generations()) == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"%PDF-1.7", bytes(range(256)) * 4])
def test_what_is_no_exported_file_is_told_as_such(content: bytes, tmp_path: Path) -> None:
    (file := tmp_path / "f").write_bytes(content)
    with pytest.raises(BadSource, match="no exported index"):
        asyncio.run(import_(file, EdgeStore(tmp_path / "there"), quiet))


def test_a_file_cut_anywhere_changes_nothing(book: Path, tmp_path: Path) -> None:
    here, there, file = EdgeStore(tmp_path / "here"), EdgeStore(tmp_path / "there"), tmp_path / "f"
    asyncio.run(ingest(Source(lambda: read(book)), ScriptedEmbedder(), here, quiet))
    asyncio.run(export(here, file, quiet))
    whole = file.read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:cut])
        with pytest.raises((BadSource, IndexTrouble)):
            asyncio.run(import_(file, there, quiet))
    assert asyncio.run(there.generations()) == []
