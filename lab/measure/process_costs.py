"""`python -m lab.measure.process_costs`: measures the disk, memory and processor time of one process. Linux only."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

from bookbound.evaluation import question_set
from lab.measure.figures import print_figures
from lab.measure.question_sets import BOOK, EXAMPLE
from lab.measure.server_speed import CLIENTS, ask
from tests.server.server_process import process_tree, run_server

QUESTION_COUNT, ROUNDS = 30, 3
TICKS = os.sysconf("SC_CLK_TCK")
MB, CHUNK_UNIT = 1e6, 1000


def child_processes() -> list[int]:
    """The descendants of this process."""
    return list(process_tree(os.getpid()))[1:]


def memory(processes: list[int], kind: str = "Pss") -> float:
    """The memory of the processes in MB; `Pss` counts shared memory once, `Rss` in each process."""
    rolled = [Path(f"/proc/{each}/smaps_rollup").read_text().splitlines() for each in processes]
    return sum(int(line.split()[1]) for lines in rolled for line in lines if line.startswith(f"{kind}:")) * 1024 / MB


def processor_seconds(processes: list[int]) -> float:
    """The processor time of the processes."""
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in processes]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / TICKS


def measure_indexing(book: Path, index: Path) -> dict[str, float]:
    """The cost of indexing a book, and the size of the index."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, "-m", "bookbound", "index", str(book), "--index", str(index), "--json")
    chunks = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["chunks"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = sum(file.stat().st_size for file in book.rglob("*") if file.suffix in (".md", ".mdx", ".rst", ".txt"))
    disk = sum(file.lstat().st_blocks * 512 for file in index.rglob("*"))
    return {
        "chunks": chunks,
        "source per 1,000 chunks, MB": text / chunks * CHUNK_UNIT / MB,
        "index on disk, MB": disk / MB,
        "index on disk per 1,000 chunks, MB": disk / chunks * CHUNK_UNIT / MB,
        "processor time to index 1,000 chunks, s": spent / chunks * CHUNK_UNIT,
        "peak memory of indexing, MB": after.ru_maxrss * 1024 / MB,
    }


def measure_serving(index: Path, workers: int, questions: list[str]) -> dict[str, float]:
    """The cost of answering, warm, with many clients."""
    with run_server(index, "--workers", str(workers)) as address, ThreadPoolExecutor(CLIENTS) as clients:
        name = f"{workers} worker{'s' * (workers > 1)}"
        list(clients.map(partial(ask, address), questions))
        spent, start = processor_seconds(child_processes()), perf_counter()
        list(clients.map(partial(ask, address), questions * ROUNDS))
        elapsed, many = perf_counter() - start, len(questions) * ROUNDS
        spent = processor_seconds(child_processes()) - spent
        return {
            f"memory serving, {name}, MB": memory(child_processes()),
            f"processor time for a question, {name}, ms": spent / many * 1000,
            f"questions a second and core, {name}": many / spent,
            f"questions a second, {name}, at the load of this machine": many / elapsed,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=BOOK)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="an empty list: only index")
    options = parser.parse_args()
    questions = [item.question for item in question_set.load_question_set(EXAMPLE)][:QUESTION_COUNT]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        figures = measure_indexing(options.book, index)
        for workers in options.workers:
            figures |= measure_serving(index, workers, questions)
    print_figures(f"One node of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", figures)


if __name__ == "__main__":
    main()
