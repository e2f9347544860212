"""Describes the machine and the memory of this process. Linux."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bookbound
from bookbound.cli.source_commit import find_commit
from lab.measure.timing import describe_machine

PACKAGES = (
    "langchain-classic",
    "langchain-core",
    "langchain-huggingface",
    "langchain-text-splitters",
    "llama-index-core",
    "llama-index-embeddings-fastembed",
    "haystack-ai",
    "sentence-transformers-haystack",
    "txtai",
    "fastembed",
    "sentence-transformers",
    "torch",
    "onnxruntime",
    "numpy",
    "qdrant-edge-py",
    "faiss-cpu",
)


def describe_run() -> dict[str, Any]:
    """The date, the machine with its load, Python and the versions of what is compared, Bookbound's as its commit."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": find_commit(Path(bookbound.__file__).parent),
        "cpu": describe_machine(Path("/proc/cpuinfo").read_text()),
        "priority": _read_group_priority(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def _read_group_priority() -> int:
    """The priority of this session over others, from -20 for the highest to 19; 0 is usual."""
    try:
        return int(Path("/proc/self/autogroup").read_text().split()[-1])
    except OSError:
        return 0


def used_memory_mb() -> float:
    """The memory of this process that it shares with no other file or process, and its part of what is shared."""
    return _read_kb(Path("/proc/self/smaps_rollup"), "Pss:") / 1000


def free_memory_mb() -> float:
    return _read_kb(Path("/proc/meminfo"), "MemAvailable:") / 1000


def _read_kb(file: Path, field: str) -> int:
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(field)) * 1024 // 1000
