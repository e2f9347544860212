"""Tests that a large generation is verified page by page."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from dataclasses import fields, replace

import pytest
from tests.indexing.store.conftest import make_chunk

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import CorruptIndexError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.edge_shard import EdgeShard
from bookbound.indexing.store.hybrid_index import verify_contents

PAGES, PAGE_SIZE = 20, 5


class WatchedChunk(Chunk):
    """A chunk whose end can be seen."""

    __slots__ = ("__weakref__",)


class PagedShard(EdgeShard):
    """Yields many chunks, and notes how many of them exist at the same time."""

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[WatchedChunk] = weakref.WeakSet()
        self.most = 0

    async def scan(self, file: str | None = None) -> AsyncIterator[list[Chunk]]:
        for page in range(PAGES):
            chunks = [make_chunk(page * PAGE_SIZE + at) for at in range(PAGE_SIZE)]
            watched = [
                WatchedChunk(**{each.name: getattr(chunk, each.name) for each in fields(chunk)}) for chunk in chunks
            ]
            self._alive.update(watched)
            self.most = max(self.most, len(self._alive))
            yield [*watched]


def test_verifying_a_generation_holds_few_of_its_pages(empty_manifest: Manifest) -> None:
    shard = PagedShard()
    with pytest.raises(CorruptIndexError, match="does not contain what was written"):
        asyncio.run(verify_contents(shard, replace(empty_manifest, digest="another")))
    assert PAGE_SIZE <= shard.most <= 4 * PAGE_SIZE < PAGES * PAGE_SIZE
