"""Collects the metrics of one or several processes for Prometheus."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import prometheus_client as client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from bookbound.server import telemetry
from bookbound.server.telemetry import QueueStats, RequestRecord
from bookbound.server.worker_processes import METRICS_FOLDER_VARIABLE, reserve_metrics_files

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REFRESH_SECONDS = 1.0
"""The seconds after which a process says again how its desk stands; whoever shows the figures says it at once."""
METRIC_FILE_KINDS = ("counter", "histogram", "gauge_livesum", "gauge_livemax")
"""The files that a process keeps in the folder that several share."""
CONTENT_TYPE = client.CONTENT_TYPE_PLAIN_0_0_4


class PrometheusMetrics:
    """Counts requests as they end, and shows the figures of all processes that serve together."""

    def __init__(self, standing: Callable[[], QueueStats]) -> None:
        client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._standing, self._last = standing, QueueStats()
        self._registry = CollectorRegistry()
        if folder := os.environ.get(METRICS_FOLDER_VARIABLE):
            reserve_metrics_files(Path(folder), METRIC_FILE_KINDS)
        count = partial(Counter, registry=self._registry)
        time = partial(Histogram, registry=self._registry, buckets=LATENCY_BUCKETS)
        sum_ = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
        most = partial(Gauge, registry=self._registry, multiprocess_mode="livemax")
        self._questions = count("bookbound_questions", "Questions by what became of them.", ["face", "outcome"])
        self._degraded = count("bookbound_degraded_answers", "Answers that a language model failed to write.", ["face"])
        self._failures = count("bookbound_service_failures", "Services that failed a question.", ["service", "kind"])
        self._stations = time("bookbound_stage_seconds", "What a question took at a station.", ["stage"])
        self._requests = time("bookbound_request_seconds", "What a request took in all.", ["face", "status"])
        self._working = sum_("bookbound_questions_in_progress", "Questions and searches that are worked on.")
        self._waiting = sum_("bookbound_waiting", "Questions and searches that wait for that.")
        self._unwritten = sum_("bookbound_log_queue", "Entries that wait to be written to the log.")
        self._entries = count("bookbound_log_entries", "Entries of the log by what became of them.", ["outcome"])
        self._books = most("bookbound_index_info", "What is served: 1.", ["volume", "generation", "book", "embedder"])
        self._chunks = most("bookbound_index_chunks", "Chunks of an index that is served.", ["volume"])
        self._shown = _build_shared_registry(Path(folder)) if folder else _build_process_registry(self._registry)

    def over(self, visit: RequestRecord) -> None:
        """Count a request that is over."""
        kind = f"{visit.status // 100}xx" if visit.status else "none"
        self._requests.labels(visit.face, kind).observe(visit.seconds)
        if visit.asked == "question" or (visit.outcome == telemetry.LIMITED and not visit.asked):
            self._questions.labels(visit.face, visit.outcome).inc()
        if visit.asked:
            self._count(visit)
            self.stand()

    def _count(self, visit: RequestRecord) -> None:
        if visit.trace and visit.trace.degraded:
            self._degraded.labels(visit.face).inc()
        for trouble in visit.failures:
            self._failures.labels(*telemetry.classify_failure(trouble)).inc()
        for station, stay in visit.stays.items():
            self._stations.labels(station).observe(stay.seconds)

    def page(self) -> bytes:
        """The figures in the text format."""
        return client.generate_latest(self._shown)

    def stand(self) -> None:
        """Say how the desk stands."""
        before, now = self._last, self._standing()
        self._last = now
        self._working.set(now.working)
        self._waiting.set(now.waiting)
        self._unwritten.set(now.unwritten)
        for name in ("noted", "written", "lost"):
            self._entries.labels(name).inc(max(0, getattr(now, name) - getattr(before, name)))
        for labels in _book_labels(before) - _book_labels(now):
            self._books.labels(*labels).set(0)
        for labels in _book_labels(now):
            self._books.labels(*labels).set(1)
        for volume in before.books.keys() | now.books.keys():
            self._chunks.labels(str(volume)).set(now.books[volume].chunks if volume in now.books else 0)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Say it again and again while this lasts, for those who show the figures of all."""

        async def stand() -> None:
            while True:
                self.stand()
                await asyncio.sleep(REFRESH_SECONDS)

        task = asyncio.create_task(stand())
        try:
            yield
        finally:
            task.cancel()
            self.stand()


def _book_labels(standing: QueueStats) -> set[tuple[str, ...]]:
    """The labels of each open book."""
    return {(str(volume), book.generation, book.title, book.embedder) for volume, book in standing.books.items()}


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
    """Processor time, memory and files of each process that serves; one that is gone no longer stands for anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        found: dict[str, Metric] = {}
        for process in self._alive():
            for metric in client.ProcessCollector(pid=partial(int, process), registry=None).collect():
                kept = found.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                kept.samples += [sample._replace(labels={"pid": process}) for sample in metric.samples]
        yield from found.values()

    def _alive(self) -> Iterator[str]:
        for process in sorted({file.stem.rpartition("_")[2] for file in self._folder.glob("gauge_live*.db")}):
            try:
                os.kill(int(process), 0)
                yield process
            except ProcessLookupError:
                with suppress(FileNotFoundError):  # another process may have seen it first
                    mark_process_dead(int(process), str(self._folder))  # type: ignore[no-untyped-call]
