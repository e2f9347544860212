from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.indexing.store.every_store import STORES, make_store

from bookbound import bootstrap
from bookbound.bootstrap import components
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import IncompleteSourceError, SourceError
from bookbound.domain.manifest import ChapterSummary
from bookbound.domain.ports import IndexStore
from bookbound.indexing.pipeline import BookSource, IndexingResult, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.settings import Settings
from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source
from bookbound.testing import ScriptedEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
BuildBook = Callable[..., IndexingResult]


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


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> IndexStore:
    return make_store(request, tmp_path / "index")


@pytest.fixture
def build(book: Path, store: IndexStore, embedder: ScriptedEmbedder) -> BuildBook:
    """Indexes the book as it is."""

    def build_book(embedder: ScriptedEmbedder = embedder, **options: Any) -> IndexingResult:
        source = BookSource(
            lambda: parse_book(book),
            partial(fingerprint_source, book) if options.pop("fingerprint", True) else lambda _: "",
        )
        embedder.texts.clear()
        return asyncio.run(build_index(source, embedder, store, options.pop("progress", lambda *_: None), **options))

    return build_book


def read_chunks(store: IndexStore) -> list[Chunk]:
    async def go() -> list[Chunk]:
        index = await store.open()
        try:
            return [chunk for page in index.manifest.page_fingerprints for chunk in await index.chunks(page.file)]
        finally:
            await index.close()

    return asyncio.run(go())


def test_the_manifest_describes_the_book(book: Path, tmp_path: Path) -> None:
    manifest = bootstrap.index_book(book, Settings(index=tmp_path / "index")).manifest
    assert (manifest.title, manifest.kind, manifest.pages, manifest.chunks) == ("Robots", "markdown", 3, 4)
    assert manifest.chapters == (
        ChapterSummary("Robots", 1, 1),
        ChapterSummary("Arms", 1, 1),
        ChapterSummary("Legs", 1, 2),
    )
    assert [(page.file, page.chunks) for page in manifest.page_fingerprints] == [
        ("README.md", 1),
        ("arms.md", 1),
        ("legs.md", 2),
    ]
    assert not list(tmp_path.glob("index-work*"))


def test_progress_is_reported_to_the_end(build: BuildBook) -> None:
    steps: list[tuple[str, int, int]] = []
    build(progress=lambda *step: steps.append(step))
    assert steps[0] == ("read", 0, 0)
    assert ("split", 3, 3) in steps
    assert steps[-1] == ("embed", 4, 4)


def test_a_file_that_is_not_utf8_is_indexed_with_a_notice(book: Path, build: BuildBook) -> None:
    (book / "odd.md").write_bytes("# Café\n\nNaïve robots.\n".encode("latin-1"))
    indexed = build()
    assert [notice.file for notice in indexed.notices] == ["odd.md"]
    assert not indexed.has_lost_text
    assert "Café" in [chapter.title for chapter in indexed.manifest.chapters]


