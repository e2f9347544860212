"""Collects the metrics of one or several processes for Prometheus."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import prometheus_client as client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from bookbound import filesystem
from bookbound.contracts.request_context import RequestRecord
from bookbound.domain import errors
from bookbound.domain.book_ref import BookRef
from bookbound.domain.manifest import Manifest
from bookbound.server import telemetry
from bookbound.server.telemetry import QueueStats
from bookbound.server.worker_processes import METRICS_FOLDER_VARIABLE, has_live_owner, reserve_metrics_files

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REFRESH_SECONDS = 1.0
METRIC_FILE_KINDS = ("counter", "histogram", "gauge_livesum")
"""The files that each process keeps in the shared folder."""
KNOWN_SERVICES = frozenset({"cohere", "embeddings", "language model", "log", "networks", "qdrant"})
FAILURE_KINDS: dict[type[errors.ServiceError], str] = {
    errors.ServiceUnreachableError: "unreachable",
    errors.ServiceTimeoutError: "timed_out",
    errors.ServiceAuthenticationError: "denied",
    errors.ServiceResponseError: "bad_reply",
    errors.ServiceRateLimitError: "limit_reached",
    errors.ServiceError: "rejected",  # the last, because it is the base of the others
}
CONTENT_TYPE = client.CONTENT_TYPE_PLAIN_0_0_4
INFO_LABELS = ("book", "generation", "title", "embedder")
BookRow = tuple[str, str, str, str, int]
"""The labels of a book and its number of chunks."""


class PrometheusMetrics:
    """Counts requests when they end, and shows the metrics of all processes that serve together."""

    def __init__(self, load_stats: Callable[[], QueueStats]) -> None:
        client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._load_stats, self._last = load_stats, QueueStats()
        self._registry = CollectorRegistry()
        if folder := os.environ.get(METRICS_FOLDER_VARIABLE):
            reserve_metrics_files(Path(folder), METRIC_FILE_KINDS)
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry, buckets=LATENCY_BUCKETS)
        sum_gauge = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
        self._questions = counter("bookbound_questions", "Questions by outcome.", ["contract", "outcome"])
        self._degraded = counter("bookbound_degraded_answers", "Answers whose language model failed.", ["contract"])
        self._failures = counter("bookbound_service_failures", "Failures of services.", ["service", "kind"])
        self._stages = histogram("bookbound_stage_seconds", "Seconds of a question in each stage.", ["stage"])
        self._requests = histogram("bookbound_request_seconds", "Seconds of a request.", ["contract", "status"])
        self._running = sum_gauge("bookbound_questions_in_progress", "Questions and searches that run.")
        self._waiting = sum_gauge("bookbound_waiting", "Questions and searches that wait.")
        self._log_waiting = sum_gauge("bookbound_log_queue", "Entries that wait for the query log.")
        self._log_entries = counter("bookbound_log_entries", "Entries of the query log by outcome.", ["outcome"])
        self._books = BookMetrics(Path(folder) if folder else None)
        self._shown = _build_shared_registry(Path(folder)) if folder else _build_process_registry(self._registry)
        self._shown.register(self._books)

    def record(self, request: RequestRecord) -> None:
        """Count a finished request."""
        status = f"{request.status // 100}xx" if request.status else "none"
        self._requests.labels(request.contract, status).observe(request.seconds)
        if request.kind == "question" or (request.outcome == telemetry.LIMITED and not request.kind):
            self._questions.labels(request.contract, request.outcome).inc()
        if not request.kind:
            return
        if request.reply and request.reply.trace.degraded:
            self._degraded.labels(request.contract).inc()
        for error in request.clock.failures:
            self._failures.labels(*classify_failure(error)).inc()
        for stage, timing in request.clock.stages.items():
            self._stages.labels(stage).observe(timing.seconds)
        self.refresh()

    def page(self) -> bytes:
        """The metrics in Prometheus' text format."""
        try:
            return client.generate_latest(self._shown)
        except FileNotFoundError:  # a new process continued the file of a dead one meanwhile
            return client.generate_latest(self._shown)

    def refresh(self) -> None:
        """Update the gauges."""
        before, now = self._last, self._load_stats()
        self._last = now
        self._running.set(now.running)
        self._waiting.set(now.waiting)
        self._log_waiting.set(now.log_waiting)
        for outcome in ("added", "written", "lost"):
            growth = getattr(now, f"log_{outcome}") - getattr(before, f"log_{outcome}")
            self._log_entries.labels(outcome).inc(max(0, growth))
        self._books.update(now.books)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Refresh the gauges regularly, for the processes that show the metrics of all."""

        async def refresh_regularly() -> None:
            while True:
                self.refresh()
                await asyncio.sleep(REFRESH_SECONDS)

        task = asyncio.create_task(refresh_regularly())
        try:
            yield
        finally:
            task.cancel()
            self.refresh()


def classify_failure(error: errors.ServiceError) -> tuple[str, str]:
    """The name of the service and how it failed, both from fixed sets."""
    service = error.service if error.service in KNOWN_SERVICES else "other"
    return service, next(kind for type_, kind in FAILURE_KINDS.items() if isinstance(error, type_))


class BookMetrics(Collector):
    """Collects the books of this process, or those of all processes that share a folder.

    The files of prometheus-client cannot forget a label, so each process writes its books into a file of its own.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._rows: list[BookRow] = []

    def update(self, books: Mapping[BookRef, Manifest]) -> None:
        rows = sorted(
            (str(ref), each.generation, each.title, each.embedder, each.chunks) for ref, each in books.items()
        )
        if rows == self._rows:
            return
        self._rows = rows
        if self._folder:
            with suppress(OSError):  # metrics never stop an answer
                filesystem.write_atomically(self._folder / f"books_{os.getpid()}.json", json.dumps(rows).encode())

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("bookbound_index_info", "The open indexes: 1.", labels=INFO_LABELS)
        chunks = GaugeMetricFamily("bookbound_index_chunks", "Chunks of an open index.", labels=["book"])
        rows = sorted(set(self._load_rows()))
        for *labels, _ in rows:
            info.add_metric([str(label) for label in labels], 1)
        for book, count in {row[0]: row[-1] for row in sorted(rows, key=lambda row: row[-1])}.items():
            chunks.add_metric([book], count)
        yield from (info, chunks)

    def _load_rows(self) -> Iterator[BookRow]:
        if not self._folder:
            yield from self._rows
            return
        for file in self._folder.glob("books_*.json"):
            if has_live_owner(file):
                yield from map(tuple, json.loads(file.read_bytes()))
            else:
                file.unlink(missing_ok=True)  # another process may have removed it first


def _build_process_registry(registry: CollectorRegistry) -> CollectorRegistry:
    client.ProcessCollector(registry=registry)
    client.PlatformCollector(registry=registry)
    client.GCCollector(registry=registry)
    return registry


def _build_shared_registry(folder: Path) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(WorkerProcessCollector(folder))
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    client.PlatformCollector(registry=registry)
    return registry


class WorkerProcessCollector(Collector):
    """Collects CPU time, memory and open files of each live process, and removes the gauges of dead ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        metrics: dict[str, Metric] = {}
        for pid in sorted(set(self._live_pids())):
            for metric in client.ProcessCollector(pid=partial(int, pid), registry=None).collect():
                merged = metrics.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                merged.samples += [sample._replace(labels={"pid": pid}) for sample in metric.samples]
        yield from metrics.values()

    def _live_pids(self) -> Iterator[str]:
        for file in list(self._folder.glob("gauge_live*.db")):
            pid = file.stem.rpartition("_")[2]
            if has_live_owner(file):
                yield pid
            else:
                with suppress(FileNotFoundError):  # another process may have removed them first
                    mark_process_dead(int(pid), str(self._folder))  # type: ignore[no-untyped-call]
