"""`python -m evals.bench_reader`: measures the cross-encoder, and the same network in PyTorch if that is installed."""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import Callable
from importlib import import_module
from time import perf_counter

from bookbound.answering.reading.cross_encoder import CrossEncoder, build_windows
from bookbound.domain.chunk import Chunk
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder
from bookbound.sources import parse_book
from evals.figures import print_figures
from evals.sets import BOOK, split_book

QUESTION = "Which joint of the leg carries the largest torque when the robot squats?"
PASSAGE_COUNT, TOKEN_RANGE, RUNS, THREADS = 8, (180, 230), 15, 2


def median_ms(work: Callable[[], object]) -> float:
    """The median time of some work after a first run."""
    work()
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        work()
        times.append((perf_counter() - start) * 1000)
    return statistics.median(times)


def load_passages(models: ModelRuntime) -> tuple[list[Chunk], list[list[int]]]:
    """Passages of similar length, and the token ids that the network reads."""
    embedder = OnnxEmbedder(models)
    shortest, longest = TOKEN_RANGE
    chunks = split_book(parse_book(BOOK), embedder)
    chosen = [each for each in chunks if shortest <= embedder.count_tokens(each.embedding_text) <= longest]
    chosen = chosen[:PASSAGE_COUNT]
    question_ids = models.ids(QUESTION)
    rows = [
        next(build_windows(models.special_ids, question_ids, (), models.ids(chunk.embedding_text))).ids
        for chunk in chosen
    ]
    return chosen, rows


def time_torch(rows: list[list[int]]) -> float | None:
    """The time of PyTorch for all rows in one padded batch; None if it is not installed."""
    try:
        torch, networks = import_module("torch"), import_module("training.network")
    except ImportError:
        return None
    torch.set_num_threads(THREADS)
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = (ids > 0).long()
    network = networks.Reader(networks.Encoder()).eval()
    with torch.inference_mode():
        return median_ms(lambda: network(ids, mask, mask))


def measure() -> dict[str, float]:
    models = ModelRuntime(threads=THREADS)
    reader = CrossEncoder(models)
    chunks, rows = load_passages(models)
    with asyncio.Runner() as runner:

        def time_reading(*chosen: Chunk) -> float:
            return median_ms(lambda: runner.run(reader.read(QUESTION, chosen)))

        one_ms = statistics.mean(time_reading(chunk) for chunk in chunks)
        all_ms = time_reading(*chunks)
    figures = {
        "tokens of a passage with the question": statistics.mean(map(len, rows)),
        "one passage, ms": one_ms,
        f"{len(chunks)} passages, ms": all_ms,
        f"{len(chunks)} passages / one passage (at most 8.5)": all_ms / one_ms,
    }
    torch_ms = time_torch(rows)
    if torch_ms is not None:
        figures |= {"the same in PyTorch, ms": torch_ms, "ratio (under 0.4)": all_ms / torch_ms}
    return figures


def main() -> None:
    print_figures(f"Reading on {THREADS} threads of {os.cpu_count()} cores", measure())


if __name__ == "__main__":
    main()