def test_a_book_that_did_not_change_is_neither_read_nor_published_again(
    build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    first = build()
    steps: list[tuple[str, int, int]] = []
    again = build(progress=lambda *step: steps.append(step))
    assert not again.is_published
    assert (again.manifest, again.embedded_chunks, steps, embedder.texts) == (first.manifest, 0, [], [])
    assert len(asyncio.run(store.generations())) == 1


def test_without_a_fingerprint_an_unchanged_book_is_read_but_not_published(
    build: BuildBook, embedder: ScriptedEmbedder
) -> None:
    first = build(fingerprint=False)
    again = build(fingerprint=False)
    assert not again.is_published
    assert (again.manifest, embedder.texts) == (first.manifest, [])


def test_only_the_chunks_of_a_changed_page_are_embedded(
    book: Path, build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    build()
    before = {chunk.id: chunk for chunk in read_chunks(store)}
    (book / "legs.md").write_text("# Legs\n\n## Knees\n\nA knee bends far.\n\n## Ankles\n\nAn ankle turns.\n")
    indexed = build()
    assert indexed.changes.changed == ("legs.md",)
    assert set(indexed.changes.unchanged) == {"README.md", "arms.md"}
    assert [text.splitlines()[-1] for text in embedder.texts] == ["A knee bends far."]
    assert indexed.embedded_chunks == 1
    now = read_chunks(store)
    assert [chunk.text.splitlines()[-1] for chunk in now][-2:] == ["A knee bends far.", "An ankle turns."]
    assert all(before[chunk.id] == chunk for chunk in now if chunk.place.file != "legs.md")


def test_reused_chunks_are_found_like_new_ones(book: Path, build: BuildBook, store: IndexStore, tmp_path: Path) -> None:
    build()
    (book / "arms.md").write_text("# Arms\n\nAn arm reaches far.\n")
    reused = build()
    fresh = EdgeStore(tmp_path / "fresh")
    new = asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), fresh, lambda *_: None))
    assert read_chunks(store) == read_chunks(fresh)
    assert (reused.manifest.digest, reused.manifest.page_fingerprints) == (
        new.manifest.digest,
        new.manifest.page_fingerprints,
    )

    async def found(store: IndexStore) -> list[tuple[str, float]]:
        index = await store.open()
        vector = await ScriptedEmbedder().embed_question("a knee bends")
        passages = await index.search("a knee bends", vector, 4)
        await index.close()
        return [(passage.chunk.id, round(passage.score, 4)) for passage in passages]

    assert asyncio.run(found(store)) == asyncio.run(found(fresh))


def test_a_removed_page_disappears(book: Path, build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder) -> None:
    build()
    (book / "arms.md").unlink()
    assert build().changes.removed == ("arms.md",)
    assert embedder.texts == []
    assert {chunk.place.file for chunk in read_chunks(store)} == {"README.md", "legs.md"}


