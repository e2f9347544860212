"""`python -m lab.measure.cluster.scale`: measures search in many chunks on three Qdrant nodes. Linux only.

The vectors are mixtures of two vectors of the example book with noise, and the texts are those of its chunks. Recall is
the share of the ten nearest chunks by exact search that a search by meaning finds among its first ten.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models

from bookbound import bootstrap, filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.index_format import DENSE_VECTOR
from bookbound.indexing.store.qdrant_shard import SEARCH_BEAM, dense_search_params
from bookbound.indexing.store.qdrant_store import QdrantStore
from bookbound.settings import Settings
from lab.measure.question_sets import BOOK, OUT
from tests.servers.qdrant_nodes import MISSING_MESSAGE, QdrantCluster, find_executable, run_cluster, wait_until

BATCH, NAME, K, QUESTIONS = 2_000, "scale", 10, 200
CANDIDATES = 50
"""How many points a question for ten passages asks for."""
PAGE_CHUNKS = 50
BEAMS = (64, 100, 128, 256, 512)
Rows = NDArray[np.float32]


async def load_real_chunks(folder: Path) -> tuple[Manifest, list[Chunk], Rows]:
    """Reads the index of the example book, which is made first if the folder has none."""
    if not (folder / "current").exists():
        await asyncio.to_thread(bootstrap.index_book, BOOK, Settings(index=folder))
    index = await EdgeStore(folder).open()
    pairs = [pair for page in index.manifest.page_fingerprints for pair in await index.chunks_with_vectors(page.file)]
    await index.close()
    return index.manifest, [chunk for chunk, _ in pairs], np.stack([vector for _, vector in pairs])


def mix_vectors(real: Rows, count: int, seed: int) -> Rows:
    """Returns unit vectors between two real ones, with noise of a third of their length."""
    chance = np.random.default_rng(seed)
    one, two = real[chance.integers(len(real), size=(2, count))]
    share = chance.uniform(0.3, 1.0, (count, 1)).astype(np.float32)
    noise = chance.standard_normal((count, real.shape[1])).astype(np.float32) / np.sqrt(real.shape[1]) / 3
    mixed = share * one + (1 - share) * two + noise
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


def make_chunk(chunks: list[Chunk], number: int) -> Chunk:
    """Returns a copy of a real chunk on a page that has some neighbours of it."""
    real = chunks[number % len(chunks)]
    place = replace(real.place, file=f"page-{number // PAGE_CHUNKS}.md")
    return replace(real, id=str(UUID(int=number + 1)), place=place, position=number)


def make_batches(chunks: list[Chunk], real: Rows, count: int) -> Iterator[tuple[list[Chunk], Rows]]:
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        yield [make_chunk(chunks, number) for number in numbers], mix_vectors(real, len(numbers), start + 1)


def list_searches() -> dict[str, models.SearchParams]:
    """Searches with wider and narrower beams, without the exact vectors, and without the quantised ones."""
    quantized = {f"quantised, beam {beam}": dense_search_params(beam) for beam in BEAMS}
    unchecked = models.QuantizationSearchParams(rescore=False)
    plain = models.QuantizationSearchParams(ignore=True)
    return {
        **quantized,
        "quantised alone": models.SearchParams(hnsw_ef=SEARCH_BEAM, quantization=unchecked),
        **{f"plain, beam {beam}": models.SearchParams(hnsw_ef=beam, quantization=plain) for beam in BEAMS},
    }


async def compare_searches(url: str, collection: str, questions: Rows) -> dict[str, dict[str, float]]:
    """Measures recall and time of each way to search by meaning."""
    client = AsyncQdrantClient(url=url, check_compatibility=False, timeout=120)

    async def search(params: models.SearchParams) -> tuple[list[set[models.ExtendedPointId]], dict[str, float]]:
        found, times = list[set[models.ExtendedPointId]](), list[float]()
        for question in questions:
            start = perf_counter()
            reply = await client.query_points(
                collection,
                query=question.tolist(),
                using=DENSE_VECTOR,
                limit=CANDIDATES,
                search_params=params,
                with_payload=False,
            )
            times.append(perf_counter() - start)
            found.append({point.id for point in reply.points[:K]})
        return found, describe_times(times)

    figures = dict[str, dict[str, float]]()
    nearest, figures["exact"] = await search(models.SearchParams(exact=True))
    for name, params in list_searches().items():
        found, times = await search(params)
        hits = sum(len(one & two) for one, two in zip(found, nearest, strict=True))
        figures[name] = {"recall": round(hits / (K * len(questions)), 4), **times}
        print(name, figures[name], flush=True)
    await client.close()
    return figures


async def time_reads(
    store: QdrantStore, chunks: list[Chunk], questions: Rows, count: int
) -> dict[str, dict[str, float]]:
    """Times what a server asks for a question: the hybrid search, and the chunks of a page."""
    index, searches, pages = await store.open(), list[float](), list[float]()
    for number, question in enumerate(questions):
        start = perf_counter()
        await index.search(" ".join(chunks[number % len(chunks)].text.split()[:12]), question, K)
        searches.append(perf_counter() - start)
        start = perf_counter()
        found = await index.chunks(f"page-{number * count // QUESTIONS // PAGE_CHUNKS}.md")
        pages.append(perf_counter() - start)
        assert len(found) == PAGE_CHUNKS
    await index.close()
    return {"hybrid search": describe_times(searches), "chunks of a page": describe_times(pages)}


def describe_times(seconds: list[float]) -> dict[str, float]:
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return {"p50 ms": round(statistics.median(seconds) * 1000, 1), "p95 ms": round(p95 * 1000, 1)}


def describe_node(cluster: QdrantCluster, number: int) -> dict[str, int]:
    node = cluster.nodes[number]
    lines = Path(f"/proc/{node.process_id}/status").read_text().splitlines()
    memory = {
        name: int(value.split()[0]) // 1024
        for name, _, value in (line.partition(":") for line in lines)
        if "Rss" in name
    }
    return memory | {"disk": filesystem.disk_usage(node.folder) // 2**20}


async def run(count: int, replicas: int, folder: Path, book: Path | None) -> dict[str, Any]:
    manifest, chunks, real = await load_real_chunks(book or folder / "book")
    with run_cluster(folder, 3) as cluster:
        store = QdrantStore(cluster.urls, collection=NAME, shards=3, replicas=replicas, timeout=60)
        start = perf_counter()
        async with store.writer(replace(manifest, page_fingerprints=(), generation="", digest="")) as writer:
            for batch, vectors in make_batches(chunks, real, count):
                await writer.add(batch, vectors)
            written = perf_counter() - start
            print(f"written in {written:.0f} s", flush=True)
            published = await writer.publish()
        publishing = perf_counter() - start - written
        collection = f"{NAME}-{published.generation}"
        start = perf_counter()
        await asyncio.to_thread(wait_until, lambda: is_optimised(cluster, collection), 7200)
        optimising = perf_counter() - start
        print(f"published in {publishing:.0f} s, optimised in {optimising:.0f} s", flush=True)
        questions = mix_vectors(real, QUESTIONS, seed=0)
        await time_reads(store, chunks, questions[::10], published.chunks)  # reads the files once
        reads = await time_reads(store, chunks, questions, published.chunks)
        info = cluster.nodes[0].get(f"/collections/{collection}")["result"]
        return {
            "chunks": published.chunks,
            "replicas": replicas,
            "segments": info["segments_count"],
            "indexed vectors": info["indexed_vectors_count"],
            **reads,
            "MB per node": [describe_node(cluster, number) for number in range(3)],
            "load at the reads": os.getloadavg()[0],
            "by meaning": await compare_searches(cluster.nodes[0].url, collection, questions),
            "write s": round(written),
            "publish s": round(publishing),
            "optimise s": round(optimising),
        }


def is_optimised(cluster: QdrantCluster, collection: str) -> bool:
    """Whether each node says that it has nothing left to optimise."""
    found = [node.get(f"/collections/{collection}", seconds=30) for node in cluster.nodes]
    return all(each and each["result"]["status"] == "green" for each in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--index", type=Path, help="an index of the example book, to save the time of making one")
    options = parser.parse_args()
    if not find_executable():
        print(MISSING_MESSAGE)
        return 2
    with tempfile.TemporaryDirectory(prefix="bookbound-scale-") as folder:
        figures = asyncio.run(run(options.chunks, options.replicas, Path(folder), options.index))
    figures["machine"] = {"cores": os.cpu_count(), "load": os.getloadavg()}
    OUT.mkdir(exist_ok=True)
    (OUT / f"scale-{options.chunks}.json").write_text(json.dumps(figures, indent=1) + "\n")
    for name, value in figures.items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
