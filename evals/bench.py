"""`python -m evals.bench`: measures speed as ratios within one run, because absolute times vary by machine."""

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
from evals import bench_index, bench_server
from evals.bench_index import time_seconds
from evals.figures import print_figures
from evals.sets import BOOK, EXAMPLE

BASELINE = "import onnxruntime, tokenizers, numpy"
RUNS, QUESTION_COUNT = 7, 30


def time_cold(*command: str) -> float:
    """The median time of a command in a new process."""

    def run() -> object:
        return subprocess.run(command, capture_output=True, check=False)

    run()
    return statistics.median(time_seconds(run) for _ in range(RUNS))


async def time_retrieval(settings: Settings) -> list[float]:
    """Milliseconds of each search of the question set, warm, without reading passages."""
    pipeline: Pipeline = await bootstrap.open_pipeline(settings)
    questions = [Question(item.question) for item in question_set.load_question_set(EXAMPLE)]
    times = []
    for question in questions + questions:
        start = perf_counter()
        await pipeline.candidates(question)
        times.append((perf_counter() - start) * 1000)
    await pipeline.close()
    return times[len(questions) :]


def measure(book: Path, folder: Path) -> dict[str, float]:
    settings = Settings(index=folder)
    bootstrap.index_book(book, settings)
    baseline = time_cold(sys.executable, "-c", BASELINE)
    ask_time = time_cold(sys.executable, "-m", "bookbound", "ask", "What is a harmonic drive?", "--index", str(folder))
    searches = asyncio.run(time_retrieval(settings))
    return {
        "cold `bookbound ask` / cold import of its models' libraries (at most 3.5)": ask_time / baseline,
        "warm retrieval p50, ms": statistics.median(searches),
        "warm retrieval p95, ms": statistics.quantiles(searches, n=20)[-1],
        "peak memory of a cold `bookbound ask`, MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        **bench_server.measure(
            folder, [item.question for item in question_set.load_question_set(EXAMPLE)][:QUESTION_COUNT]
        ),
        "peak memory of indexing and asking, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=BOOK)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.book, Path(folder) / "index")
    print_figures(f"Bookbound on {os.cpu_count()} cores", bench_index.measure() | figures)


if __name__ == "__main__":
    main()
