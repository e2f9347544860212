from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient

from bookbound import bootstrap
from bookbound.bootstrap import components
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import IncompleteSourceError, SourceError
from bookbound.domain.manifest import ChapterSummary
from bookbound.domain.ports import IndexStore
from bookbound.indexing.pipeline import BookSource, IndexingResult, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.qdrant_store import QdrantStore
from bookbound.settings import Settings
from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source
from bookbound.testing import ScriptedEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
Make = Callable[..., IndexingResult]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "README.md").write_text("# Robots\n\nA robot senses, plans and acts.\n")
    (folder / "legs.md").write_text("# Legs\n\n## Knees\n\nA knee bends.\n\n## Ankles\n\nAn ankle turns.\n")
    (folder / "arms.md").write_text("# Arms\n\nAn arm reaches.\n")
    return folder


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture(params=["edge", "qdrant"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexStore]:
    if request.param == "edge":
        yield EdgeStore(tmp_path / "index")
    else:
        yield QdrantStore(AsyncQdrantClient(location=":memory:"))


@pytest.fixture
def make(book: Path, store: IndexStore, embedder: ScriptedEmbedder) -> Make:
    """Indexes the book as it stands, with what it was told in `told`."""

    def made(embedder: ScriptedEmbedder = embedder, **how: Any) -> IndexingResult:
        source = BookSource(
            lambda: parse_book(book), partial(fingerprint_source, book) if how.pop("marked", True) else lambda _: ""
        )
        embedder.given.clear()
        return asyncio.run(build_index(source, embedder, store, how.pop("progress", lambda *_: None), **how))

    return made


def contents(store: IndexStore) -> list[Chunk]:
    async def go() -> list[Chunk]:
        index = await store.open()
        try:
            return [chunk for sheet in index.manifest.sheets for chunk in await index.chunks(sheet.file)]
        finally:
            await index.close()

    return asyncio.run(go())


def test_an_index_says_what_it_holds(book: Path, tmp_path: Path) -> None:
    manifest = bootstrap.index_book(book, Settings(index=tmp_path / "index")).manifest
    assert (manifest.title, manifest.kind, manifest.pages, manifest.chunks) == ("Robots", "markdown", 3, 4)
    assert manifest.chapters == (
        ChapterSummary("Robots", 1, 1),
        ChapterSummary("Arms", 1, 1),
        ChapterSummary("Legs", 1, 2),
    )
    assert [(sheet.file, sheet.chunks) for sheet in manifest.sheets] == [
        ("README.md", 1),
        ("arms.md", 1),
        ("legs.md", 2),
    ]
    assert not list(tmp_path.glob("index-work*"))


def test_progress_is_told_to_the_end(make: Make) -> None:
    told: list[tuple[str, int, int]] = []
    make(progress=lambda *step: told.append(step))
    assert told[0] == ("read", 0, 0)
    assert ("split", 3, 3) in told
    assert told[-1] == ("embed", 4, 4)


def test_a_file_that_is_not_utf8_is_indexed_with_a_notice(book: Path, make: Make) -> None:
    (book / "odd.md").write_bytes("# Café\n\nNaïve robots.\n".encode("latin-1"))
    indexed = make()
    assert [notice.file for notice in indexed.notices] == ["odd.md"]
    assert not indexed.lost
    assert "Café" in [chapter.title for chapter in indexed.manifest.chapters]


def test_a_book_that_did_not_change_is_neither_read_nor_published_again(
    make: Make, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    first = make()
    told: list[tuple[str, int, int]] = []
    again = make(progress=lambda *step: told.append(step))
    assert not again.published
    assert (again.manifest, again.embedded, told, embedder.given) == (first.manifest, 0, [], [])
    assert len(asyncio.run(store.generations())) == 1


def test_without_a_mark_it_is_read_and_found_the_same(make: Make, embedder: ScriptedEmbedder) -> None:
    first = make(marked=False)
    again = make(marked=False)
    assert not again.published
    assert (again.manifest, embedder.given) == (first.manifest, [])


def test_only_the_chunks_of_a_changed_page_are_embedded(
    book: Path, make: Make, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    make()
    before = {chunk.id: chunk for chunk in contents(store)}
    (book / "legs.md").write_text("# Legs\n\n## Knees\n\nA knee bends far.\n\n## Ankles\n\nAn ankle turns.\n")
    indexed = make()
    assert indexed.changes.changed == ("legs.md",)
    assert set(indexed.changes.unchanged) == {"README.md", "arms.md"}
    assert [text.splitlines()[-1] for text in embedder.given] == ["A knee bends far."]
    assert indexed.embedded == 1
    now = contents(store)
    assert [chunk.text.splitlines()[-1] for chunk in now][-2:] == ["A knee bends far.", "An ankle turns."]
    assert all(before[chunk.id] == chunk for chunk in now if chunk.place.file != "legs.md")


def test_what_is_taken_over_is_found_as_if_it_were_new(
    book: Path, make: Make, store: IndexStore, tmp_path: Path
) -> None:
    make()
    (book / "arms.md").write_text("# Arms\n\nAn arm reaches far.\n")
    taken = make()
    fresh = EdgeStore(tmp_path / "fresh")
    new = asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), fresh, lambda *_: None))
    assert contents(store) == contents(fresh)
    assert (taken.manifest.digest, taken.manifest.sheets) == (new.manifest.digest, new.manifest.sheets)

    async def found(store: IndexStore) -> list[tuple[str, float]]:
        index = await store.open()
        vector = await ScriptedEmbedder().embed_question("a knee bends")
        passages = await index.search("a knee bends", vector, 4)
        await index.close()
        return [(passage.chunk.id, round(passage.score, 4)) for passage in passages]

    assert asyncio.run(found(store)) == asyncio.run(found(fresh))


