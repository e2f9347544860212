"""`python -m evals.node`: what one process needs (disk, memory, processor), as sizes and processor time. Linux only."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from bookbound.evaluation import question_set
from evals.server import CLIENTS, Client, served
from evals.sets import BOOK, EXAMPLE
from evals.shown import show

ASKED, ROUNDS = 30, 3
TICKS = os.sysconf("SC_CLK_TCK")
MB, SOME = 1e6, 1000


def family(process: int) -> Iterator[int]:
    """A process and all that it started."""
    yield process
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def started() -> list[int]:
    """The processes that this one started, and theirs."""
    return list(family(os.getpid()))[1:]


def memory(processes: list[int]) -> float:
    """Megabytes that the processes hold; what several share is counted once."""
    rolled = [Path(f"/proc/{each}/smaps_rollup").read_text().splitlines() for each in processes]
    return sum(int(line.split()[1]) for lines in rolled for line in lines if line.startswith("Pss:")) * 1024 / MB


def busy(processes: list[int]) -> float:
    """Seconds of processor time that the processes have had."""
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in processes]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / TICKS


def indexing(book: Path, index: Path) -> dict[str, float]:
    """What it takes to index a book, and what the index takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, "-m", "bookbound", "index", str(book), "--index", str(index), "--json")
    chunks = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["chunks"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = sum(file.stat().st_size for file in book.rglob("*") if file.suffix in (".md", ".mdx", ".rst", ".txt"))
    disk = sum(file.lstat().st_blocks * 512 for file in index.rglob("*"))
    return {
        "chunks": chunks,
        "source per 1,000 chunks, MB": text / chunks * SOME / MB,
        "index on disk, MB": disk / MB,
        "index on disk per 1,000 chunks, MB": disk / chunks * SOME / MB,
        "processor time to index 1,000 chunks, s": spent / chunks * SOME,
        "peak memory of indexing, MB": after.ru_maxrss * 1024 / MB,
    }


def serving(index: Path, workers: int, asked: list[str]) -> dict[str, float]:
    """What it takes to answer, warm, with many clients at once."""
    with served(index, "--workers", str(workers)) as address, ThreadPoolExecutor(CLIENTS) as clients:
        name = f"{workers} worker{'s' * (workers > 1)}"
        list(clients.map(Client(address).ask, asked))
        spent, start = busy(started()), perf_counter()
        list(clients.map(Client(address).ask, asked * ROUNDS))
        taken, many = perf_counter() - start, len(asked) * ROUNDS
        spent = busy(started()) - spent
        return {
            f"memory serving, {name}, MB": memory(started()),
            f"processor time for a question, {name}, ms": spent / many * 1000,
            f"questions a second and core, {name}": many / spent,
            f"questions a second, {name}, as busy as the machine was": many / taken,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=BOOK)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="none: only index")
    options = parser.parse_args()
    asked = [item.question for item in question_set.load_question_set(EXAMPLE)][:ASKED]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        figures = indexing(options.book, index)
        for workers in options.workers:
            figures |= serving(index, workers, asked)
    show(f"One node of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", figures)


if __name__ == "__main__":
    main()
