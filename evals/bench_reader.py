"""`python -m evals.bench_reader`: how long reading takes, as ratios within one run.

Where PyTorch is installed, its time for the same network in single precision stands beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections.abc import Callable
from importlib import import_module
from time import perf_counter

from bookbound.answering.reading.cross_encoder import CrossEncoder, build_windows
from bookbound.domain.chunk import Chunk
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.indexing.split import split_page
from bookbound.models.onnx import ModelRuntime
from bookbound.sources import parse_book
from evals.sets import BOOK

QUESTION = "Which joint of the leg carries the largest torque when the robot squats?"
PASSAGES, LENGTH, RUNS, THREADS = 8, (180, 230), 15, 2


def median_ms(work: Callable[[], object]) -> float:
    """The median time of some work, warm."""
    work()
    taken = []
    for _ in range(RUNS):
        start = perf_counter()
        work()
        taken.append((perf_counter() - start) * 1000)
    return statistics.median(taken)


def passages(models: ModelRuntime) -> tuple[list[Chunk], list[list[int]]]:
    """Passages of a real book that are of like length, and the rows that the network reads."""
    embedder = OnnxEmbedder(models)
    chunks = [chunk for page in parse_book(BOOK).pages for chunk in split_page(page, embedder.tokens, embedder.budget)]
    chosen = [chunk for chunk in chunks if LENGTH[0] <= embedder.tokens(chunk.embedded) <= LENGTH[1]][:PASSAGES]
    asked = models.ids(QUESTION)
    rows = [next(build_windows(models.marks, asked, (), models.ids(chunk.embedded))).ids for chunk in chosen]
    return chosen, rows


def torch_ms(rows: list[list[int]]) -> float | None:
    """How long PyTorch takes for all rows in one padded batch, on as many threads; None where it is not installed."""
    try:
        torch, plain = import_module("torch"), import_module("training.network")
    except ImportError:
        return None
    torch.set_num_threads(THREADS)
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = (ids > 0).long()
    network = plain.Reader(plain.Encoder()).eval()
    with torch.inference_mode():
        return median_ms(lambda: network(ids, mask, mask))


def measure() -> dict[str, float]:
    models = ModelRuntime(threads=THREADS)
    reader = CrossEncoder(models)
    chunks, rows = passages(models)
    with asyncio.Runner() as runner:

        def reading(*chosen: Chunk) -> float:
            return median_ms(lambda: runner.run(reader.read(QUESTION, chosen)))

        ones, all_ = [reading(chunk) for chunk in chunks], reading(*chunks)
    one = statistics.mean(ones)
    figures = {
        "word pieces of a passage with the question": statistics.mean(map(len, rows)),
        "one passage, ms": one,
        f"{len(chunks)} passages, ms": all_,
        f"{len(chunks)} passages / one passage (at most 8.5)": all_ / one,
    }
    plain = torch_ms(rows)
    return figures if plain is None else figures | {"the same in PyTorch, ms": plain, "ratio (under 0.4)": all_ / plain}


def main() -> None:
    figures = measure()
    print(f"Reading on {THREADS} threads of {os.cpu_count()} cores")
    for name, value in figures.items():
        print(f"  {name:52} {value:8.2f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
