"""A small book for the tests of the stores: chunks with places, and vectors from a seeded generator."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.domain.ports import IndexStore
from bookbound.indexing.store.edge_store import EdgeStore

DIMENSION = 8
TEXTS = (
    "A harmonic drive trades speed for torque in very little space.",
    "The gripper closes until its fingers feel the object.",
    "Balance is kept by moving the centre of pressure under the robot.",
    "A depth camera measures how far away each point is.",
    "The planner searches a tree of random poses for a free path.",
    "The zyzzyva beetle appears in no other chapter of the book.",
)


def make_chunk(number: int, text: str | None = None, file: str = "") -> Chunk:
    text = TEXTS[number % len(TEXTS)] if text is None else text
    page = number // 3
    place = Place(
        file=file or f"docs/page-{page}.md",
        url=f"/page-{page}",
        chapter="Machines",
        title=f"Page {page}",
        headings=("Parts", f"Part {number}"),
        anchor=f"part-{number}",
        start=100 * number,
        end=100 * number + len(text),
        page=None,
    )
    spans = (SourceSpan(0, len(text), 100 * number, 100 * number + len(text)),)
    units = (QuotableUnit("code", 0, 3), QuotableUnit("sentence", 3, len(text)))
    return Chunk(str(uuid.UUID(int=number + 1)), text, place, number, spans, units)


def make_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)


async def publish_in(store: IndexStore, chunks: Sequence[Chunk], vectors: NDArray[np.float32], title: str) -> Manifest:
    manifest = Manifest(
        title=title,
        kind="markdown",
        embedder="seeded",
        dimension=DIMENSION,
        splitter="none",
        average_words=12.0,
        pages=2,
        chunks=len(chunks),
        chapters=(ChapterSummary("Machines", 2, len(chunks)),),
    )
    async with store.writer(manifest) as writer:
        await writer.add(chunks, vectors)
        return await writer.publish()


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    """Makes chunk `number` of the book, with another text or file if needed."""
    return make_chunk


@pytest.fixture
def chunks() -> list[Chunk]:
    return [make_chunk(number) for number in range(len(TEXTS))]


@pytest.fixture
def vectors() -> Callable[..., NDArray[np.float32]]:
    """Makes `count` vectors, the same ones for the same seed."""
    return make_vectors


@pytest.fixture
def empty_manifest() -> Manifest:
    """The manifest that a writer starts with."""
    return Manifest("Robots", "markdown", "seeded", DIMENSION, "none", 12.0, pages=2, chunks=0)


@pytest.fixture
def publish() -> Callable[..., object]:
    """Publishes chunks in a store, with a title that identifies the generation."""

    async def publish_chunks(
        store: IndexStore, chunks: Sequence[Chunk], vectors: NDArray[np.float32] | None = None, title: str = "Robots"
    ) -> Manifest:
        return await publish_in(store, chunks, make_vectors(len(chunks)) if vectors is None else vectors, title)

    return publish_chunks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def edge(folder: Path) -> EdgeStore:
    return EdgeStore(folder)
