"""Tests that unchanged chunks are reused, and that the next batch is embedded meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.ports import Vectors
from bookbound.indexing.incremental import EMBED_BATCH_SIZE, PREFETCH_BATCHES, BookDiff, ReusableIndex
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.sources import parse_book
from bookbound.testing import ScriptedEmbedder

PAGES = 400


def chunks(count: int) -> list[list[Chunk]]:
    place = Place("a.md", "/a", "A", "A", (), "", 0, 0)
    return [[Chunk(str(number), f"word{number}", place, number) for number in range(count)]]


def test_only_the_changed_chunks_of_one_page_are_embedded(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    for number in range(PAGES):
        (book / f"{number:03}.md").write_text(
            f"# Page {number}\n\n## One\n\nWords {number}.\n\n## Two\n\nMore {number}."
        )
    embedder, store = ScriptedEmbedder(), EdgeStore(tmp_path / "index")

    def index() -> int:
        return asyncio.run(
            build_index(BookSource(lambda: parse_book(book)), embedder, store, lambda *_: None)
        ).embedded_chunks

    assert index() == len(embedder.texts) == 2 * PAGES
    embedder.texts.clear()
    (book / "007.md").write_text("# Page 7\n\n## One\n\nWords 7.\n\n## Two\n\nOther words.\n\n## Three\n\nNew.")
    assert index() == len(embedder.texts) == 2
    assert [text.rpartition("\n")[2] for text in embedder.texts] == ["Other words.", "New."]


def test_the_next_batch_is_embedded_while_one_is_used() -> None:
    embedder = ScriptedEmbedder()

    async def go() -> list[str]:
        seen: list[str] = []
        async for batch, vectors in ReusableIndex(None, BookDiff(), embedder).vectors(chunks(10 * EMBED_BATCH_SIZE)):
            assert vectors.shape == (len(batch), embedder.dimension)
            seen += [chunk.text for chunk in batch]
            assert len(embedder.texts) == min(10 * EMBED_BATCH_SIZE, len(seen) + PREFETCH_BATCHES * EMBED_BATCH_SIZE)
        return seen

    assert asyncio.run(go()) == [f"word{number}" for number in range(10 * EMBED_BATCH_SIZE)]


class Failing(ScriptedEmbedder):
    """Fails at its second batch, and counts pending calls."""

    pending = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.pending += 1
        try:
            await asyncio.sleep(0)
            if "word200" in "".join(texts):
                raise ServiceUnreachableError("The service is away.", service="embedder")
            await asyncio.sleep(0.01)
            return await super().embed(texts)
        finally:
            self.pending -= 1


@pytest.mark.parametrize("stop", [True, False])
def test_no_task_is_left_after_a_failure_or_an_early_end(stop: bool) -> None:
    embedder = Failing()

    async def go() -> None:
        batches = ReusableIndex(None, BookDiff(), embedder).vectors(chunks(10 * EMBED_BATCH_SIZE))
        try:
            async for _ in batches:
                if stop:
                    break
        finally:
            await batches.aclose()
            assert embedder.pending == 0
            assert len(asyncio.all_tasks()) == 1

    if stop:
        asyncio.run(go())
    else:
        with pytest.raises(ServiceUnreachableError):
            asyncio.run(go())