def test_a_renamed_page_is_not_embedded_again(
    book: Path, build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    build()
    (book / "legs.md").rename(book / "walking.md")
    indexed = build()
    assert indexed.changes.renamed == {"walking.md": "legs.md"}
    assert not indexed.changes.removed
    assert embedder.texts == []
    assert {chunk.place.file for chunk in read_chunks(store)} == {"README.md", "arms.md", "walking.md"}


def test_text_that_moves_within_its_file_is_not_embedded_again(
    book: Path, build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    build()
    before = read_chunks(store)[-1].place.start
    (book / "legs.md").write_text("\n\n" + (book / "legs.md").read_text())
    moved = build()
    assert moved.is_published
    assert embedder.texts == []
    assert read_chunks(store)[-1].place.start == before + 2


def test_a_book_that_lost_over_a_third_of_its_pages_needs_force(
    book: Path, build: BuildBook, store: IndexStore
) -> None:
    first = build()
    for name in ("arms.md", "legs.md"):
        (book / name).unlink()
    with pytest.raises(IncompleteSourceError, match=r"2 of the 3 pages of .Robots.*--force"):
        build()
    assert asyncio.run(store.generations())[0] == first.manifest
    assert build(force=True).manifest.pages == 1


@pytest.mark.parametrize("content", ["# Sign in\n\nPlease sign in to read this page.\n", "# Legs\n"])
def test_a_book_whose_pages_lost_over_a_third_of_their_words_needs_force(
    book: Path, build: BuildBook, store: IndexStore, content: str
) -> None:
    for name in ("legs.md", "arms.md", "README.md"):
        (book / name).write_text(f"# {name}\n\n" + "A robot has many parts, and each of them moves. " * 20)
    first = build()
    for name in ("legs.md", "arms.md", "README.md"):
        (book / name).write_text(content)
    with pytest.raises(IncompleteSourceError, match=r"words in \d+ chunks.*sign-in.*--force"):
        build()
    assert asyncio.run(store.generations())[0] == first.manifest
    assert build(force=True).is_published


def test_a_dry_run_reports_changes_and_publishes_nothing(
    book: Path, build: BuildBook, store: IndexStore, embedder: ScriptedEmbedder
) -> None:
    would = build(dry_run=True)
    assert not would.is_published
    assert would.changes.added == ("README.md", "arms.md", "legs.md")
    assert asyncio.run(store.generations()) == []
    build()
    (book / "new.md").write_text("# New\n\nWords.\n")
    assert build(dry_run=True).changes.added == ("new.md",)
    assert embedder.texts == []
    assert len(asyncio.run(store.generations())) == 1


def test_another_embedder_embeds_every_page_again(build: BuildBook) -> None:
    build()
    other = ScriptedEmbedder("another")
    assert build(other).embedded_chunks == len(other.texts) == 4


def test_force_publishes_an_unchanged_book_again(build: BuildBook, store: IndexStore) -> None:
    build()
    assert build(force=True).is_published
    assert len(asyncio.run(store.generations())) == 2


def test_a_damaged_index_is_built_again(book: Path, tmp_path: Path) -> None:
    store, embedder = EdgeStore(tmp_path / "index"), ScriptedEmbedder()
    source = BookSource(lambda: parse_book(book), partial(fingerprint_source, book))
    first = asyncio.run(build_index(source, embedder, store, lambda *_: None)).manifest
    shard = tmp_path / "index" / "generations" / first.generation / "shard"
    next(path for path in shard.rglob("*") if path.is_file() and path.stat().st_size).write_bytes(b"x")
    again = asyncio.run(build_index(source, embedder, store, lambda *_: None))
    assert again.embedded_chunks == 4
    assert len(read_chunks(store)) == 4


def test_damage_to_an_older_generation_does_not_hide_the_published_one(
    build: BuildBook, book: Path, tmp_path: Path
) -> None:
    first = build().manifest
    for page in list(book.iterdir())[:1]:
        page.write_text(f"{page.read_text()}\nMore of it.\n")
    build()
    for manifest in tmp_path.glob(f"**/generations/{first.generation}/manifest.json"):
        manifest.write_text("no manifest")
    for page in list(book.iterdir())[:2]:
        page.unlink()
    with pytest.raises(IncompleteSourceError):
        build()


def test_cancelling_does_not_wait_for_the_reader(tmp_path: Path) -> None:
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


def test_a_notice_of_lost_text_is_repeated_each_time(build: BuildBook, book: Path) -> None:
    (book / "damaged.md").write_bytes(b"\0\1")
    assert build().has_lost_text
    assert build().has_lost_text, "it is read again, though nothing changed"


@pytest.mark.parametrize("included", ["../words.md", ".hidden/words.md"])
def test_an_included_file_outside_the_source_counts_as_source(tmp_path: Path, included: str) -> None:
    (root := tmp_path / "book" / "src").mkdir(parents=True)
    (tmp_path / "book" / "book.toml").write_text('[book]\ntitle = "A book"\n')
    (root / "SUMMARY.md").write_text("- [One](one.md)\n")
    (root / "one.md").write_text(f"# One\n\n{{{{#include {included}}}}}\n")
    (other := root / included).parent.mkdir(exist_ok=True)
    other.write_text("The first words.\n")
    settings = Settings(index=tmp_path / "index")
    assert bootstrap.index_book(root, settings).is_published
    assert not bootstrap.index_book(root, settings).is_published
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
    index = asyncio.run(bootstrap.build_store(settings).open())
    assert index.manifest == first
    asyncio.run(index.close())


def test_interrupted_indexing_resumes(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, embedder = Settings(index=tmp_path / "index"), ScriptedEmbedder()
    monkeypatch.setattr(components, "build_embedder", lambda settings: embedder)
    (book / "long.md").write_text("# Long\n\n" + "\n\n".join(f"## Part {n}\n\nWords of part {n}." for n in range(400)))

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "embed" and done >= 128:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        bootstrap.index_book(book, settings, stop)
    done = len(embedder.texts)
    assert 128 <= done < 404
    bootstrap.index_book(book, settings)
    assert len(embedder.texts) == len(set(embedder.texts)) == 404
    assert not list(tmp_path.glob("index-work*"))


def test_a_book_that_depends_on_the_date_is_read_each_time(tmp_path: Path) -> None:
    (root := tmp_path / "book" / "content").mkdir(parents=True)
    (tmp_path / "book" / "hugo.toml").write_text('title = "A book"')
    (root / "now.md").write_text("# Now\n\nThe first words.\n")
    (root / "later.md").write_text("---\ndate: 2999-01-01\n---\n# Later\n\nThe last words.\n")
    settings = Settings(index=tmp_path / "index")
    assert bootstrap.index_book(root.parent, settings).manifest.source_fingerprint == ""
    again = bootstrap.index_book(root.parent, settings)
    assert (again.is_published, len(again.notices)) == (False, 1), "it was read again, and is the same"
    (root / "later.md").write_text("# Later\n\nThe last words.\n")
    assert bootstrap.index_book(root.parent, settings).manifest.source_fingerprint


def test_a_page_saved_while_the_book_is_read_is_indexed_the_next_time(book: Path, tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index")

    def read_slowly() -> ParsedBook:
        parsed = parse_book(book)
        (book / "arms.md").write_text("# Arms\n\nAn arm was changed meanwhile.\n")
        return parsed

    def build_from(read: Callable[[], ParsedBook]) -> IndexingResult:
        return asyncio.run(
            build_index(BookSource(read, partial(fingerprint_source, book)), ScriptedEmbedder(), store, lambda *_: None)
        )

    build_from(read_slowly)
    assert build_from(partial(parse_book, book)).changes.changed == ("arms.md",)


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_page_saved_while_the_source_is_fingerprinted_is_indexed_at_the_latest_the_next_time(
    book: Path, tmp_path: Path, moment: int
) -> None:
    store, calls = EdgeStore(tmp_path / "index"), count(1)

    def fingerprint(outside_files: Sequence[str]) -> str:
        if next(calls) == moment:
            (book / "arms.md").write_text("# Arms\n\nAn arm was changed meanwhile.\n")
        return fingerprint_source(book, outside_files)

    source = BookSource(partial(parse_book, book), fingerprint)
    for _ in range(2):
        asyncio.run(build_index(source, ScriptedEmbedder(), store, lambda *_: None))
    assert "changed meanwhile" in " ".join(chunk.text for chunk in read_chunks(store))


def test_a_file_included_by_a_single_page_source_counts_as_source(tmp_path: Path) -> None:
    (tmp_path / "main.rst").write_text("Main\n====\n\n.. include:: part.rst\n")
    (part := tmp_path / "part.rst").write_text("The first words.\n")
    settings = Settings(index=tmp_path / "index")
    bootstrap.index_book(tmp_path / "main.rst", settings)
    assert not bootstrap.index_book(tmp_path / "main.rst", settings).is_published
    part.write_text("Some other words.\n")
    assert bootstrap.index_book(tmp_path / "main.rst", settings).is_published


def test_a_later_writer_sees_what_another_has_published_meanwhile(book: Path, tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index")
    (other := tmp_path / "other").mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")

    def build_from(read: Callable[[], ParsedBook]) -> IndexingResult:
        return asyncio.run(build_index(BookSource(read), ScriptedEmbedder(), store, lambda *_: None))

    def read_while_another_publishes() -> ParsedBook:
        build_from(partial(parse_book, book))
        return parse_book(other)

    with pytest.raises(IncompleteSourceError):
        build_from(read_while_another_publishes)
    assert asyncio.run(store.open()).manifest.title == "Robots"
