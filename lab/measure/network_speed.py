"""Measures the three networks: their files, the time to open them, and the time to read a passage."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import numpy as np

from bookbound.domain.chunk import Chunk
from bookbound.models import (
    CLAIM_WEIGHTS_FILE,
    DIGESTS_FILE,
    EMBEDDER_FILE,
    FAST_READER_FILE,
    MODELS_FOLDER,
    STRONG_READER_FILE,
    find_model_file,
    load_constants,
)
from bookbound.models.cross_encoder import READER_FILES, CrossEncoder
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder, OnnxNetwork
from bookbound.sources import parse_book
from lab.measure.question_sets import BOOK, split_book
from lab.measure.timing import median_seconds, time_seconds

QUESTION = "Which joint of the leg carries the largest torque when the robot squats?"
PASSAGE_COUNT, TOKEN_RANGE, RUNS, THREADS = 8, (180, 230), 5, 2
ROW_TOKENS, WORD_PIECES = 200, (1000, 20000)
NETWORKS = (STRONG_READER_FILE, FAST_READER_FILE, EMBEDDER_FILE)
PassageReader = Callable[[Sequence[Chunk]], Coroutine[Any, Any, object]]


def open_networks() -> ModelRuntime:
    """Opens all networks at once, as a new process does."""
    models = ModelRuntime(threads=THREADS, preload=NETWORKS)
    for name in NETWORKS:
        models.network(name)
    return models


def measure_files() -> dict[str, float]:
    sizes = {name: (MODELS_FOLDER / name).stat().st_size / 1e6 for name in load_constants(MODELS_FOLDER / DIGESTS_FILE)}
    return {
        **{f"{name}, MB": size for name, size in sizes.items()},
        "largest file, MB (at most 95 MB)": max(sizes.values()),
        "all files, MB (at most 200 MB)": sum(sizes.values()),
    }


def measure_reading(models: ModelRuntime) -> dict[str, float]:
    """Milliseconds per passage of each network, for passages of similar length."""
    embedder, strong, fast = OnnxEmbedder(models), CrossEncoder(models, "strong"), CrossEncoder(models, "fast")
    readers: dict[str, PassageReader] = {
        "strong reader": lambda chunks: strong.read(QUESTION, chunks),
        "fast reader": lambda chunks: fast.read(QUESTION, chunks),
        "embedder": lambda chunks: embedder.embed([chunk.embedding_text for chunk in chunks]),
    }
    shortest, longest = TOKEN_RANGE
    lengths = {chunk: embedder.count_tokens(chunk.embedding_text) for chunk in split_book(parse_book(BOOK), embedder)}
    chunks = [chunk for chunk, length in lengths.items() if shortest <= length <= longest][:PASSAGE_COUNT]
    tokens = statistics.mean(lengths[chunk] for chunk in chunks)
    figures = {"tokens of a passage": tokens, "the same with the question": tokens + models.count(QUESTION) + 1}
    with asyncio.Runner() as runner:
        for name, read in readers.items():

            def read_alone(read: PassageReader = read) -> None:
                for chunk in chunks:
                    runner.run(read([chunk]))

            def read_together(read: PassageReader = read) -> None:
                runner.run(read(chunks))

            figures[f"{name}: a passage alone, ms"] = median_seconds(read_alone, RUNS) / len(chunks) * 1000
            figures[f"{name}: each of {len(chunks)} at once, ms"] = (
                median_seconds(read_together, RUNS) / len(chunks) * 1000
            )
    return figures


def measure_batches() -> dict[str, float]:
    """The time of two rows of tokens as one batch by that of one after the other, median of interleaved runs."""
    rows = np.random.default_rng(0).integers(*WORD_PIECES, (2, ROW_TOKENS))
    types = np.repeat([[0, 1]], [ROW_TOKENS // 10, ROW_TOKENS - ROW_TOKENS // 10], axis=1).repeat(2, axis=0)
    figures = {}
    for reader, file in READER_FILES.items():
        claim_weights = find_model_file(CLAIM_WEIGHTS_FILE) if file == STRONG_READER_FILE else None
        session = OnnxNetwork(find_model_file(file), claim_weights=claim_weights, threads=THREADS)._session

        def read(*batches: slice, session: Any = session) -> None:
            for batch in batches:
                session.run(None, {"input_ids": rows[batch], "token_type_ids": types[batch]})

        def time_both(read: Callable[..., None] = read) -> float:
            return time_seconds(lambda: read(slice(2))) / time_seconds(lambda: read(slice(1), slice(1, 2)))

        figures[f"{reader} reader: 2 rows as a batch / one after the other"] = statistics.median(
            time_both() for _ in range(RUNS)
        )
    return figures


def measure() -> dict[str, float]:
    opening = median_seconds(lambda: open_networks().close(), RUNS)
    return {
        **measure_files(),
        "opening all networks, s (under 1 s)": opening,
        **measure_reading(open_networks()),
        **measure_batches(),
    }
