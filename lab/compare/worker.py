"""Runs one step with one system in a process of its own, and prints the figures as JSON.

The frameworks are imported only here, so that memory, import time and cold start are those of the system.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

from lab.compare.system import ENTRIES, Documents, System

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "TOKENIZERS_PARALLELISM": "false",
}
CLIENTS = 16


def grade(system: System, request: dict[str, Any]) -> dict[str, Any]:
    """Indexes a book, and searches and answers all questions."""
    figures = index(system, request)
    system.open(Path(request["folder"]))
    if remember := getattr(system, "remember_readings", None):
        remember()
    replies = []
    for question in request["questions"]:
        answer = system.answer(question)
        passages = [(each.file, each.start, each.end, each.score) for each in system.search(question)]
        replies.append({"passages": passages, "answer": answer._asdict()})
    return {**figures, "replies": replies}


def index(system: System, request: dict[str, Any]) -> dict[str, Any]:
    documents: Documents = json.loads(Path(request["documents"]).read_text(encoding="utf-8"))
    folder = Path(request["folder"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start, spent = perf_counter(), time.process_time()
    chunks = system.index(Path(request["source"]), documents, folder)
    return {
        "chunks": chunks,
        "index_s": perf_counter() - start,
        "index_cpu_s": time.process_time() - spent,
        "index_memory_mb": _peak_memory_mb(),
    }


def run_round(system: System, request: dict[str, Any]) -> dict[str, Any]:
    """Times the first answer of the process, then answers for 1 client and for many, then indexing a few pages."""
    system.open(Path(request["folder"]))
    questions: list[str] = request["questions"]
    system.answer(questions[0])
    cold = time.time() - request["started"]

    def answer(question: str) -> float:
        start = perf_counter()
        system.answer(question)
        return (perf_counter() - start) * 1000

    spent = time.process_time()
    one = [answer(question) for question in questions]
    spent = time.process_time() - spent
    with ThreadPoolExecutor(CLIENTS) as clients:
        many = list(clients.map(answer, questions * 2))
    figures = {
        "cold_s": cold,
        "one_ms": one,
        "cpu_ms": spent / len(questions) * 1000,
        "many_ms": many,
        "memory_mb": _peak_memory_mb(),
    }
    return figures | {"sample": index(system, request["sample"])}


def _peak_memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


STEPS = {"grade": grade, "round": run_round}


def main() -> None:
    name, step = sys.argv[1:]
    os.environ.update(OFFLINE)
    request = json.load(sys.stdin)
    output, sys.stdout = sys.stdout, sys.stderr  # what frameworks print is no figure
    start = perf_counter()
    system = ENTRIES[name].load()
    imported = perf_counter() - start
    figures = STEPS[step](system, request)
    system.close()
    json.dump({"import_s": imported, **figures}, output)


if __name__ == "__main__":
    main()
