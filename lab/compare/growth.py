"""`python -m lab.compare.growth`: measures how the cost of the embedded store grows with the number of chunks. Linux.

The texts are real chunks with a serial number. Their vectors are those of the real chunks with noise, because embedding
a million chunks takes hours; the time to embed a chunk is measured and added.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from numpy.typing import NDArray

from bookbound import bootstrap
from bookbound.domain.chunk import Chunk
from bookbound.domain.manifest import Manifest
from bookbound.evaluation import latency_percentiles
from bookbound.evaluation.question_set import load_question_set
from bookbound.indexing.store.edge_shard import EdgeShard, optimize_shard
from bookbound.indexing.store.edge_store import OPTIMIZE_ABOVE_CHUNKS, EdgeStore
from bookbound.indexing.store.hybrid_index import HybridIndex, PointBuilder
from bookbound.settings import Settings
from bookbound.sources import parse_book
from lab.compare.machine import describe_run, free_memory_mb, used_memory_mb
from lab.measure.question_sets import BOOK, DATA, EXAMPLE, split_book

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BATCH, EMBEDDED_SAMPLE, NOISE, SEED = 128, 200, 0.6, 7
TEXTS = (BOOK, *(DATA / "books" / name for name in ("byte_of_python", "hf_deep_rl_course", "learn2love")))
PUBLISHING_MB_PER_CHUNK = 0.010
"""Publishing reads all chunks back into memory to compare them; without room for it, a size is written unpublished."""
RESULTS = Path(__file__).resolve().parent / "growth.json"
Vectors = NDArray[np.float32]


def load_texts() -> list[Chunk]:
    """The chunks of the example book and of the real books that are there."""
    embedder = bootstrap.build_embedder(Settings())
    return [chunk for book in TEXTS if book.is_dir() for chunk in split_book(parse_book(book), embedder)]


def prepare(folder: Path) -> dict[str, float]:
    """Embeds real chunks and questions into a folder and returns the time per chunk."""
    embedder, chunks = bootstrap.build_embedder(Settings()), load_texts()
    step = -(-len(chunks) // EMBEDDED_SAMPLE)
    start = perf_counter()
    vectors = asyncio.run(embedder.embed([chunk.embedding_text for chunk in chunks[::step]]))
    seconds = (perf_counter() - start) / len(vectors)
    questions = [item.question for item in load_question_set(EXAMPLE)]
    np.savez(folder / "vectors.npz", chunks=vectors, questions=asyncio.run(embedder.embed(questions)))
    return {"embedding_s_per_chunk": seconds, "real_chunks": len(chunks), "embedded_chunks": len(vectors)}


def make_batches(real: list[Chunk], vectors: Vectors, count: int) -> Iterator[tuple[list[Chunk], Vectors]]:
    """Yields `count` chunks with texts and files that differ, and vectors near those of real chunks."""
    random = np.random.default_rng(SEED)
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        batch = [_vary(real[number % len(real)], number) for number in numbers]
        near = vectors[np.arange(numbers.start, numbers.stop) % len(vectors)]
        noise = random.standard_normal(near.shape).astype(np.float32)
        rows = near + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        yield batch, rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _vary(chunk: Chunk, number: int) -> Chunk:
    place = replace(chunk.place, file=f"{number // 1000}/{chunk.place.file}")
    return replace(
        chunk, id=str(uuid5(NAMESPACE_URL, str(number))), text=f"{chunk.text} {number}", place=place, position=number
    )


def _processor_seconds() -> float:
    """The processor time of this process and of those that it waited for."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _build_manifest(count: int, dimension: int) -> Manifest:
    return Manifest("Growth", "markdown", "", dimension, "", average_words=60.0, pages=1, chunks=count)


async def write(folder: Path, count: int) -> dict[str, Any]:
    """Writes an index of `count` chunks."""
    vectors = np.load(folder / "vectors.npz")["chunks"]
    real = load_texts()
    before = used_memory_mb()
    manifest = _build_manifest(count, vectors.shape[1])
    is_published = free_memory_mb() > count * PUBLISHING_MB_PER_CHUNK
    start, spent = perf_counter(), _processor_seconds()
    if is_published:
        async with EdgeStore(folder / "index").writer(manifest) as writer:
            for batch, rows in make_batches(real, vectors, count):
                await writer.add(batch, rows)
            written = perf_counter()
            await writer.publish()
    else:
        builder, shard = PointBuilder(manifest), EdgeShard.create(folder / "shard", vectors.shape[1])
        for batch, rows in make_batches(real, vectors, count):
            shard.put(builder.add(batch, rows))
        await shard.close()
        written = perf_counter()
        if count > OPTIMIZE_ABOVE_CHUNKS:
            await optimize_shard(folder / "shard")
    peaks = [resource.getrusage(each).ru_maxrss / 1000 for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "is_published": is_published,
        "write_s": written - start,
        "publish_s": perf_counter() - written,
        "index_cpu_s": _processor_seconds() - spent,
        "memory_before_mb": before,
        "index_memory_mb": max(peaks),
        "writer_memory_mb": peaks[0],
    }


async def search(folder: Path, count: int) -> dict[str, Any]:
    """Opens the index in a new process and times the search without the embedding of the question."""
    vectors = np.load(folder / "vectors.npz")["questions"]
    questions = [item.question for item in load_question_set(EXAMPLE)]
    before, start = used_memory_mb(), perf_counter()
    if (folder / "index").exists():
        index = await EdgeStore(folder / "index").open()
    else:
        index = HybridIndex(EdgeShard.load(folder / "shard", count), _build_manifest(count, vectors.shape[1]))
    opened = perf_counter() - start
    times = []
    for repeat in range(2):  # the first time only warms the files
        for question, vector in zip(questions, vectors, strict=True):
            start = perf_counter()
            await index.search(question, vector, 20)
            times += [(perf_counter() - start) * 1000] * repeat
    memory = used_memory_mb()
    await index.close()
    return {"open_s": opened, "search_memory_mb": memory - before, "search_ms": latency_percentiles(times)}


def measure(folder: Path, count: int) -> dict[str, Any]:
    """Writes and searches an index of one size, each in a process of its own."""
    work = folder / str(count)
    work.mkdir()
    shutil.copy(folder / "vectors.npz", work)
    figures: dict[str, Any] = {"chunks": count}
    for step in ("write", "search"):
        command = (sys.executable, "-m", "lab.compare.growth", "--step", step, "--folder", str(work), str(count))
        figures |= json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    files = [file for name in ("index", "shard") for file in (work / name).rglob("*") if file.is_file()]
    figures["disk_mb"] = sum(file.lstat().st_blocks * 512 for file in files) / 1e6
    shutil.rmtree(work)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--folder", type=Path, help="where the indexes are written; default: a temporary folder")
    parser.add_argument("--step", choices=("write", "search"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        run = write if options.step == "write" else search
        print(json.dumps(asyncio.run(run(options.folder, options.sizes[0]))))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        results: dict[str, Any] = {"machine": describe_run(), **prepare(folder), "sizes": []}
        for count in options.sizes:
            row = {**measure(folder, count), "load": os.getloadavg()[0]}
            print(row, flush=True)
            results["sizes"].append(row)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
