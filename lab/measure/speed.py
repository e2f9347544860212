"""`python -m lab.measure.speed`: measures speed, memory and load, and prints the bars next to the figures. Linux only.

The exit status says nothing about times, because they vary by machine.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bookbound import bootstrap
from bookbound.domain.reply import Answer, Reply
from bookbound.evaluation.question_set import load_question_set
from bookbound.settings import Settings
from lab.measure import indexing_speed, network_speed, page_speed, process_costs, server_speed
from lab.measure.figures import print_figures
from lab.measure.offtopic import MESSAGES, load_messages
from lab.measure.question_sets import BOOK, EXAMPLE
from lab.measure.timing import describe_machine, median_seconds, p95
from tests.server.server_process import run_server

COLD_RUNS, OFFTOPIC_COUNT, SERVER_QUESTION_COUNT, WARMUP_COUNT, THREADS = 5, 60, 30, 3, 2
COLD_QUESTION = "What is a harmonic drive?"


class TimedReply(NamedTuple):
    """A reply and its time in milliseconds."""

    ms: float
    reply: Reply


def time_replies(index: Path, reader: str, questions: Sequence[str]) -> list[TimedReply]:
    """Asks the questions one at a time, warm."""
    with bootstrap.open_book(Settings(index=index, reader=reader, model_threads=THREADS)) as book:

        def ask(question: str) -> TimedReply:
            start = perf_counter()
            reply = book.ask(question)
            return TimedReply((perf_counter() - start) * 1000, reply)

        for question in questions[:WARMUP_COUNT]:
            ask(question)
        return [ask(question) for question in questions]


def measure_questions(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds per question with each reader, and per off-topic message that is not answered."""
    messages = [message.question for message in load_messages(MESSAGES)]
    messages = random.Random(0).sample(messages, min(OFFTOPIC_COUNT, len(questions)))
    strong, fast = (time_replies(index, reader, questions) for reader in ("strong", "fast"))
    refused = [each.ms for each in time_replies(index, "strong", messages) if not isinstance(each.reply, Answer)]
    return {
        "questions": len(questions),
        "reader=strong: p50, ms (at most 800 ms)": statistics.median(each.ms for each in strong),
        "reader=strong: p95, ms (at most 1,600 ms)": p95([each.ms for each in strong]),
        "reader=fast: p50, ms (at most 250 ms)": statistics.median(each.ms for each in fast),
        "retrieval alone: p50, ms": statistics.median(each.reply.trace.retrieval_ms for each in strong),
        f"off-topic messages not answered, of {len(messages)}": len(refused),
        "off-topic messages not answered: p50, ms (at most 350 ms)": statistics.median(refused),
    }


def measure_cold_start(index: Path) -> dict[str, float]:
    """The time of `bookbound ask` in a new process, with its files in the page cache."""
    command = [sys.executable, "-m", "bookbound", "ask", COLD_QUESTION, "--index", str(index)]
    seconds = median_seconds(lambda: subprocess.run(command, capture_output=True, check=True), COLD_RUNS)
    return {f"median of {COLD_RUNS}, s (at most 2.5 s)": seconds}


def measure_memory(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """The memory of servers with one and with two workers after questions of many clients.

    That of one process is its resident memory. With two workers, memory that processes share counts once.
    """

    def serve(workers: int) -> tuple[float, list[float]]:
        with run_server(index, "--workers", str(workers)) as address:
            for _ in range(2):  # the second worker may still start while the first one answers
                server_speed.ask_all(address, questions, server_speed.CLIENTS)
            processes = process_costs.child_processes()
            return process_costs.memory(processes, "Rss"), [process_costs.memory([process]) for process in processes]

    (resident, alone), (_, together) = serve(1), serve(2)
    supervisor, networks, *workers = together  # the process of the networks starts before the workers
    return {
        "one process, MB (at most 1,000 MB)": resident,
        "2 workers: the larger one, MB (at most 200 MB)": max(workers),
        "2 workers: the process of their networks, MB": networks,
        "2 workers: their supervisor, MB": supervisor,
        "2 workers with these minus one process, MB (at most 400 MB)": sum(together) - sum(alone),
    }


Section = Callable[[Path, Sequence[str]], dict[str, float]]
SECTIONS: dict[str, tuple[str, Section]] = {
    "questions": (f"Questions one at a time, {THREADS} threads", measure_questions),
    "cold": ("Cold `bookbound ask`", lambda index, _: measure_cold_start(index)),
    "networks": (f"Networks, {network_speed.THREADS} threads", lambda *_: network_speed.measure()),
    "memory": ("Memory of a server", lambda index, texts: measure_memory(index, texts[:SERVER_QUESTION_COUNT])),
    "server": ("POST /v1/answers", lambda index, texts: server_speed.measure(index, texts[:SERVER_QUESTION_COUNT])),
    "fairness": (
        "A client with 1 connection against one with many",
        lambda index, texts: server_speed.measure_fairness(index, texts[:SERVER_QUESTION_COUNT]),
    ),
    "page": (f"First view in Chromium, {page_speed.SLOWDOWN} times slower", lambda index, _: page_speed.measure(index)),
    "index": ("Indexing", lambda *_: indexing_speed.measure()),
}
"""The title and the measurement of each section, for the index and the questions of the example book."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=SECTIONS, help="measure only these")
    parser.add_argument("--limit", type=int, help="ask only so many questions (at least 2), to try the benchmark")
    parser.add_argument("--note", default="", help="a remark on the machine, printed with it")
    options = parser.parse_args(arguments)
    cpu_info = Path("/proc/cpuinfo").read_text()
    questions = [item.question for item in load_question_set(EXAMPLE)][: options.limit]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        bootstrap.index_book(BOOK, Settings(index=index))
        for name, (title, measure) in SECTIONS.items():
            if not options.sections or name in options.sections:
                machine = " ".join(filter(None, (describe_machine(cpu_info), options.note)))
                print_figures(f"{title}: {machine}", measure(index, questions))


if __name__ == "__main__":
    main()
