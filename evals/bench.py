"""`python -m evals.bench`: speed as ratios within one run, for machines whose absolute times mean little."""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.question import Question
from bookbound.evaluation import question_set
from bookbound.settings import Settings
from evals import bench_index, server
from evals.bench_index import seconds
from evals.sets import BOOK, EXAMPLE
from evals.shown import show

BASELINE = "import onnxruntime, tokenizers, numpy"
RUNS, ASKED = 7, 30


def cold(*command: str) -> float:
    """The median time of a command in a fresh process."""

    def once() -> object:
        return subprocess.run(command, capture_output=True, check=False)

    once()
    return statistics.median(seconds(once) for _ in range(RUNS))


async def retrieval(settings: Settings) -> list[float]:
    """Milliseconds of each search of the question set, warm, before anything is read."""
    pipeline: Pipeline = await bootstrap.pipeline(settings)
    asked = [Question(item.question) for item in question_set.load_question_set(EXAMPLE)]
    taken = []
    for question in asked + asked:
        start = perf_counter()
        await pipeline.candidates(question)
        taken.append((perf_counter() - start) * 1000)
    await pipeline.close()
    return taken[len(asked) :]


def measure(book: Path, folder: Path) -> dict[str, float]:
    settings = Settings(index=folder)
    bootstrap.index_book(book, settings)
    baseline = cold(sys.executable, "-c", BASELINE)
    asking = cold(sys.executable, "-m", "bookbound", "ask", "What is a harmonic drive?", "--index", str(folder))
    searches = asyncio.run(retrieval(settings))
    return {
        "cold `bookbound ask` / cold import of its models' libraries (at most 3.5)": asking / baseline,
        "warm retrieval p50, ms": statistics.median(searches),
        "warm retrieval p95, ms": statistics.quantiles(searches, n=20)[-1],
        "peak memory of a cold `bookbound ask`, MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        **server.measure(folder, [item.question for item in question_set.load_question_set(EXAMPLE)][:ASKED]),
        "peak memory of indexing and asking, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=BOOK)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.book, Path(folder) / "index")
    show(f"Bookbound on {os.cpu_count()} cores", bench_index.measure() | figures)


if __name__ == "__main__":
    main()
