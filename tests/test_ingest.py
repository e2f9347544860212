from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bookbound import wire
from bookbound.errors import BadSource
from bookbound.manifest import Chapter
from bookbound.settings import Settings


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "README.md").write_text("# Robots\n\nA robot senses, plans and acts.\n")
    (folder / "legs.md").write_text("# Legs\n\n## Knees\n\nA knee bends.\n\n## Ankles\n\nAn ankle turns.\n")
    return folder


def test_an_index_says_what_it_holds(book: Path, tmp_path: Path) -> None:
    manifest = wire.index_book(book, Settings(index=tmp_path / "index")).manifest
    assert (manifest.title, manifest.kind, manifest.pages, manifest.chunks) == ("Robots", "markdown", 2, 3)
    assert manifest.chapters == (Chapter("Robots", 1, 1), Chapter("Legs", 1, 2))


def test_progress_is_told_to_the_end(book: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    wire.index_book(book, Settings(index=tmp_path / "index"), lambda *step: told.append(step))
    assert told[-1] == ("embed", 3, 3)
    assert ("split", 2, 2) in told


def test_a_file_that_is_not_utf8_is_indexed_with_a_notice(book: Path, tmp_path: Path) -> None:
    (book / "odd.md").write_bytes("# Café\n\nNaïve robots.\n".encode("latin-1"))
    indexed = wire.index_book(book, Settings(index=tmp_path / "index"))
    assert [notice.file for notice in indexed.notices] == ["odd.md"]
    assert "Café" in [chapter.title for chapter in indexed.manifest.chapters]


def test_a_failed_run_leaves_the_published_index_as_it_was(book: Path, tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index")
    first = wire.index_book(book, settings).manifest

    def fail(stage: str, done: int, total: int) -> None:
        if stage == "embed":
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        wire.index_book(book, settings, fail)
    with pytest.raises(BadSource):
        wire.index_book(tmp_path / "nowhere", settings)
    kept = asyncio.run(wire.store(settings).open())
    assert kept.manifest == first
    asyncio.run(kept.close())