def test_a_removed_page_disappears(book: Path, make: Make, store: IndexStore, embedder: ScriptedEmbedder) -> None:
    make()
    (book / "arms.md").unlink()
    assert make().changes.removed == ("arms.md",)
    assert embedder.given == []
    assert {chunk.place.file for chunk in contents(store)} == {"README.md", "legs.md"}


def test_a_renamed_page_is_recognised_and_not_embedded_again(
    book: Path, make: Make, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    make()
    (book / "legs.md").rename(book / "walking.md")
    indexed = make()
    assert indexed.changes.renamed == {"walking.md": "legs.md"}
    assert not indexed.changes.removed
    assert embedder.given == []
    assert {chunk.place.file for chunk in contents(store)} == {"README.md", "arms.md", "walking.md"}


def test_words_that_only_move_within_their_file_are_not_embedded_again(
    book: Path, make: Make, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    make()
    before = contents(store)[-1].place.start
    (book / "legs.md").write_text("\n\n" + (book / "legs.md").read_text())
    moved = make()
    assert moved.published
    assert embedder.given == []
    assert contents(store)[-1].place.start == before + 2


def test_a_book_that_lost_more_than_a_third_of_its_pages_is_refused_until_it_is_meant(
    book: Path, make: Make, store: IndexStore
) -> None:
    first = make()
    for name in ("arms.md", "legs.md"):
        (book / name).unlink()
    with pytest.raises(IncompleteSourceError, match=r"2 of the 3 pages of .Robots.*--force"):
        make()
    assert asyncio.run(store.generations())[0] == first.manifest
    assert make(force=True).manifest.pages == 1


def test_a_dry_run_says_what_would_happen_and_does_nothing(
    book: Path, make: Make, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    would = make(dry_run=True)
    assert not would.published
    assert would.changes.added == ("README.md", "arms.md", "legs.md")
    assert asyncio.run(store.generations()) == []
    make()
    (book / "new.md").write_text("# New\n\nWords.\n")
    assert make(dry_run=True).changes.added == ("new.md",)
    assert embedder.given == []
    assert len(asyncio.run(store.generations())) == 1


def test_another_embedder_embeds_every_page_again(make: Make) -> None:
    make()
    other = ScriptedEmbedder("another")
    assert make(other).embedded == len(other.given) == 4


def test_force_makes_a_generation_of_a_book_that_did_not_change(make: Make, store: IndexStore) -> None:
    make()
    assert make(force=True).published
    assert len(asyncio.run(store.generations())) == 2


def test_an_index_that_is_damaged_is_made_anew(book: Path, tmp_path: Path) -> None:
    store, embedder = EdgeStore(tmp_path / "index"), ScriptedEmbedder()
    source = BookSource(lambda: parse_book(book), partial(fingerprint_source, book))
    first = asyncio.run(build_index(source, embedder, store, lambda *_: None)).manifest
    shard = tmp_path / "index" / "generations" / first.generation / "shard"
    next(path for path in shard.rglob("*") if path.is_file() and path.stat().st_size).write_bytes(b"x")
    again = asyncio.run(build_index(source, embedder, store, lambda *_: None))
    assert again.embedded == 4
    assert len(contents(store)) == 4


def test_damage_to_an_older_generation_does_not_hide_the_published_one(make: Make, book: Path, tmp_path: Path) -> None:
    first = make().manifest
    for page in list(book.iterdir())[:1]:
        page.write_text(f"{page.read_text()}\nMore of it.\n")
    make()
    for manifest in tmp_path.glob(f"**/generations/{first.generation}/manifest.json"):
        manifest.write_text("no manifest")
    for page in list(book.iterdir())[:2]:
        page.unlink()
    with pytest.raises(IncompleteSourceError):
        make()


def test_whoever_breaks_off_does_not_wait_for_a_reader(tmp_path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    def read_long() -> ParsedBook:
        begun.set()
        end.wait()
        return ParsedBook("Too late", "markdown", ())

    async def go() -> None:
        store = EdgeStore(tmp_path / "index")
        task = asyncio.create_task(build_index(BookSource(read_long), ScriptedEmbedder(), store, lambda *_: None))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert not end.is_set()
    end.set()


def test_a_source_that_loses_pages_is_told_of_each_time(make: Make, book: Path) -> None:
    (book / "spoilt.md").write_bytes(b"\0\1")
    assert make().lost
    assert make().lost, "it is read again, though nothing changed"


@pytest.mark.parametrize("beside", ["../words.md", ".hidden/words.md"])
def test_a_file_beside_the_source_that_was_read_is_a_part_of_it(tmp_path: Path, beside: str) -> None:
    (root := tmp_path / "book" / "src").mkdir(parents=True)
    (tmp_path / "book" / "book.toml").write_text('[book]\ntitle = "A book"\n')
    (root / "SUMMARY.md").write_text("- [One](one.md)\n")
    (root / "one.md").write_text(f"# One\n\n{{{{#include {beside}}}}}\n")
    (other := root / beside).parent.mkdir(exist_ok=True)
    other.write_text("The first words.\n")
    settings = Settings(index=tmp_path / "index")
    assert bootstrap.index_book(root, settings).published
    assert not bootstrap.index_book(root, settings).published
    other.write_text("Some other words.\n")
    assert bootstrap.index_book(root, settings).changes.changed == ("one.md",)


def test_a_failed_run_leaves_the_published_index_as_it_was(book: Path, tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "index")
    first = bootstrap.index_book(book, settings).manifest
    (book / "arms.md").write_text("# Arms\n\nAn arm reaches far.\n")

    def fail(stage: str, done: int, total: int) -> None:
        if stage == "embed":
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        bootstrap.index_book(book, settings, fail)
    with pytest.raises(SourceError):
        bootstrap.index_book(tmp_path / "nowhere", settings)
    kept = asyncio.run(bootstrap.store(settings).open())
    assert kept.manifest == first
    asyncio.run(kept.close())


def test_work_that_was_broken_off_is_not_done_again(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, embedder = Settings(index=tmp_path / "index"), ScriptedEmbedder()
    monkeypatch.setattr(components, "embedder", lambda settings: embedder)
    (book / "long.md").write_text("# Long\n\n" + "\n\n".join(f"## Part {n}\n\nWords of part {n}." for n in range(200)))

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "embed" and done >= 128:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        bootstrap.index_book(book, settings, stop)
    done = len(embedder.given)
    assert 128 <= done < 204
    bootstrap.index_book(book, settings)
    assert len(embedder.given) == len(set(embedder.given)) == 204
    assert not list(tmp_path.glob("index-work*"))


def test_a_book_that_changes_with_time_is_read_each_time(tmp_path: Path) -> None:
    (root := tmp_path / "book" / "content").mkdir(parents=True)
    (tmp_path / "book" / "hugo.toml").write_text('title = "A book"')
    (root / "now.md").write_text("# Now\n\nThe first words.\n")
    (root / "later.md").write_text("---\ndate: 2999-01-01\n---\n# Later\n\nThe last words.\n")
    settings = Settings(index=tmp_path / "index")
    assert bootstrap.index_book(root.parent, settings).manifest.source == ""
    again = bootstrap.index_book(root.parent, settings)
    assert (again.published, len(again.notices)) == (False, 1), "it was read again, and is the same"
    (root / "later.md").write_text("# Later\n\nThe last words.\n")
    assert bootstrap.index_book(root.parent, settings).manifest.source


def test_a_page_that_is_saved_while_the_book_is_read_is_found_the_next_time(book: Path, tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index")

    def read_slowly() -> ParsedBook:
        manuscript = parse_book(book)
        (book / "arms.md").write_text("# Arms\n\nAn arm was changed meanwhile.\n")
        return manuscript

    def made(how: Callable[[], ParsedBook]) -> IndexingResult:
        return asyncio.run(
            build_index(BookSource(how, partial(fingerprint_source, book)), ScriptedEmbedder(), store, lambda *_: None)
        )

    made(read_slowly)
    assert made(partial(parse_book, book)).changes.changed == ("arms.md",)


def test_a_file_that_the_one_page_of_a_source_includes_is_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "main.rst").write_text("Main\n====\n\n.. include:: part.rst\n")
    (part := tmp_path / "part.rst").write_text("The first words.\n")
    settings = Settings(index=tmp_path / "index")
    bootstrap.index_book(tmp_path / "main.rst", settings)
    assert not bootstrap.index_book(tmp_path / "main.rst", settings).published
    part.write_text("Some other words.\n")
    assert bootstrap.index_book(tmp_path / "main.rst", settings).published


def test_of_two_writers_the_later_one_sees_what_the_first_has_published(book: Path, tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index")
    (other := tmp_path / "other").mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")

    def made(how: Callable[[], ParsedBook]) -> IndexingResult:
        return asyncio.run(build_index(BookSource(how), ScriptedEmbedder(), store, lambda *_: None))

    def read_while_another_publishes() -> ParsedBook:
        made(partial(parse_book, book))
        return parse_book(other)

    with pytest.raises(IncompleteSourceError):
        made(read_while_another_publishes)
    assert asyncio.run(store.open()).manifest.title == "Robots"
