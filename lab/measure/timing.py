"""Times work, and describes the machine on which it is timed."""

from __future__ import annotations

import gc
import os
import platform
import re
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter

CPU_FLAGS = ("avx2", "avx512f", "avx512_vnni")
"""The instruction sets that change how fast the networks are."""


def describe_machine(cpu_info: str) -> str:
    """The model of the CPU, which of `CPU_FLAGS` it has, its cores, and the load; `cpu_info` is from /proc/cpuinfo."""
    fields = dict(re.findall(r"^([^\t:]+)\s*: (.+)$", cpu_info, re.MULTILINE))
    flags = fields.get("flags", "").split()
    found = (flag if flag in flags else f"no {flag}" for flag in CPU_FLAGS)
    model = fields.get("model name", platform.machine())
    return f"{model} ({', '.join(found)}), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def time_seconds(work: Callable[[], object]) -> float:
    """The time of some work; garbage of earlier work, such as closed networks, is collected before."""
    gc.collect()
    start = perf_counter()
    work()
    return perf_counter() - start


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """The median time of some work after a first run."""
    work()
    return statistics.median(time_seconds(work) for _ in range(runs))


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]
