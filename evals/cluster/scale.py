"""`python -m evals.cluster.scale`: measures search in many chunks on three Qdrant nodes. Linux only.

The vectors are mixtures of two vectors of the example book with noise, and the texts are those of its chunks.
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
from bookbound.indexing.store.qdrant_shard import OVERSAMPLING
from bookbound.indexing.store.qdrant_store import QdrantStore
from bookbound.settings import Settings
from evals.cluster.nodes import MISSING_MESSAGE, QdrantCluster, find_executable, run_cluster, wait_until
from evals.sets import BOOK, OUT

BATCH, NAME, K, QUESTIONS = 2_000, "scale", 10, 200
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


def make_batches(chunks: list[Chunk], real: Rows, count: int) -> Iterator[tuple[list[Chunk], Rows]]:
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        yield (
            [replace(chunks[n % len(chunks)], id=str(UUID(int=n + 1)), position=n) for n in numbers],
            mix_vectors(real, len(numbers), start + 1),
        )


async def measure_recall(url: str, collection: str, questions: Rows) -> float:
    """The share of the nearest points by exact search that the search by quantised vectors finds."""
    client, found = AsyncQdrantClient(url=url, check_compatibility=False, timeout=60), 0
    quantized = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    for question in questions:
        ids = []
        for params in (models.SearchParams(exact=True), models.SearchParams(quantization=quantized)):
            reply = await client.query_points(
                collection, query=question.tolist(), using=DENSE_VECTOR, limit=K, search_params=params
            )
            ids.append({point.id for point in reply.points})
        found += len(ids[0] & ids[1])
    await client.close()
    return found / (K * len(questions))


async def time_searches(store: QdrantStore, chunks: list[Chunk], questions: Rows) -> list[float]:
    index, milliseconds = await store.open(), []
    for number, question in enumerate(questions):
        start = perf_counter()
        await index.search(" ".join(chunks[number % len(chunks)].text.split()[:12]), question, K)
        milliseconds.append((perf_counter() - start) * 1000)
    await index.close()
    return milliseconds


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
        times = await time_searches(store, chunks, questions)
        info = cluster.nodes[0].get(f"/collections/{collection}")["result"]
        return {
            "chunks": published.chunks,
            "replicas": replicas,
            "indexed vectors": info["indexed_vectors_count"],
            "recall at 10": round(await measure_recall(cluster.nodes[0].url, collection, questions), 4),
            "search p50 ms": round(statistics.median(times), 1),
            "search p95 ms": round(statistics.quantiles(times, n=20)[-1], 1),
            "write s": round(written),
            "publish s": round(publishing),
            "optimise s": round(optimising),
            "MB per node": [describe_node(cluster, number) for number in range(3)],
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
